// Any bytes as the payload of a profile. What is accepted must be safe to use and must survive being written again.
#include <string_view>

#include "tool/profile/container.hpp"
#include "tool/profile/payload.hpp"

using namespace heapledger;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  profile first;
  try {
    first = format::decode({reinterpret_cast<const char*>(data), size});
  } catch (const format::damage&) {
    return 0;
  }
  first.totals();
  if (format::decode(format::encode(first)) != first) __builtin_trap();
  return 0;
}
