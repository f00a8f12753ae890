// Waits in the kernel in one way that is asked for, and says whether it came back as it should: not before its time,
// not with EINTR, with errno, its signal mask and its dispositions as they were. Says "ready" when it is about to wait.
//   waits MODE [MILLISECONDS]      a wait that ends by itself, or by what comes on standard input
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

long wanted_ms = 1000;

timespec of_ms(long ms) {
  return {ms / 1000, ms % 1000 * 1'000'000};
}

timespec from_now(clockid_t clock, long ms) {
  timespec now{};
  clock_gettime(clock, &now);
  now.tv_sec += ms / 1000;
  now.tv_nsec += ms % 1000 * 1'000'000;
  if (now.tv_nsec >= 1'000'000'000) ++now.tv_sec, now.tv_nsec -= 1'000'000'000;
  return now;
}

double now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void ready() {
  std::fputs("ready\n", stdout);
  std::fflush(stdout);
}

[[noreturn]] void fail(const char* what) {
  std::printf("%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}

// A wait of its whole time. errno is what it was, unless the wait itself sets it.
void timed(const std::function<void()>& wait) {
  const double begin = now_s();
  ready();
  wait();
  expect(now_s() - begin >= static_cast<double>(wanted_ms) / 1000, "it came back before its time");
}

void wait_nanosleep() {
  const auto time = of_ms(wanted_ms);
  timed([&] { expect(nanosleep(&time, nullptr) == 0, "nanosleep"); });
}
void wait_clock_nanosleep() {
  timed([] {
    const auto until = from_now(CLOCK_MONOTONIC, wanted_ms);
    expect(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == 0, "clock_nanosleep");
  });
}
void wait_poll() {
  timed([] { expect(poll(nullptr, 0, static_cast<int>(wanted_ms)) == 0, "poll"); });
}
void wait_ppoll() {
  sigset_t none;
  sigemptyset(&none);
  const auto time = of_ms(wanted_ms);
  timed([&] { expect(ppoll(nullptr, 0, &time, &none) == 0, "ppoll"); });
}
void wait_select() {
  timeval time{wanted_ms / 1000, wanted_ms % 1000 * 1000};
  timed([&] { expect(select(0, nullptr, nullptr, nullptr, &time) == 0, "select"); });
}
void wait_futex() {
  static int word = 0;
  const auto time = of_ms(wanted_ms);
  timed([&] {
    errno = 0;
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0);
    expect(errno == ETIMEDOUT, "futex");
  });
}
void wait_cond() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  timed([&] {
    const auto until = from_now(CLOCK_REALTIME, wanted_ms);
    int result = 0;
    while (result == 0) result = pthread_cond_timedwait(&cond, &mutex, &until);
    expect(result == ETIMEDOUT, "pthread_cond_timedwait");
  });
}
void wait_sem() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  timed([&] {
    const auto until = from_now(CLOCK_REALTIME, wanted_ms);
    expect(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT, "sem_timedwait");
  });
}

