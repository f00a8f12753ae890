// The hook of mlockall. The segment is some hundred MiB of address space with little in it: locked, all of it would be
// memory, and a limit on locked memory would refuse the program what it allows without us. So where the program asks
// for all that is mapped, everything is locked one by one but that, and the leak watch's slots.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "probe/base/attributes.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/next.hpp"
#include "probe/publish/segment.hpp"
#include "probe/watch/window.hpp"

using namespace heapledger::probe;

namespace {

using mlockall_function = int(int);

constinit mlockall_function* real_mlockall = nullptr;

int answer(long result) {
  if (result == 0) return 0;
  errno = static_cast<int>(-result);
  return -1;
}

int pass_on(int flags) {
  if (real_mlockall == nullptr) look_up_next(real_mlockall, "mlockall");
  return real_mlockall != nullptr ? real_mlockall(flags) : answer(sys::call(__NR_mlockall, flags));
}

bool lies_in(std::uint64_t address, std::uint64_t start, std::uint64_t bytes) {
  return address - start < bytes;
}

bool is_ours(std::uint64_t address) {
  return lies_in(address, sys::word(segment.header), segment.bytes) ||
         lies_in(address, sys::word(former_segment.start), former_segment.bytes) ||
         lies_in(address, window.base, window.bytes);
}

// Calls f(start, end) for each mapping below the kernel's, until it returns an error.
template <class F>
long each_mapping(F f) {
  const int fd = sys::open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return fd;
  constexpr std::uint64_t kernel = std::uint64_t{1} << 63;
  std::uint64_t bounds[2] = {};
  unsigned at = 0;  // 2: behind them, until the line ends
  long result = 0;
  char text[4096];
  for (long got; result == 0 && (got = sys::read(fd, text, sizeof text)) > 0;) {
    for (long i = 0; result == 0 && i < got; ++i) {
      const char c = text[i];
      if (c == '\n') {
        if (bounds[1] < kernel) result = f(bounds[0], bounds[1]);
        bounds[0] = bounds[1] = at = 0;
      } else if (at < 2 && (c == '-' || c == ' ')) {
        ++at;
      } else if (at < 2) {
        bounds[at] = bounds[at] << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      }
    }
  }
  sys::close(fd);
  return result;
}

std::uint64_t lock_limit() {
  struct {
    std::uint64_t soft, hard;
  } limit{};
  return sys::call(__NR_prlimit64, 0, RLIMIT_MEMLOCK, 0, sys::word(&limit)) == 0 ? limit.soft : 0;
}

// As the kernel does it: what cannot be filled is locked all the same, and no error.
long lock_current(bool on_fault) {
  const std::uint64_t limit = lock_limit();
  std::uint64_t bytes = 0;
  const long result = each_mapping([&](std::uint64_t start, std::uint64_t end) -> long {
    if (is_ours(start)) return 0;
    bytes += end - start;
    constexpr unsigned lock_on_fault = 1;  // MLOCK_ONFAULT
    const long locked = sys::call(__NR_mlock2, start, end - start, on_fault ? lock_on_fault : 0u);
    return locked == -EPERM || (locked != 0 && bytes > limit) ? locked : 0;
  });
  if (result != 0) sys::call(__NR_munlockall);
  return result;
}

}  // namespace

HL_EXPORT int mlockall(int flags) {
  constexpr int known = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;
  if ((flags & MCL_CURRENT) == 0 || (flags & ~known) != 0 || segment.header == nullptr) return pass_on(flags);
  if ((flags & MCL_FUTURE) != 0 && pass_on(flags & ~MCL_CURRENT) != 0) return -1;
  return answer(lock_current((flags & MCL_ONFAULT) != 0));
}
