#include "probe/hook/child_program.hpp"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "probe/base/syscalls.hpp"
#include "probe/hook/path_search.hpp"

namespace heapledger::probe {
namespace {

constexpr const char* runtimes[] = {"libasan.", "libtsan.", "liblsan.", "libhwasan."};
constexpr unsigned segments_limit = 64, entries_limit = 256;
constexpr unsigned scripts_limit = 5;               // as the kernel goes from one to its interpreter
constexpr std::size_t first_bytes_of_script = 256;  // that it looks at

class program_file {
 public:
  program_file(int folder, const char* path)
      : fd_(static_cast<int>(
            sys::call(__NR_openat, folder, sys::word(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))) {}
  ~program_file() {
    if (fd_ >= 0) sys::close(fd_);
  }
  program_file(const program_file&) = delete;
  program_file& operator=(const program_file&) = delete;

  bool runs_alone() const {
    Elf64_Ehdr head;
    if (!read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64) return true;
    for (unsigned i = 0; i < std::min<unsigned>(head.e_phnum, segments_limit); ++i) {
      Elf64_Phdr segment;
      if (!read(head.e_phoff + i * sizeof segment, segment)) break;
      if (segment.p_type == PT_INTERP && is_of_musl(segment)) return true;
      if (segment.p_type == PT_DYNAMIC && needs_sanitizer(head, segment.p_offset)) return true;
    }
    return false;
  }

  // The interpreter that a script names.
  bool names_interpreter(char (&out)[first_bytes_of_script]) const {
    const std::size_t bytes = read(0, out, sizeof out - 1);
    out[bytes] = 0;
    if (bytes < 3 || out[0] != '#' || out[1] != '!') return false;
    const char* begin = out + 2 + std::strspn(out + 2, " \t");
    const std::size_t length = std::strcspn(begin, " \t\n");
    std::memmove(out, begin, length);
    out[length] = 0;
    return length != 0;
  }

 private:
  std::size_t read(std::uint64_t offset, void* out, std::size_t bytes) const {
    const long got = fd_ < 0 ? -1 : sys::call(__NR_pread64, fd_, sys::word(out), bytes, offset);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  template <class T>
  bool read(std::uint64_t offset, T& out) const {
    return read(offset, &out, sizeof out) == sizeof out;
  }

  bool is_of_musl(const Elf64_Phdr& interpreter) const {
    char name[64];  // the end of its path
    const std::size_t bytes = std::min<std::size_t>(interpreter.p_filesz, sizeof name - 1);
    name[read(interpreter.p_offset + interpreter.p_filesz - bytes, name, bytes)] = 0;
    return std::strstr(name, "ld-musl") != nullptr;
  }

  // The file offset of an address.
  bool place(const Elf64_Ehdr& head, std::uint64_t address, std::uint64_t& offset) const {
    for (unsigned i = 0; i < std::min<unsigned>(head.e_phnum, segments_limit); ++i) {
      Elf64_Phdr segment;
      if (!read(head.e_phoff + i * sizeof segment, segment)) return false;
      if (segment.p_type != PT_LOAD || address - segment.p_vaddr >= segment.p_filesz) continue;
      offset = address - segment.p_vaddr + segment.p_offset;
      return true;
    }
    return false;
  }

  bool needs_sanitizer(const Elf64_Ehdr& head, std::uint64_t dynamic) const {
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

// An open file by the name that the kernel gives it: it may be open for executing only.
void write_name(char* out, unsigned fd) {
  char* end = stpcpy(out, "/proc/self/fd/");
  char digits[10];
  unsigned count = 0;
  do digits[count++] = static_cast<char>('0' + fd % 10);
  while ((fd /= 10) != 0);
  while (count != 0) *end++ = digits[--count];
  *end = 0;
}

}  // namespace

bool runs_alone(const char* path) {
  return runs_alone(AT_FDCWD, path, 0);
}

bool searched_runs_alone(const char* file) {
  if (std::strchr(file, '/') != nullptr) return runs_alone(file);
  char found[searched_path_bytes];
  return find_in_path(file, found) && runs_alone(found);
}

bool runs_alone(int folder, const char* path, int flags) {
  if (path == nullptr) return false;
  char interpreter[first_bytes_of_script];
  if (*path == 0 && (flags & AT_EMPTY_PATH) != 0 && folder >= 0) {
    write_name(interpreter, static_cast<unsigned>(folder));
    path = interpreter;
  }
  for (unsigned i = 0; i < scripts_limit; ++i) {
    const program_file file(folder, path);
    if (file.runs_alone()) return true;
    if (!file.names_interpreter(interpreter)) return false;
    folder = AT_FDCWD;
    path = interpreter;
  }
  return false;
}

}  // namespace heapledger::probe
