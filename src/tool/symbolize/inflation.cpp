#include "tool/symbolize/inflation.hpp"

#include <gelf.h>

#include <cstring>
#include <string_view>

namespace heapledger::symbols {
namespace {

// Debug information shrinks to a fifth or so; what is small is no harm.
constexpr std::uint64_t most_times = 32;
constexpr std::uint64_t always_fine_bytes = std::uint64_t{64} << 20;

std::uint64_t marked_size(Elf_Scn* section) {
  GElf_Chdr header;
  return gelf_getchdr(section, &header) != nullptr ? header.ch_size : 0;
}

// Before there was a mark: "ZLIB", and the size as a big-endian number, in a section named .zdebug_something.
std::uint64_t size_by_name(Elf_Scn* section) {
  constexpr std::string_view magic = "ZLIB";
  constexpr std::size_t head_bytes = 12;
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr || data->d_size < head_bytes) return 0;
  const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
  if (std::memcmp(bytes, magic.data(), magic.size()) != 0) return 0;
  std::uint64_t size = 0;
  for (std::size_t i = magic.size(); i < head_bytes; ++i) size = size << 8 | bytes[i];
  return size;
}

}  // namespace

bool inflates_beyond_reason(Elf* elf, std::uint64_t file_bytes) {
  std::uint64_t left = always_fine_bytes + most_times * file_bytes;
  const auto takes = [&](std::uint64_t size) {
    const bool is_fine = size <= left;
    left -= is_fine ? size : 0;
    return is_fine;
  };
  GElf_Shdr header;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;)
    if (gelf_getshdr(section, &header) != nullptr && (header.sh_flags & SHF_COMPRESSED) != 0 &&
        !takes(marked_size(section)))
      return true;
  std::size_t names = 0;  // only now: these may be compressed, too, and would be expanded
  if (elf_getshdrstrndx(elf, &names) != 0) return false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_COMPRESSED) != 0) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name != nullptr && std::string_view(name).starts_with(".zdebug") && !takes(size_by_name(section))) return true;
  }
  return false;
}

}  // namespace heapledger::symbols
