#include "tool/symbolize/symbol_table.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "tool/symbolize/cut_off_guard.hpp"
#include "tool/symbolize/demangle.hpp"

namespace heapledger::symbols {
namespace {

std::uint8_t rank_of(unsigned binding) {
  return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

std::size_t leading_underscores(const char* name) {
  return std::strspn(name, "_");
}

}  // namespace

void symbol_table::add(Elf* file) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) add_section(file, section, header);
  }
}

void symbol_table::add_section(Elf* file, Elf_Scn* section, const GElf_Shdr& header) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = std::min<std::uint64_t>(header.sh_size / header.sh_entsize, INT32_MAX);
  for (std::uint64_t i = 1; i < count && !file_was_cut_off(); ++i) {
    GElf_Sym entry;
    if (gelf_getsym(data, static_cast<int>(i), &entry) == nullptr) return;
    const auto type = GELF_ST_TYPE(entry.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
    if (entry.st_shndx == SHN_UNDEF || entry.st_shndx >= SHN_LORESERVE) continue;
    std::uint64_t end = entry.st_value + entry.st_size;
    if (end < entry.st_value) continue;
    if (type == STT_NOTYPE || entry.st_size == 0) {
      GElf_Shdr owner;
      if (gelf_getshdr(elf_getscn(file, entry.st_shndx), &owner) == nullptr) continue;
      if ((owner.sh_flags & SHF_EXECINSTR) == 0 || owner.sh_addr + owner.sh_size < owner.sh_addr) continue;
      if (entry.st_size == 0) end = owner.sh_addr + owner.sh_size;
    }
    const char* name = elf_strptr(file, header.sh_link, entry.st_name);
    if (name == nullptr || *name == '\0' || end <= entry.st_value) continue;
    if (entry.st_size == 0 && is_mangled(name))
      continue;  // compilers give sizes: it is empty, and what follows another
    symbols_.push_back({entry.st_value, end, name, rank_of(GELF_ST_BIND(entry.st_info)), entry.st_size != 0});
  }
}

void symbol_table::finish() {
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const symbol& a, const symbol& b) { return a.begin < b.begin; });
  std::uint64_t next = UINT64_MAX;
  for (std::size_t i = symbols_.size(); i-- > 0;) {
    if (i + 1 < symbols_.size() && symbols_[i + 1].begin != symbols_[i].begin) next = symbols_[i + 1].begin;
    if (!symbols_[i].sized) symbols_[i].end = std::min(symbols_[i].end, next);
  }
  reach_.build(symbols_);
}

bool symbol_table::better(const symbol& a, const symbol& b) {
  if (a.sized != b.sized) return a.sized;
  if (a.begin != b.begin) return a.begin > b.begin;
  const auto key = [](const symbol& s) { return std::tuple(s.rank, leading_underscores(s.name), std::strlen(s.name)); };
  const auto key_a = key(a);
  const auto key_b = key(b);
  return key_a != key_b ? key_a < key_b : std::strcmp(a.name, b.name) < 0;
}

const char* symbol_table::find(std::uint64_t address) const {
  const symbol* best = nullptr;
  reach_.search(symbols_, address, [&](const symbol& candidate) {
    if (best != nullptr && best->sized && candidate.begin != best->begin) return false;
    if (candidate.end > address && (best == nullptr || better(candidate, *best))) best = &candidate;
    return true;
  });
  return best != nullptr ? best->name : nullptr;
}

}  // namespace heapledger::symbols
