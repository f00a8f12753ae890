#include "probe/hook/path_search.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "probe/base/syscalls.hpp"

namespace heapledger::probe {
namespace {

constexpr const char* path_without_variable = "/bin:/usr/bin";  // confstr(_CS_PATH), which is not for vfork's child

constexpr std::uint64_t here = static_cast<std::uint64_t>(AT_FDCWD);

// What execve would say of the file before it looks inside: 0, or a negative error number.
long refusal(const char* path) {
  long result = sys::call(__NR_faccessat2, here, sys::word(path), X_OK, AT_EACCESS);
  if (result == -ENOSYS || result == -EPERM) result = sys::call(__NR_faccessat, here, sys::word(path), X_OK);
  if (result != 0) return result;
  struct stat status {};
  result = sys::call(__NR_newfstatat, here, sys::word(path), sys::word(&status), 0);
  if (result != 0) return result;
  return S_ISREG(status.st_mode) ? 0 : -EACCES;
}

bool goes_on_after(long error) {
  switch (-error) {
    case EACCES:
    case ENOENT:
    case ESTALE:
    case ENOTDIR:
    case ENODEV:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool find_in_path(const char* file, char* out) {
  const std::size_t name_bytes = strnlen(file, NAME_MAX + 1);
  if (name_bytes == 0 || name_bytes > NAME_MAX) return false;
  const char* path = std::getenv("PATH");
  if (path == nullptr) path = path_without_variable;
  for (;; ++path) {
    const std::size_t folder_bytes = std::strcspn(path, ":");
    if (folder_bytes < PATH_MAX) {
      char* end = static_cast<char*>(mempcpy(out, path, folder_bytes));
      if (folder_bytes != 0) *end++ = '/';  // an empty entry is the current folder
      std::memcpy(end, file, name_bytes + 1);
      const long refused = refusal(out);
      if (refused == 0) return true;
      if (!goes_on_after(refused)) return false;
    }
    path += folder_bytes;
    if (*path == 0) return false;
  }
}

searched_program::searched_program(const char* file) {
  if (file == nullptr) return;
  if (std::strchr(file, '/') != nullptr) {
    path_ = file;
  } else if (find_in_path(file, found_)) {
    path_ = found_;
  }
}

}  // namespace heapledger::probe