void wait_read() {
  char byte = 0;
  ready();
  expect(read(0, &byte, 1) == 1, "read");
}
void wait_fgets() {
  char line[100];
  ready();
  expect(std::fgets(line, sizeof line, stdin) != nullptr && std::strcmp(line, "x\n") == 0, "fgets");
}
void wait_getline() {
  char* line = nullptr;
  std::size_t capacity = 0;
  ready();
  expect(getline(&line, &capacity, stdin) == 2, "getline");
  std::free(line);
}
void wait_epoll() {
  const int epoll = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event);
  ready();
  expect(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait");
}
void wait_epoll_pwait() {
  const int epoll = epoll_create1(0);
  epoll_event event{};
  sigset_t none;
  sigemptyset(&none);
  event.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event);
  ready();
  expect(epoll_pwait(epoll, &event, 1, -1, &none) == 1, "epoll_pwait");
}
void wait_accept() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  socklen_t length = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  expect(bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(listener, 1) == 0, "listen");
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  std::thread connects([&] {
    char byte = 0;
    read(0, &byte, 1);
    const int peer = socket(AF_INET, SOCK_STREAM, 0);
    connect(peer, reinterpret_cast<sockaddr*>(&address), sizeof address);
  });
  ready();
  expect(accept(listener, nullptr, nullptr) >= 0, "accept");
  connects.join();
}
void wait_recv() {
  int ends[2];
  expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  std::thread sends([&] {
    char byte = 0;
    read(0, &byte, 1);
    write(ends[1], "x", 1);
  });
  char byte = 0;
  ready();
  expect(recv(ends[0], &byte, 1, 0) == 1, "recv");
  sends.join();
}
void wait_write() {
  int ends[2];
  expect(pipe(ends) == 0, "pipe");
  const std::vector<char> much(1 << 20);
  std::thread drains([&] {
    char byte = 0;
    read(0, &byte, 1);
    std::vector<char> into(1 << 20);
    for (std::size_t got = 0; got < much.size();)
      got += static_cast<std::size_t>(read(ends[0], into.data(), into.size()));
  });
  ready();
  expect(write(ends[1], much.data(), much.size()) == static_cast<ssize_t>(much.size()), "write");
  drains.join();
}
void wait_waitpid() {
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    read(0, &byte, 1);
    _exit(3);
  }
  ready();
  int status = 0;
  expect(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3, "waitpid");
}
void wait_flock() {
  char name[] = "/tmp/heapledger-waits-XXXXXX";
  const int fd = mkstemp(name);
  flock(fd, LOCK_EX);
  std::thread unlocks([&] {
    char byte = 0;
    read(0, &byte, 1);
    flock(fd, LOCK_UN);
  });
  const int other = open(name, O_RDWR);
  unlink(name);
  ready();
  expect(flock(other, LOCK_EX) == 0, "flock");
  unlocks.join();
}
void wait_semop() {
  const int set = semget(IPC_PRIVATE, 1, 0600);
  std::thread posts([&] {
    char byte = 0;
    read(0, &byte, 1);
    sembuf up{0, 1, 0};
    semop(set, &up, 1);
  });
  sembuf down{0, -1, 0};
  ready();
  const int result = semop(set, &down, 1);
  const int error = errno;
  posts.join();
  semctl(set, 0, IPC_RMID);
  errno = error;
  expect(result == 0, "semop");
}
void wait_futex_untimed() {
  static std::atomic<int> word{0};
  std::thread wakes([] {
    char byte = 0;
    read(0, &byte, 1);
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  });
  ready();
  while (word == 0)
    expect(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0) == 0 || errno == EAGAIN, "futex");
  wakes.join();
}
void wait_sigwait() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  std::thread kills([] {
    char byte = 0;
    read(0, &byte, 1);
    kill(getpid(), SIGUSR1);
  });
  ready();
  expect(sigwaitinfo(&set, nullptr) == SIGUSR1, "sigwaitinfo");
  kills.join();
}

std::atomic<int> handled{0};

// With a handler: then, and only then, EINTR.
void wait_handled_epoll() {
  struct sigaction action {};
  action.sa_handler = [](int) { ++handled; };
  sigaction(SIGUSR1, &action, nullptr);
  const int epoll = epoll_create1(0);
  epoll_event event{};
  ready();
  expect(epoll_wait(epoll, &event, 1, -1) == -1 && errno == EINTR && handled == 1, "epoll_wait is ended by a signal");
}
void wait_sigsuspend() {
  struct sigaction action {};
  action.sa_handler = [](int) { ++handled; };
  sigaction(SIGUSR1, &action, nullptr);
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &before);
  ready();
  sigsuspend(&before);
  expect(errno == EINTR && handled == 1, "sigsuspend");
  sigset_t now;
  sigprocmask(SIG_BLOCK, nullptr, &now);
  expect(sigismember(&now, SIGUSR1) == 1, "its mask is what it was");
}

// An empty line on standard input, or its end.
bool is_told_to_end() {
  pollfd input{0, POLLIN, 0};
  return poll(&input, 1, 0) == 1;
}

// Hardly ever in the kernel, in one thread: every register has a value that it can be told from.
void compute() {
  ready();
  double sum[4] = {1, 2, 3, 4};
  unsigned long x = 0, rounds = 0;
  while (rounds % 1000 != 0 || !is_told_to_end()) {
    const double before = sum[0] + sum[1] + sum[2] + sum[3];
    const unsigned long y = x;
    errno = ENOTTY;
    for (int i = 0; i < 1000; ++i) {
      for (double& each : sum) each += 0.5;
      asm volatile("add $3, %0" : "+r"(x));
    }
    expect(x == y + 3000, "integers");
    expect(errno == ENOTTY, "errno");
    expect(sum[0] + sum[1] + sum[2] + sum[3] == before + 2000, "floating point");
    for (double& each : sum) each -= 500;
    ++rounds;
  }
}

void allocate_in_threads(bool with_new_threads) {
  std::atomic<bool> ends{false};
  const auto work = [&](unsigned seed) {
    std::vector<void*> blocks(64);
    for (unsigned long i = seed; !ends; ++i) {
      auto*& block = blocks[i * 2654435761u % 64];
      std::free(block);
      block = std::malloc(1 + i * 40503 % 5000);
      expect(block != nullptr, "malloc");
      *static_cast<char*>(block) = 1;
    }
    for (void* block : blocks) std::free(block);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  std::thread makes([&] {
    while (with_new_threads && !ends) {
      std::thread([] { std::free(std::malloc(100)); }).join();
    }
  });
  ready();
  while (!is_told_to_end()) sched_yield();
  ends = true;
  for (auto& each : threads) each.join();
  makes.join();
}

std::atomic<unsigned long> ticks{0};
// Handlers all the time, which look at errno, and a fault that the program mends itself.
void signals() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int error = errno;
    ++ticks;
    errno = EDOM;
    errno = error;
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  struct sigaction fault {};
  fault.sa_flags = SA_SIGINFO;
  fault.sa_sigaction = [](int, siginfo_t*, void* context) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 3;  // movb $0, (%rax)
  };
  sigaction(SIGSEGV, &fault, nullptr);
  const itimerval time{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &time, nullptr);
  ready();
  while (!is_told_to_end()) {
    errno = ENOTTY;
    asm volatile("movb $0, (%%rax)" : : "a"(8) : "memory");
    for (int i = 0; i < 10000; ++i) asm volatile("");
    expect(errno == ENOTTY, "errno");
  }
  expect(ticks > 0, "ticks");
}

