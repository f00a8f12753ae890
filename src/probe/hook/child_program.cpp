#include "probe/hook/child_program.hpp"

#include <elf.h>
#include <fcntl.h>

#include <cstring>

#include "probe/base/syscalls.hpp"
#include "probe/hook/path_search.hpp"

namespace heapledger::probe {
namespace {

constexpr const char* runtimes[] = {"libasan.", "libtsan.", "liblsan.", "libhwasan."};
constexpr unsigned segments_limit = 64, entries_limit = 256;

class elf_file {
 public:
  explicit elf_file(const char* path) : fd_(sys::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)) {}
  ~elf_file() {
    if (fd_ >= 0) sys::close(fd_);
  }
  elf_file(const elf_file&) = delete;
  elf_file& operator=(const elf_file&) = delete;

  bool needs_sanitizer() {
    Elf64_Ehdr head;
    if (fd_ < 0 || !read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phnum > segments_limit)
      return false;
    for (unsigned i = 0; i < head.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (read(head.e_phoff + i * sizeof segment, segment) && segment.p_type == PT_DYNAMIC)
        return search(head, segment.p_offset);
    }
    return false;
  }

 private:
  template <class T>
  bool read(std::uint64_t offset, T& out) const {
    return sys::call(__NR_pread64, fd_, sys::word(&out), sizeof out, offset) == static_cast<long>(sizeof out);
  }

  // The file offset of an address.
  bool place(const Elf64_Ehdr& head, std::uint64_t address, std::uint64_t& offset) const {
    for (unsigned i = 0; i < head.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (!read(head.e_phoff + i * sizeof segment, segment)) return false;
      if (segment.p_type != PT_LOAD || address - segment.p_vaddr >= segment.p_filesz) continue;
      offset = address - segment.p_vaddr + segment.p_offset;
      return true;
    }
    return false;
  }

  bool search(const Elf64_Ehdr& head, std::uint64_t dynamic) const {
    std::uint64_t strings = 0;
    Elf64_Dyn entry;
    for (unsigned i = 0; i < entries_limit && read(dynamic + i * sizeof entry, entry) && entry.d_tag != DT_NULL; ++i)
      if (entry.d_tag == DT_STRTAB && !place(head, entry.d_un.d_ptr, strings)) return false;
    for (unsigned i = 0; strings != 0 && i < entries_limit; ++i) {
      if (!read(dynamic + i * sizeof entry, entry) || entry.d_tag == DT_NULL) break;
      char name[16] = {};
      if (entry.d_tag != DT_NEEDED || !read(strings + entry.d_un.d_val, name)) continue;
      for (const char* runtime : runtimes)
        if (std::strncmp(name, runtime, std::strlen(runtime)) == 0) return true;
    }
    return false;
  }

  int fd_;
};

}  // namespace

bool brings_sanitizer(const char* path) {
  return path != nullptr && elf_file(path).needs_sanitizer();
}

bool searched_brings_sanitizer(const char* file) {
  if (std::strchr(file, '/') != nullptr) return brings_sanitizer(file);
  char found[searched_path_bytes];
  return find_in_path(file, found) && brings_sanitizer(found);
}

}  // namespace heapledger::probe
