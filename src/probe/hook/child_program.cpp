#include "probe/hook/child_program.hpp"

#include <elf.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "probe/base/syscalls.hpp"

namespace heapledger::probe {
namespace {

using wire::uncounted_reason;

constexpr const char* runtimes[] = {"libasan.", "libtsan.", "liblsan.", "libhwasan."};
constexpr unsigned segments_limit = 64, entries_limit = 256;
constexpr unsigned scripts_limit = 5;               // as the kernel goes from one to its interpreter
constexpr std::size_t first_bytes_of_script = 256;  // that it looks at

class program_file {
 public:
  explicit program_file(const child_file& file)
      : fd_(static_cast<int>(sys::call(__NR_openat, static_cast<std::uint64_t>(file.folder), sys::word(file.path),
                                       O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))) {
    is_known_ = sys::call(__NR_newfstatat, static_cast<std::uint64_t>(file.folder), sys::word(file.path),
                          sys::word(&status_), 0) == 0;
  }
  ~program_file() {
    if (fd_ >= 0) sys::close(fd_);
  }
  program_file(const program_file&) = delete;
  program_file& operator=(const program_file&) = delete;

  uncounted_reason why_uncounted(bool resets_ids) const {
    Elf64_Ehdr head;
    if (read(0, head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0) {
      const uncounted_reason why = by_its_kind(head);
      if (why != uncounted_reason::none) return why;
    }
    return is_privileged(resets_ids) ? uncounted_reason::privileged : uncounted_reason::none;
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

  uncounted_reason by_its_kind(const Elf64_Ehdr& head) const {
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64) return uncounted_reason::other_machine;
    bool is_interpreted = false;
    std::uint64_t dynamic = 0;
    for (unsigned i = 0; i < std::min<unsigned>(head.e_phnum, segments_limit); ++i) {
      Elf64_Phdr segment;
      if (!read(head.e_phoff + i * sizeof segment, segment)) return uncounted_reason::none;
      if (segment.p_type == PT_INTERP && is_of_musl(segment)) return uncounted_reason::other_libc;
      if (segment.p_type == PT_DYNAMIC && needs_sanitizer(head, segment.p_offset)) return uncounted_reason::sanitizer;
      if (segment.p_type == PT_INTERP) is_interpreted = true;
      if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_offset;
    }
    if (is_interpreted) return uncounted_reason::none;
    if (dynamic == 0 || is_program(head, dynamic)) return uncounted_reason::static_program;
    // A loader, which is told to start a program: ours, by its name, or another library's.
    return any_string(head, dynamic, DT_SONAME, [](const char* name) { return std::strncmp(name, "ld-linux", 8) == 0; })
               ? uncounted_reason::none
               : uncounted_reason::other_libc;
  }

  // As the kernel decides AT_SECURE, in which the loader ignores LD_PRELOAD: the program's effective IDs are not the
  // real ones, by its file's bits or by those of who executes it; or it has capabilities of its file.
  bool is_privileged(bool resets_ids) const {
    if (!is_known_) return false;
    const auto user = static_cast<uid_t>(sys::call(__NR_getuid));
    const auto group = static_cast<gid_t>(sys::call(__NR_getgid));
    auto effective_user = resets_ids ? user : static_cast<uid_t>(sys::call(__NR_geteuid));
    auto effective_group = resets_ids ? group : static_cast<gid_t>(sys::call(__NR_getegid));
    bool raises = false;
    if (may_be_privileged()) {
      if ((status_.st_mode & S_ISUID) != 0) effective_user = status_.st_uid;
      if ((status_.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP)) effective_group = status_.st_gid;
      raises = user != 0 && fd_ >= 0 &&
               sys::call(__NR_fgetxattr, fd_, sys::word("security.capability"), std::uint64_t{0}, 0) > 0;
    }
    return effective_user != user || effective_group != group || raises;
  }
  bool may_be_privileged() const {
    struct statfs system {};
    if (sys::call(__NR_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
    return fd_ < 0 || sys::call(__NR_fstatfs, fd_, sys::word(&system)) != 0 || (system.f_flags & ST_NOSUID) == 0;
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

  // Of the strings in such entries, their first sixteen bytes.
  template <class Predicate>
  bool any_string(const Elf64_Ehdr& head, std::uint64_t dynamic, Elf64_Sxword tag, Predicate is) const {
    std::uint64_t strings = 0;
    Elf64_Dyn entry;
    for (unsigned i = 0; i < entries_limit && read(dynamic + i * sizeof entry, entry) && entry.d_tag != DT_NULL; ++i)
      if (entry.d_tag == DT_STRTAB && !place(head, entry.d_un.d_ptr, strings)) return false;
    for (unsigned i = 0; strings != 0 && i < entries_limit; ++i) {
      if (!read(dynamic + i * sizeof entry, entry) || entry.d_tag == DT_NULL) break;
      char name[16] = {};
      if (entry.d_tag == tag && read(strings + entry.d_un.d_val, name) && is(name)) return true;
    }
    return false;
  }

  bool needs_sanitizer(const Elf64_Ehdr& head, std::uint64_t dynamic) const {
    return any_string(head, dynamic, DT_NEEDED, [](const char* name) {
      return std::any_of(std::begin(runtimes), std::end(runtimes), [name](const char* runtime) {
        return std::strncmp(name, runtime, std::strlen(runtime)) == 0;
      });
    });
  }

  bool is_program(const Elf64_Ehdr& head, std::uint64_t dynamic) const {
    Elf64_Dyn entry;
    for (unsigned i = 0; i < entries_limit && read(dynamic + i * sizeof entry, entry) && entry.d_tag != DT_NULL; ++i)
      if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_PIE) != 0;
    return head.e_type == ET_EXEC;
  }

  int fd_;
  bool is_known_ = false;
  struct stat status_ = {};
};

}  // namespace

void write_name(char* out, unsigned fd) {
  char* end = stpcpy(out, "/proc/self/fd/");
  char digits[10];
  unsigned count = 0;
  do digits[count++] = static_cast<char>('0' + fd % 10);
  while ((fd /= 10) != 0);
  while (count != 0) *end++ = digits[--count];
  *end = 0;
}

uncounted_reason why_uncounted(const child_file& file) {
  if (file.path == nullptr) return uncounted_reason::none;
  child_file looked_at = file;
  char name[first_bytes_of_script];
  if (*file.path == 0 && (file.flags & AT_EMPTY_PATH) != 0 && file.folder >= 0) {
    write_name(name, static_cast<unsigned>(file.folder));
    looked_at = {.folder = AT_FDCWD, .path = name};
  }
  for (unsigned i = 0; i < scripts_limit; ++i) {
    const program_file program(looked_at);
    const bool is_script = program.names_interpreter(name);
    if (!is_script) return program.why_uncounted(file.resets_ids);
    looked_at = {.folder = AT_FDCWD, .path = name};
  }
  return uncounted_reason::none;
}

}  // namespace heapledger::probe