void all_blocked() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  ready();
  char byte = 0;
  expect(read(0, &byte, 1) == 1, "read");
  sigset_t now;
  sigprocmask(SIG_BLOCK, nullptr, &now);
  for (const int signal : {SIGUSR1, SIGSEGV, SIGTERM, SIGTRAP})
    expect(sigismember(&now, signal) == 1, "its mask is what it was");
}

void ignored_faults() {
  for (const int signal : {SIGSEGV, SIGTRAP, SIGBUS, SIGILL}) std::signal(signal, SIG_IGN);
  ready();
  char byte = 0;
  expect(read(0, &byte, 1) == 1, "read");
  for (const int signal : {SIGSEGV, SIGTRAP, SIGBUS, SIGILL})
    expect(std::signal(signal, SIG_DFL) == SIG_IGN, "its dispositions are what they were");
}

void small_stack() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  pthread_t thread{};
  const auto reads = [](void*) -> void* {
    char byte = 0;
    ready();
    return read(0, &byte, 1) == 1 ? nullptr : &ticks;
  };
  expect(pthread_create(&thread, &attributes, reads, nullptr) == 0, "pthread_create");
  sigset_t all;
  sigfillset(&all);
  void* result = nullptr;
  pthread_join(thread, &result);
  expect(result == nullptr, "read");
}

void fiber() {
  static ucontext_t outer, inner;
  static char stack[32768];
  getcontext(&inner);
  inner.uc_stack.ss_sp = stack + 8192;
  inner.uc_stack.ss_size = 16384;
  inner.uc_link = &outer;
  makecontext(
      &inner,
      [] {
        char byte = 0;
        ready();
        expect(read(0, &byte, 1) == 1, "read");
      },
      0);
  swapcontext(&outer, &inner);
  for (int i = 0; i < 8192; ++i) expect(stack[i] == 0, "what lies below the fiber's stack is what it was");
}

// In the midst of the allocator's and the loader's callers until told: no thread is safe.
void in_handler() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    char byte = 0;
    const char word[] = "ready\n";
    write(1, word, sizeof word - 1);
    read(0, &byte, 1);
  };
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}
void at_exit() {
  std::atexit([] {
    char byte = 0;
    ready();
    read(0, &byte, 1);
    _exit(0);
  });
  std::exit(0);
}

const std::map<std::string, std::function<void()>> modes = {{"nanosleep", wait_nanosleep},
                                                            {"clock_nanosleep", wait_clock_nanosleep},
                                                            {"poll", wait_poll},
                                                            {"ppoll", wait_ppoll},
                                                            {"select", wait_select},
                                                            {"futex", wait_futex},
                                                            {"cond", wait_cond},
                                                            {"sem", wait_sem},
                                                            {"read", wait_read},
                                                            {"fgets", wait_fgets},
                                                            {"getline", wait_getline},
                                                            {"epoll", wait_epoll},
                                                            {"epoll_pwait", wait_epoll_pwait},
                                                            {"accept", wait_accept},
                                                            {"recv", wait_recv},
                                                            {"write", wait_write},
                                                            {"waitpid", wait_waitpid},
                                                            {"flock", wait_flock},
                                                            {"semop", wait_semop},
                                                            {"futex_untimed", wait_futex_untimed},
                                                            {"sigwait", wait_sigwait},
                                                            {"handled_epoll", wait_handled_epoll},
                                                            {"sigsuspend", wait_sigsuspend},
                                                            {"compute", compute},
                                                            {"allocate", [] { allocate_in_threads(false); }},
                                                            {"new_threads", [] { allocate_in_threads(true); }},
                                                            {"signals", signals},
                                                            {"all_blocked", all_blocked},
                                                            {"ignored_faults", ignored_faults},
                                                            {"small_stack", small_stack},
                                                            {"fiber", fiber},
                                                            {"in_handler", in_handler},
                                                            {"at_exit", at_exit}};

}  // namespace

int main(int argc, char** argv) {
  const auto mode = modes.find(argc > 1 ? argv[1] : "");
  if (mode == modes.end()) return 2;
  if (argc > 2) wanted_ms = std::atol(argv[2]);
  mode->second();
  std::puts("as it should be");
  return 0;
}
