// heapledger's own format: a program that runs as a file that reads anywhere, or a profile as it was at a snapshot.
#include "tool/export/format.hpp"
#include "tool/profile/write.hpp"

namespace heapledger::exports {

notes write_hlp(const profile& p, std::optional<analyse::measure> /*by*/, const sink& out) {
  out(profile_bytes(p, "export"));
  return {};
}

}  // namespace heapledger::exports
