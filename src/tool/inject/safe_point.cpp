#include "tool/inject/safe_point.hpp"

#include <algorithm>
#include <array>

namespace heapledger::inject {
namespace {

using list = std::span<const std::string_view>;

// They wait, or do one thing in the kernel, and hold nothing of libc's meanwhile.
constexpr std::string_view waits[] = {"accept",
                                      "accept4",
                                      "clock_nanosleep",
                                      "connect",
                                      "epoll_pwait",
                                      "epoll_pwait2",
                                      "epoll_wait",
                                      "eventfd_read",
                                      "fdatasync",
                                      "flock",
                                      "fsync",
                                      "io_getevents",
                                      "lockf",
                                      "msgrcv",
                                      "msgsnd",
                                      "nanosleep",
                                      "pause",
                                      "poll",
                                      "ppoll",
                                      "pread",
                                      "pread64",
                                      "preadv",
                                      "pselect",
                                      "pthread_barrier_wait",
                                      "pthread_clockjoin_np",
                                      "pthread_cond_clockwait",
                                      "pthread_cond_timedwait",
                                      "pthread_cond_wait",
                                      "pthread_join",
                                      "pthread_mutex_clocklock",
                                      "pthread_mutex_lock",
                                      "pthread_mutex_timedlock",
                                      "pthread_rwlock_rdlock",
                                      "pthread_rwlock_wrlock",
                                      "pthread_timedjoin_np",
                                      "pwrite",
                                      "pwrite64",
                                      "pwritev",
                                      "read",
                                      "readv",
                                      "recv",
                                      "recvfrom",
                                      "recvmmsg",
                                      "recvmsg",
                                      "select",
                                      "sem_clockwait",
                                      "sem_timedwait",
                                      "sem_wait",
                                      "semop",
                                      "semtimedop",
                                      "send",
                                      "sendmmsg",
                                      "sendmsg",
                                      "sendto",
                                      "sigsuspend",
                                      "sigtimedwait",
                                      "sigwait",
                                      "sigwaitinfo",
                                      "sleep",
                                      "syscall",
                                      "thrd_sleep",
                                      "cnd_wait",
                                      "cnd_timedwait",
                                      "thrd_join",
                                      "usleep",
                                      "wait",
                                      "wait3",
                                      "wait4",
                                      "waitid",
                                      "waitpid",
                                      "write",
                                      "writev",
                                      "sched_yield",
                                      "thrd_yield",
                                      "pthread_yield",
                                      "fcntl",
                                      "fcntl64",
                                      "ioctl",
                                      "splice",
                                      "tee",
                                      "sendfile",
                                      "sendfile64",
                                      "mq_receive",
                                      "mq_timedreceive",
                                      "mq_send",
                                      "mq_timedsend"};

// The same as the compiler checks them; and stdio while it waits for input: it holds the lock of its file, and nothing
// that the loader or the allocator takes.
constexpr std::string_view other_waits[] = {"__poll_chk",
                                            "__ppoll_chk",
                                            "__pread64_chk",
                                            "__pread_chk",
                                            "__read_chk",
                                            "__recv_chk",
                                            "__recvfrom_chk",
                                            "_IO_default_uflow",
                                            "_IO_default_xsgetn",
                                            "_IO_fgets",
                                            "_IO_file_read",
                                            "_IO_file_underflow",
                                            "_IO_file_xsgetn",
                                            "_IO_fread",
                                            "_IO_getc",
                                            "_IO_getline",
                                            "_IO_getline_info",
                                            "_IO_sgetn",
                                            "_IO_vfscanf",
                                            "__fgets_chk",
                                            "__fgets_unlocked_chk",
                                            "__fread_chk",
                                            "__getdelim",
                                            "__isoc23_fscanf",
                                            "__isoc23_scanf",
                                            "__isoc23_vfscanf",
                                            "__isoc23_vscanf",
                                            "__isoc99_fscanf",
                                            "__isoc99_scanf",
                                            "__isoc99_vfscanf",
                                            "__isoc99_vscanf",
                                            "__uflow",
                                            "__underflow",
                                            "fgetc",
                                            "fgetc_unlocked",
                                            "fgets",
                                            "fgets_unlocked",
                                            "fread",
                                            "fread_unlocked",
                                            "fscanf",
                                            "getc",
                                            "getc_unlocked",
                                            "getchar",
                                            "getchar_unlocked",
                                            "getdelim",
                                            "getline",
                                            "scanf",
                                            "vfscanf",
                                            "vscanf"};

// And of these, the ones that no allocator uses while it holds its locks.
constexpr std::string_view waits_for_events[] = {"accept",
                                                 "accept4",
                                                 "epoll_pwait",
                                                 "epoll_pwait2",
                                                 "epoll_wait",
                                                 "pause",
                                                 "poll",
                                                 "ppoll",
                                                 "pread64",
                                                 "pselect",
                                                 "pthread_cond_clockwait",
                                                 "pthread_cond_timedwait",
                                                 "pthread_cond_wait",
                                                 "pthread_join",
                                                 "read",
                                                 "readv",
                                                 "recv",
                                                 "recvfrom",
                                                 "recvmsg",
                                                 "select",
                                                 "sem_wait",
                                                 "sigsuspend",
                                                 "sigtimedwait",
                                                 "sigwait",
                                                 "sigwaitinfo",
                                                 "wait4",
                                                 "waitid",
                                                 "waitpid"};

// They call the program back, and hold nothing.
constexpr std::string_view callers[] = {"__libc_start_main", "clone",           "clone3",       "__clone",
                                        "__clone3",          "qsort",           "qsort_r",      "bsearch",
                                        "makecontext",       "__start_context", "pthread_once", "call_once"};

bool is_one_of(const std::vector<std::string_view>& names, list known) {
  return std::any_of(names.begin(), names.end(),
                     [&](auto name) { return std::find(known.begin(), known.end(), name) != known.end(); });
}

// Beyond what is innermost: the frames of libc that called the program.
bool calls_back_safely(const placed_frame& frame) {
  return frame.names.empty() || is_one_of(frame.names, callers);
}

// All of C++'s, whatever their arguments.
bool is_allocation(const std::vector<std::string_view>& names) {
  constexpr std::array<std::string_view, 11> known = {"malloc",   "free",           "calloc",        "realloc",
                                                      "memalign", "posix_memalign", "aligned_alloc", "valloc",
                                                      "pvalloc",  "reallocarray",   "cfree"};
  return std::any_of(names.begin(), names.end(), [&](auto name) {
    return std::find(known.begin(), known.end(), name) != known.end() || name.starts_with("_Znw") ||
           name.starts_with("_Zna") || name.starts_with("_Zdl") || name.starts_with("_Zda");
  });
}

}  // namespace

bool is_wait(std::string_view name) {
  return std::find(std::begin(waits), std::end(waits), name) != std::end(waits);
}

std::string why_unsafe(const stack_facts& stack) {
  const auto frames = stack.frames;
  if (frames.empty()) return "its stack cannot be walked";
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].where == code_kind::loader) return "it is in the loader";
    if (frames[i].where == code_kind::allocator || is_allocation(frames[i].names)) return "it is in the allocator";
    if (i != 0 && frames[i].was_interrupted) return "it is in a signal's handler";
  }
  // The innermost stretch of libc must be one call that waits; each of its frames is that, or a part without a name.
  std::size_t at = 0;
  const placed_frame* entry = nullptr;
  for (; at < frames.size() && frames[at].where == code_kind::libc; ++at) {
    entry = &frames[at];
    if (!entry->names.empty() && !is_one_of(entry->names, waits) && !is_one_of(entry->names, other_waits))
      return "it is in the midst of libc";
  }
  // A thread that has just begun, or is about to end, is in libc alone.
  if (entry != nullptr && entry->names.empty()) return "it is in the midst of libc";
  if (entry != nullptr && !stack.in_system_call) return "it is in the midst of libc";
  if (stack.program_has_malloc && (entry == nullptr || !is_one_of(entry->names, waits_for_events)))
    return "it may be in the allocator, which is part of the program";
  for (; at < frames.size(); ++at)
    if (frames[at].where == code_kind::libc && !calls_back_safely(frames[at]))
      return "libc has called the program back";
  return {};
}

}  // namespace heapledger::inject
