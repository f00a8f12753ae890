#include "probe/base/sandbox.hpp"

namespace heapledger::probe {

constinit bool calls_may_be_refused = false;

}  // namespace heapledger::probe
