#include "probe/hook/process_age.hpp"

#include <fcntl.h>
#include <sys/auxv.h>

#include <cstring>

#include "probe/base/syscalls.hpp"

namespace heapledger::probe {
namespace {

constexpr unsigned start_field = 22;  // of /proc/self/stat, as in proc(5)

// In clock ticks since the machine started; false: not known.
bool read_start(std::uint64_t& ticks) {
  char text[1024];
  const int file = sys::open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return false;
  const long bytes = sys::read(file, text, sizeof text - 1);
  sys::close(file);
  if (bytes <= 0) return false;
  text[bytes] = 0;
  const char* at = std::strrchr(text, ')');  // the program's name may hold anything
  for (unsigned field = 2; at != nullptr && field < start_field; ++field) at = std::strchr(at + 1, ' ');
  if (at == nullptr) return false;
  ticks = 0;
  for (++at; *at >= '0' && *at <= '9'; ++at) ticks = ticks * 10 + static_cast<std::uint64_t>(*at - '0');
  return true;
}

}  // namespace

std::uint64_t process_age_ns() {
  constexpr int clock_since_start = 7;  // CLOCK_BOOTTIME
  const std::uint64_t ticks_each_second = getauxval(AT_CLKTCK);
  std::uint64_t ticks;
  if (ticks_each_second == 0 || !read_start(ticks)) return 1;
  const std::uint64_t start_ns = ticks * (1'000'000'000u / ticks_each_second);
  const std::uint64_t now_ns = sys::clock_ns(clock_since_start);
  return now_ns > start_ns ? now_ns - start_ns : 1;
}

}  // namespace heapledger::probe
