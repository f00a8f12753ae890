// A regular ELF file, opened read-only: executables, shared objects, and the debug files split off from them.
// Opening never blocks and never follows a name to anything but a regular file.
#pragma once

#include <libelf.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heapledger::symbols {

struct address_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct debug_link {
  std::string name;
  std::uint32_t crc = 0;
};

enum class elf_role {
  code,    // an executable, a shared object, or the debug file of one
  common,  // what dwz moved there: no code, formally a relocatable object
};

class elf_file {
 public:
  // Null when there is no such file, or it is no ELF file of that kind.
  static std::unique_ptr<elf_file> open(const std::string& path, elf_role role = elf_role::code);
  // Whether it is an ELF file that would expand to more memory than any real one: such a one is not opened.
  static bool is_bomb(const std::string& path);
  ~elf_file();
  elf_file(const elf_file&) = delete;
  elf_file& operator=(const elf_file&) = delete;

  Elf* handle() const { return elf_; }
  const std::string& path() const { return path_; }
  std::string real_path() const;  // behind all links
  std::string build_id() const;   // lowercase hex, may be empty
  std::optional<debug_link> link() const;
  bool has_debug_info() const;
  bool has_symbol_table() const;  // .symtab, not .dynsym
  std::span<const std::uint8_t> bytes_of(
      std::string_view section) const;  // as they are in the file; empty: it has none
  bool has_unwind_tables() const;       // .eh_frame_hdr, by which unwinders find them
  std::vector<address_range> executable_ranges() const;
  std::uint64_t entry_point() const;  // of a program or of the dynamic loader; 0: the kernel starts no such file
  std::uint32_t crc() const;          // of the whole file, as .gnu_debuglink counts it
  bool is_as_it_was() const;          // not written to, or cut off, since it was opened

 private:
  elf_file(std::string path, int fd, Elf* elf, const struct stat& status);
  static std::unique_ptr<elf_file> open_any(const std::string& path);

  std::string path_;
  int fd_;
  Elf* elf_;
  std::uint64_t bytes_;
  timespec changed_;
};

std::string to_hex(const void* bytes, std::size_t size);

}  // namespace heapledger::symbols
