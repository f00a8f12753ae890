#include "tool/collect/elf_begin.hpp"

#include <sys/stat.h>

namespace heapledger {
namespace {

constexpr off_t largest_read = off_t{1} << 30;  // a sparse file claims any size for nothing

}  // namespace

Elf* begin_elf(int fd) {
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  return elf_begin(fd, status.st_size > largest_read ? ELF_C_READ_MMAP : ELF_C_READ, nullptr);
}

}  // namespace heapledger
