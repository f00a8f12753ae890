#include "tool/symbolize/companions.hpp"

#include <dwarf.h>
#include <sys/stat.h>

#include <cstddef>
#include <string>

namespace heapledger::symbols {
namespace {

std::string string_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_attr(&die, name, &attribute) != nullptr ? dwarf_formstring(&attribute) : nullptr;
  return text != nullptr ? text : "";
}

std::string below(const std::string& folder, const std::string& name) {
  return name.starts_with('/') ? name : folder + "/" + name;
}

// One that is not there, or is not ELF, does no harm either.
bool may_be_opened(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return true;
  return S_ISREG(status.st_mode) && !elf_file::is_bomb(path);
}

// An ELF file with as little debug information as libdw takes.
struct empty_image {
  Elf64_Ehdr header{};
  Elf64_Shdr sections[3] = {};
  char names[24] = "\0.debug_line\0.shstrtab";
  char lines[8] = {};
};

empty_image make_empty_image() {
  empty_image image;
  auto& header = image.header;
  const unsigned char ident[] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  for (std::size_t i = 0; i < sizeof ident; ++i) header.e_ident[i] = ident[i];
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shoff = offsetof(empty_image, sections);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  const auto place = [](Elf64_Shdr& section, unsigned name, unsigned type, std::size_t offset, std::size_t size) {
    section.sh_name = name;
    section.sh_type = type;
    section.sh_offset = offset;
    section.sh_size = size;
    section.sh_addralign = 1;
  };
  place(image.sections[1], 1, SHT_PROGBITS, offsetof(empty_image, lines), sizeof image.lines);
  place(image.sections[2], 13, SHT_STRTAB, offsetof(empty_image, names), sizeof image.names);
  return image;
}

}  // namespace

std::optional<Dwarf_Die> split_half(const elf_file& file, Dwarf_CU* skeleton, Dwarf_Die& skeleton_die) {
  auto name = string_of(skeleton_die, DW_AT_dwo_name);
  if (name.empty()) name = string_of(skeleton_die, DW_AT_GNU_dwo_name);
  const auto program = file.real_path();
  const auto folder = program.substr(0, program.rfind('/'));
  if (!may_be_opened(program + ".dwp") || !may_be_opened(below(folder, name)) ||
      !may_be_opened(below(below(folder, string_of(skeleton_die, DW_AT_comp_dir)), name)))
    return std::nullopt;
  Dwarf_Die half;
  if (dwarf_cu_info(skeleton, nullptr, nullptr, nullptr, &half, nullptr, nullptr, nullptr) != 0 ||
      dwarf_tag(&half) != DW_TAG_compile_unit)
    return std::nullopt;
  return half;
}

Dwarf* no_alternate() {
  static empty_image image = make_empty_image();
  static Elf* const elf = elf_memory(reinterpret_cast<char*>(&image), sizeof image);
  static Dwarf* const dwarf = elf != nullptr ? dwarf_begin_elf(elf, DWARF_C_READ, nullptr) : nullptr;
  return dwarf;
}

}  // namespace heapledger::symbols
