// Any bytes as a mangled name: demangling must end soon, and its output is bounded.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tool/symbolize/demangle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const auto text = heapledger::demangle(name);
  if (text != name && text.size() > heapledger::demangled_name_limit_bytes) std::abort();
  return 0;
}
