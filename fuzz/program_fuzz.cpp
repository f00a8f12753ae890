// What is read of other people's files before and while a program runs: its ELF file, its mappings, suppressions; and
// before it is attached to. The first byte says which.
#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <string_view>

#include "tool/collect/elf_traits.hpp"
#include "tool/collect/mapping.hpp"
#include "tool/inject/exports.hpp"
#include "tool/inject/interrupted_call.hpp"
#include "tool/leaks/suppressions.hpp"
#include "tool/profile/error.hpp"

using namespace heapledger;

namespace {

int file_of(std::string_view bytes) {
  const int fd = memfd_create("program", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) __builtin_trap();
  return fd;
}

void read_program(std::string_view bytes) {
  const int fd = file_of(bytes);
  read_elf_traits(fd);
  close(fd);
}

void read_exports(std::string_view bytes) {
  const int fd = file_of(bytes);
  const inject::exports found(fd);
  for (const auto& function : found.functions())
    if (function.bytes != 0 && function.bytes < 1 << 20 && found.names_at(function.address).empty()) __builtin_trap();
  found.find("malloc");
  close(fd);
}

void read_system_call(std::string_view text) {
  inject::would_wait_longer(text);
  inject::would_be_cut_short(text);
}

void read_mappings(std::string_view text) {
  collect::for_each_mapping(text, [](const collect::mapping&, std::string_view details) {
    collect::detail_bytes(details, "Rss:");
    collect::has_vm_flag(details, "dd");
  });
}

void read_suppressions(std::string_view text) {
  try {
    leaks::suppressions::parse(std::string(text), "suppressions");
  } catch (const input_error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr void (*readers[])(std::string_view) = {read_program, read_mappings, read_suppressions, read_exports,
                                                   read_system_call};
  readers[data[0] % std::size(readers)]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
