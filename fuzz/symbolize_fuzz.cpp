// Any bytes as the file of a module: resolving addresses in it must end, without a crash.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tool/symbolize/debug_files.hpp"
#include "tool/symbolize/resolver.hpp"
#include "tool/symbolize/unwind_rules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace symbols = heapledger::symbols;
  static const std::vector<std::uint64_t> addresses = [] {
    std::vector<std::uint64_t> all;
    for (std::uint64_t address = 0x200; address < 0x400; address += 2) all.push_back(address);
    all.push_back(UINT64_MAX);
    return all;
  }();
  const int file = memfd_create("module", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  const symbols::resolver content(symbols::find_module_files(fmt::format("/proc/self/fd/{}", file), "", {}), {});
  content.resolve(addresses, [](std::size_t index, std::span<const symbols::resolved_frame> frames) {
    if (index >= addresses.size() || frames.empty()) std::abort();
  });
  if (content.code() != nullptr) {
    const symbols::unwind_rules rules(*content.code());
    for (const std::uint64_t address : addresses) rules.cover(address);
  }
  close(file);
  return 0;
}
