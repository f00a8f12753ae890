// What an ELF file says about how its program would run, read through libelf: loader, needed libraries, allocator.
#pragma once

#include <optional>
#include <string>

namespace heapledger {

struct elf_traits {
  bool native = false;         // class and machine are this tool's own
  bool program = false;        // an executable or a position-independent one
  std::string machine;         // for people: "32-bit x86"
  std::string interpreter;     // PT_INTERP; empty: static
  bool loader = false;         // glibc's, which starts the program that it is told
  std::string sanitizer;       // "AddressSanitizer", ...; empty: none
  bool unwind_tables = false;  // where the unwinder looks for them (PT_GNU_EH_FRAME), and for most of its code
  std::string own_allocator;   // name of a malloc defined in the file; empty: none
};

const char* native_machine();

// Nothing when libelf cannot make sense of the file. The descriptor stays open and is the caller's.
std::optional<elf_traits> read_elf_traits(int fd);

}  // namespace heapledger
