// System calls without libc's wrappers: they leave errno alone, are no cancellation points, and work before libc is
// initialised. Each returns what the kernel returns: a value, or a negative error number.
#pragma once

#include <asm/unistd.h>

#include <cstddef>
#include <cstdint>

#include "probe/base/attributes.hpp"

namespace heapledger::probe::sys {

inline long call(long number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0, std::uint64_t d = 0,
                 std::uint64_t e = 0, std::uint64_t f = 0) {
  register std::uint64_t r10 asm("r10") = d;
  register std::uint64_t r8 asm("r8") = e;
  register std::uint64_t r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <class T>
std::uint64_t word(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

inline int open(const char* path, int flags, unsigned mode) {
  return static_cast<int>(call(__NR_openat, static_cast<std::uint64_t>(-100), word(path), flags, mode));
}
inline long read(int fd, void* to, std::size_t bytes) {
  return call(__NR_read, fd, word(to), bytes);
}
inline int close(int fd) {
  return static_cast<int>(call(__NR_close, fd));
}
inline int unlink(const char* path) {
  return static_cast<int>(call(__NR_unlink, word(path)));
}
inline long ftruncate(int fd, std::uint64_t bytes) {
  return call(__NR_ftruncate, fd, bytes);
}
inline long fallocate(int fd, std::uint64_t offset, std::uint64_t bytes) {
  return call(__NR_fallocate, fd, 0, offset, bytes);
}
inline long readlink(const char* path, char* to, std::size_t bytes) {
  return call(__NR_readlinkat, static_cast<std::uint64_t>(-100), word(path), word(to), bytes);
}
inline void* mmap(std::size_t bytes, int protection, int flags, int fd) {
  const long result = call(__NR_mmap, 0, bytes, protection, flags, fd, 0);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}
inline long munmap(void* address, std::size_t bytes) {
  return call(__NR_munmap, word(address), bytes);
}
inline long madvise(void* address, std::size_t bytes, int advice) {
  return call(__NR_madvise, word(address), bytes, advice);
}
inline int getpid() {
  return static_cast<int>(call(__NR_getpid));
}
inline int getppid() {
  return static_cast<int>(call(__NR_getppid));
}
inline int gettid() {
  return static_cast<int>(call(__NR_gettid));
}
inline void yield() {
  call(__NR_sched_yield);
}

inline std::uint64_t clock_ns(int clock) {
  struct {
    std::int64_t seconds, nanoseconds;
  } now{};
  call(__NR_clock_gettime, clock, word(&now));
  return static_cast<std::uint64_t>(now.seconds) * 1'000'000'000u + static_cast<std::uint64_t>(now.nanoseconds);
}
inline constexpr int clock_realtime = 0;
inline constexpr int clock_monotonic = 1;

}  // namespace heapledger::probe::sys
