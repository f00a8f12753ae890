#include "probe/loader/image.hpp"

#include <cstring>

namespace heapledger::probe {
namespace {

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

}  // namespace

image::image(std::uint64_t bias, const Elf64_Dyn* dynamic) : bias_(bias), dynamic_(dynamic) {
  if (dynamic == nullptr) return;
  std::uint64_t rela_bytes = 0, plt_bytes = 0;
  // The loader adds the bias where the section can be written.
  const auto at = [bias](const Elf64_Dyn& entry) {
    return entry.d_un.d_ptr < bias ? entry.d_un.d_ptr + bias : entry.d_un.d_ptr;
  };
  for (const Elf64_Dyn* entry = dynamic; entry->d_tag != DT_NULL; ++entry) switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const Elf64_Sym*>(at(*entry));
        break;
      case DT_STRTAB:
        names_ = reinterpret_cast<const char*>(at(*entry));
        break;
      case DT_VERSYM:
        versions_ = reinterpret_cast<const std::uint16_t*>(at(*entry));
        break;
      case DT_GNU_HASH:
        gnu_hash_ = reinterpret_cast<const std::uint32_t*>(at(*entry));
        break;
      case DT_HASH:
        hash_ = reinterpret_cast<const std::uint32_t*>(at(*entry));
        break;
      case DT_SONAME:
        soname_ = entry->d_un.d_val;
        break;
      case DT_RELA:
        relocations_[0].first = reinterpret_cast<const Elf64_Rela*>(at(*entry));
        break;
      case DT_RELASZ:
        rela_bytes = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        relocations_[1].first = reinterpret_cast<const Elf64_Rela*>(at(*entry));
        break;
      case DT_PLTRELSZ:
        plt_bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  const bool named = symbols_ != nullptr && names_ != nullptr;
  if (named && relocations_[0].first != nullptr) relocations_[0].count = rela_bytes / sizeof(Elf64_Rela);
  if (named && relocations_[1].first != nullptr) relocations_[1].count = plt_bytes / sizeof(Elf64_Rela);
}

bool image::is_named(std::uint32_t symbol, const char* name, bool defined, bool& hidden) const {
  const Elf64_Sym& entry = symbols_[symbol];
  const unsigned type = ELF64_ST_TYPE(entry.st_info), binding = ELF64_ST_BIND(entry.st_info);
  if ((entry.st_shndx != SHN_UNDEF) != defined || entry.st_value == 0) return false;
  if (type != STT_FUNC && type != STT_NOTYPE) return false;
  if (binding != STB_GLOBAL && binding != STB_WEAK && binding != STB_GNU_UNIQUE) return false;
  constexpr std::uint16_t hidden_version = 0x8000;
  hidden = versions_ != nullptr && (versions_[symbol] & hidden_version) != 0;
  return std::strcmp(names_ + entry.st_name, name) == 0;
}

const Elf64_Sym* image::look_up(const char* name, bool defined) const {
  if (symbols_ == nullptr || names_ == nullptr) return nullptr;
  const Elf64_Sym* old = nullptr;
  const Elf64_Sym* found = nullptr;
  const auto look = [&](std::uint32_t symbol) {
    bool hidden;
    if (!is_named(symbol, name, defined, hidden)) return false;
    (hidden ? old : found) = &symbols_[symbol];
    return !hidden;
  };
  if (gnu_hash_ != nullptr) {
    const std::uint32_t buckets = gnu_hash_[0], first = gnu_hash_[1], filter_words = gnu_hash_[2];
    const std::uint32_t* const bucket = gnu_hash_ + 4 + 2 * filter_words;
    const std::uint32_t* const chain = bucket + buckets - first;
    const std::uint32_t hash = gnu_hash_of(name);
    std::uint32_t symbol = buckets != 0 ? bucket[hash % buckets] : 0;
    for (; symbol != 0; ++symbol) {
      if ((chain[symbol] | 1) == (hash | 1) && look(symbol)) break;
      if ((chain[symbol] & 1) != 0) break;
    }
  } else if (hash_ != nullptr) {
    for (std::uint32_t symbol = 1; symbol < hash_[1]; ++symbol)
      if (look(symbol)) break;
  }
  return found != nullptr ? found : old;
}

bool image::needs(const char* soname) const {
  if (names_ == nullptr) return false;
  for (const Elf64_Dyn* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    const char* const wanted = names_ + entry->d_un.d_val;
    const char* const slash = std::strrchr(wanted, '/');
    if (std::strcmp(slash != nullptr ? slash + 1 : wanted, soname) == 0) return true;
  }
  return false;
}

}  // namespace heapledger::probe
