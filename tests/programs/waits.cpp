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
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>

#include "waits.hpp"
#include "waits_at_work.hpp"
#include "waits_registers.hpp"

namespace {

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
                                                            {"registers", registers},
                                                            {"registers_in_read", registers_in_read},
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
