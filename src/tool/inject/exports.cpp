#include "tool/inject/exports.hpp"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace heapledger::inject {
namespace {

using elf_handle = std::unique_ptr<Elf, decltype(&elf_end)>;

constexpr std::size_t most_versions = 10'000, most_functions = 4'000'000;

// Longer names than any that is asked for are cut.
std::string text_of(Elf* elf, std::size_t strings, std::size_t at) {
  constexpr std::size_t longest_name = 4096;
  const char* text = elf_strptr(elf, strings, at);
  return text == nullptr ? std::string() : std::string(text, ::strnlen(text, longest_name));
}

void read_functions(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, Elf_Data* versions,
                    std::vector<exported_function>& functions) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = data->d_size / header.sh_entsize;
  for (std::size_t i = 0; i < count && functions.size() < most_functions; ++i) {
    GElf_Sym symbol;
    GElf_Versym version = 0;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
    const auto type = GELF_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
    if (versions != nullptr) gelf_getversym(versions, static_cast<int>(i), &version);
    functions.push_back({symbol.st_value, symbol.st_size, text_of(elf, header.sh_link, symbol.st_name),
                         (version & 0x8000) == 0 && type == STT_FUNC});
  }
}

void read_defined(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, std::set<std::string>& names) {
  Elf_Data* data = elf_getdata(section, nullptr);
  std::size_t at = 0;
  for (std::size_t i = 0; data != nullptr && i < most_versions; ++i) {
    GElf_Verdef definition;
    GElf_Verdaux name;
    if (gelf_getverdef(data, static_cast<int>(at), &definition) == nullptr) return;
    if (gelf_getverdaux(data, static_cast<int>(at + definition.vd_aux), &name) != nullptr)
      names.insert(text_of(elf, header.sh_link, name.vda_name));
    if (definition.vd_next == 0) return;
    at += definition.vd_next;
  }
}

void read_wanted(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, std::set<std::string>& names) {
  Elf_Data* data = elf_getdata(section, nullptr);
  std::size_t at = 0;
  for (std::size_t i = 0; data != nullptr && i < most_versions; ++i) {
    GElf_Verneed need;
    if (gelf_getverneed(data, static_cast<int>(at), &need) == nullptr) return;
    const bool is_libc = text_of(elf, header.sh_link, need.vn_file) == "libc.so.6";
    std::size_t in = at + need.vn_aux;
    for (std::size_t k = 0; is_libc && k < need.vn_cnt; ++k) {
      GElf_Vernaux name;
      if (gelf_getvernaux(data, static_cast<int>(in), &name) == nullptr) break;
      names.insert(text_of(elf, header.sh_link, name.vna_name));
      if (name.vna_next == 0) break;
      in += name.vna_next;
    }
    if (need.vn_next == 0) return;
    at += need.vn_next;
  }
}

std::optional<std::uint64_t> first_of_type(Elf* elf, std::uint32_t type) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return {};
    if (segment.p_type == type) return segment.p_vaddr;
  }
  return {};
}

}  // namespace

exports::exports(int fd) {
  if (elf_version(EV_CURRENT) == EV_NONE) return;
  const elf_handle elf(elf_begin(fd, ELF_C_READ, nullptr), &elf_end);
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) return;
  first_address_ = first_of_type(elf.get(), PT_LOAD).value_or(0) & ~std::uint64_t{4095};
  unwind_table_ = first_of_type(elf.get(), PT_GNU_EH_FRAME).value_or(0);
  Elf_Data* symbol_versions = nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_GNU_versym)
      symbol_versions = elf_getdata(section, nullptr);
  }
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_DYNSYM) read_functions(elf.get(), section, header, symbol_versions, functions_);
    if (header.sh_type == SHT_GNU_verdef) read_defined(elf.get(), section, header, versions_);
    if (header.sh_type == SHT_GNU_verneed) read_wanted(elf.get(), section, header, wanted_);
  }
  std::sort(functions_.begin(), functions_.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  constexpr std::uint64_t longest_believed = 1 << 20;
  for (const auto& function : functions_)
    if (function.bytes <= longest_believed) longest_ = std::max(longest_, function.bytes);
}

std::optional<std::uint64_t> exports::find(std::string_view name) const {
  for (const auto& function : functions_)
    if (function.is_default && function.name == name) return function.address;
  return {};
}

std::vector<std::string_view> exports::names_at(std::uint64_t address) const {
  std::vector<std::string_view> names;
  auto at = std::upper_bound(functions_.begin(), functions_.end(), address,
                             [](std::uint64_t a, const exported_function& b) { return a < b.address; });
  while (at != functions_.begin()) {
    --at;
    if (address - at->address >= std::max<std::uint64_t>(longest_, 1)) break;
    if (address - at->address < at->bytes) names.push_back(at->name);
  }
  return names;
}

}  // namespace heapledger::inject
