#include "tool/inject/libc_code.hpp"

#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "tool/inject/memory.hpp"

namespace heapledger::inject {
namespace {

using bytes = std::span<const unsigned char>;

constexpr std::array<unsigned char, 11> system_call_and_return = {0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0,
                                                                  0xff, 0xff, 0x73, 0x01, 0xc3};
constexpr std::array<unsigned char, 8> save_rax_64_below = {0x48, 0x83, 0xec, 0x40, 0x48, 0x89, 0x04, 0x24};
constexpr std::array<unsigned char, 4> end_branch = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr std::array<unsigned char, 9> mov_15_system_call = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
constexpr std::array<unsigned char, 2> leave_return = {0xc9, 0xc3};

constexpr std::size_t most_code = std::size_t{64} << 20;

bool starts_with(bytes code, bytes wanted) {
  return code.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), code.begin());
}

// Of a function of some size: where in it, or its size.
std::size_t find_in(bytes code, bytes wanted) {
  return static_cast<std::size_t>(std::search(code.begin(), code.end(), wanted.begin(), wanted.end()) - code.begin());
}

class process_code {
 public:
  process_code(pid_t pid, std::uint64_t offset, int file) : pid_(pid), offset_(offset) {
    const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(file, ELF_C_READ, nullptr), &elf_end);
    std::size_t count = 0;
    if (!elf || elf_getphdrnum(elf.get(), &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf.get(), static_cast<int>(i), &segment) == nullptr) return;
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || segment.p_filesz > most_code) continue;
      std::vector<unsigned char> code(segment.p_filesz);
      if (::pread(file, code.data(), code.size(), static_cast<off_t>(segment.p_offset)) !=
          static_cast<ssize_t>(code.size()))
        return;
      parts_.push_back({segment.p_vaddr, std::move(code)});
    }
  }

  // Searched for in the file: so no page is read into the process that it does not use.
  std::uint64_t find(bytes wanted) const {
    for (const auto& each : parts_) {
      const auto at = find_in(each.code, wanted);
      if (at != each.code.size() && holds(offset_ + each.address + at, wanted)) return offset_ + each.address + at;
    }
    return 0;
  }

  bool holds(std::uint64_t address, bytes wanted) const {
    std::array<unsigned char, 16> code{};
    return wanted.size() <= code.size() && read_memory(pid_, address, code.data(), wanted.size()) &&
           starts_with(code, wanted);
  }

 private:
  struct part {
    std::uint64_t address;
    std::vector<unsigned char> code;
  };

  pid_t pid_;
  std::uint64_t offset_;
  std::vector<part> parts_;
};

std::uint64_t gate_of(pid_t pid, std::uint64_t syscall_function) {
  std::array<unsigned char, 60> code{};
  if (syscall_function == 0 || !read_memory(pid, syscall_function, code.data(), code.size())) return 0;
  const auto at = find_in(code, system_call_and_return);
  return at == code.size() ? 0 : syscall_function + at;
}

}  // namespace

std::optional<libc_code> find_libc_code(pid_t pid, const exports& of_libc, std::uint64_t start, int file) {
  const auto offset = start - of_libc.first_address();
  const auto address_of = [&](const char* name) -> std::uint64_t {
    const auto address = of_libc.find(name);
    return address ? offset + *address : 0;
  };
  const process_code code(pid, offset, file);
  libc_code found;
  found.gate = gate_of(pid, address_of("syscall"));
  found.plain_return = found.gate + system_call_and_return.size() - 1;
  found.keep_result = address_of("__fentry__");
  if (code.holds(found.keep_result, end_branch)) found.keep_result += end_branch.size();
  found.end_of_handler = code.find(mov_15_system_call);
  found.change_stack = code.find(leave_return);
  found.copy_swapped = address_of("swab");
  if (found.gate == 0 || found.end_of_handler == 0 || !code.holds(found.keep_result, save_rax_64_below)) return {};
  return found;
}

}  // namespace heapledger::inject
