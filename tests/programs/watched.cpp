// A program whose blocks are watched: does what it is told, one command a line on standard input, one reply a line. Its
// own reading and writing allocates nothing.
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "attaching.hpp"
#include "heapledger/heapledger.h"

namespace {

constexpr std::size_t most_blocks = 200'000;
struct block {
  unsigned char* at;
  std::size_t bytes;
  char kind;
};
block blocks[most_blocks];
std::size_t block_count = 0;

// Places that allocate: each a stack of its own.
template <int Site>
[[gnu::noinline]] void* from_site(char kind, std::size_t bytes, std::size_t alignment) {
  void* result = nullptr;
  switch (kind) {
    case 'm':
      result = std::malloc(bytes);
      break;
    case 'c':
      result = std::calloc(1, bytes);
      break;
    case 'n':
      result = ::operator new(bytes);
      break;
    case 'N':
      result = ::operator new[](bytes);
      break;
    case 'a':
      result = ::operator new (bytes, std::align_val_t{alignment});
      break;
    case 'p':
      if (posix_memalign(&result, alignment, bytes) != 0) result = nullptr;
      break;
    case 'g':
      result = memalign(alignment, bytes);
      break;
  }
  asm volatile("" : "+r"(result));
  return result;
}
using site = void* (*)(char, std::size_t, std::size_t);
constexpr site sites[] = {from_site<0>, from_site<1>, from_site<2>, from_site<3>, from_site<4>, from_site<5>};

void release(block& which) {
  switch (which.kind) {
    case 'n':
      ::operator delete(which.at);
      break;
    case 'N':
      ::operator delete[](which.at);
      break;
    case 'a':
      ::operator delete (which.at, std::align_val_t{64});
      break;
    default:
      std::free(which.at);
  }
  which.at = nullptr;
}

unsigned char pattern(std::size_t id, std::size_t i) {
  return static_cast<unsigned char>(id * 31 + i * 7 + (i >> 8));
}
void fill(std::size_t id) {
  for (std::size_t i = 0; i < blocks[id].bytes; ++i) blocks[id].at[i] = pattern(id, i);
}
std::size_t wrong(std::size_t id, std::size_t up_to) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < up_to; ++i) count += blocks[id].at[i] != pattern(id, i);
  return count;
}

// What the kernel does to a block on the program's behalf; the result, or minus errno.
long by_kernel(const char* how, unsigned char* at, std::size_t bytes) {
  long result = -1;
  const auto is = [&](const char* name) { return std::strcmp(how, name) == 0; };
  int ends[2];
  char other[4096] = "from another place";
  if (is("write")) {
    if (pipe(ends) != 0) return -errno;
    result = write(ends[1], at, bytes);
    if (result < 0) result = -errno;
    close(ends[0]), close(ends[1]);
  } else if (is("read")) {
    const int fd = open("/dev/zero", O_RDONLY);
    result = read(fd, at, bytes);
    if (result < 0) result = -errno;
    close(fd);
  } else if (is("send") || is("recv")) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -errno;
    if (is("recv")) send(ends[0], other, bytes, 0);
    result = is("send") ? send(ends[0], at, bytes, 0) : recv(ends[1], at, bytes, 0);
    if (result < 0) result = -errno;
    close(ends[0]), close(ends[1]);
  } else if (is("getrandom")) {
    result = getrandom(at, bytes, 0);
    if (result < 0) result = -errno;
  } else if (is("futex")) {
    const timespec none{0, 1};
    int value;
    result = syscall(SYS_futex, at, FUTEX_WAIT, 0x7fffffff, &none, nullptr, 0);  // compares the word
    value = result < 0 ? errno : 0;
    result = value == EAGAIN || value == ETIMEDOUT ? static_cast<long>(bytes) : -value;
  } else if (is("vm_readv") || is("vm_writev")) {
    const iovec mine{other, bytes}, theirs{at, bytes};
    result = is("vm_readv") ? process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0)
                            : process_vm_writev(getpid(), &mine, 1, &theirs, 1, 0);
    if (result < 0) result = -errno;
  } else if (is("direct_write") || is("direct_read")) {
    char name[] = "direct-XXXXXX";
    int fd = mkstemp(name);
    if (ftruncate(fd, 8192) != 0) return -errno;
    close(fd);
    fd = open(name, O_RDWR | O_DIRECT);
    if (fd < 0) {
      result = -errno;
    } else {
      result = is("direct_write") ? write(fd, at, 4096) : read(fd, at, 4096);
      result = result < 0 ? -errno : static_cast<long>(bytes);
      close(fd);
    }
    unlink(name);
  } else if (is("name")) {
    std::strcpy(reinterpret_cast<char*>(at), "/dev/null");
    result = 0;
  } else if (is("path")) {
    const int fd = open(reinterpret_cast<const char*>(at), O_RDONLY);
    result = fd < 0 ? -errno : static_cast<long>(bytes);
    close(fd);
  }
  return result;
}

volatile unsigned sink;

// Parent and child write at once after the fork, in every live block; each must find only its own. With `threads`,
// other threads of the parent write all the time.
std::atomic<bool> stop_writing;
void* keep_writing(void* argument) {
  auto* block_at = static_cast<volatile unsigned char*>(argument);
  while (!stop_writing) block_at[64] = static_cast<unsigned char>(block_at[64] + 1);
  return nullptr;
}

enum class fork_way { usual, raw, without_handlers };

// The number of bytes that are not as they should be: in the parent, plus in the child.
int fork_and_write(bool threads, fork_way way) {
  pthread_t writers[3];
  std::size_t written[3] = {};  // by threads
  std::size_t writing = 0;
  stop_writing = false;
  for (std::size_t id = 0; threads && id < block_count && writing < 3; ++id)
    if (blocks[id].at != nullptr && blocks[id].bytes > 64) {
      pthread_create(&writers[writing], nullptr, keep_writing, blocks[id].at);
      written[writing++] = id;
    }
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = way == fork_way::raw                ? static_cast<pid_t>(syscall(SYS_fork))
                      : way == fork_way::without_handlers ? _Fork()
                                                          : fork();
  const unsigned char mine = child == 0 ? 0xcc : 0x33;
  // At once: the first byte of every block.
  for (std::size_t id = 0; id < block_count; ++id)
    if (blocks[id].at != nullptr) blocks[id].at[0] = mine;
  int bad = 0;
  unsigned char frozen[3] = {};
  for (int round = 0; round < 50; ++round) {
    for (std::size_t id = 0; id < block_count; ++id) {
      if (blocks[id].at == nullptr) continue;
      bad += blocks[id].at[0] != mine;
      for (std::size_t i = 1; i < blocks[id].bytes; i += 97)
        if (i != 64) bad += blocks[id].at[i] != pattern(id, i);
    }
    for (std::size_t w = 0; child == 0 && w < writing; ++w) {  // the parent's threads go on; here nobody does
      if (round != 0) bad += blocks[written[w]].at[64] != frozen[w];
      frozen[w] = blocks[written[w]].at[64];
    }
    if (child == 0) usleep(200);
  }
  if (child == 0) {
    for (std::size_t id = 0; id < block_count; ++id)
      if (blocks[id].at != nullptr && id % 2 == 0) release(blocks[id]);
    for (std::size_t id = 0; id < block_count; ++id)
      if (blocks[id].at != nullptr) {
        blocks[id].at = static_cast<unsigned char*>(std::realloc(blocks[id].at, blocks[id].bytes + 5));
        bad += blocks[id].at[0] != mine;
      }
    const char status = static_cast<char>(bad > 100 ? 100 : bad);
    _exit(write(ends[1], &status, 1) == 1 ? 0 : 1);
  }
  close(ends[1]);
  char status = 101;
  if (read(ends[0], &status, 1) != 1) status = 102;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  stop_writing = true;
  for (std::size_t i = 0; i < writing; ++i) pthread_join(writers[i], nullptr);
  for (std::size_t id = 0; id < block_count; ++id)
    if (blocks[id].at != nullptr) {
      bad += blocks[id].at[0] != mine;
      fill(id);
    }
  return bad * 1000 + status;
}

// Threads that allocate at the first place, write, move and free; each block is checked whenever it is met again.
struct kept {
  unsigned char* at;
  std::size_t bytes;
  unsigned char mark;
};
std::atomic<long> stress_errors;
void mark_ends(const kept& block) {
  block.at[0] = block.at[block.bytes - 1] = block.mark;
}
void check_ends(const kept& block, std::size_t up_to) {
  stress_errors += block.at[0] != block.mark || (up_to == block.bytes && block.at[block.bytes - 1] != block.mark);
}
void* stress(void* times) {
  std::uint64_t random = reinterpret_cast<std::uintptr_t>(&random);
  const auto draw = [&](std::uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  kept ring[64] = {};
  for (long i = 0; i < reinterpret_cast<long>(times); ++i) {
    kept& block = ring[draw(64)];
    const std::size_t bytes = 1 + draw(draw(20) == 0 ? 200'000 : 300);
    if (block.at == nullptr) {
      block = {static_cast<unsigned char*>(from_site<0>('m', bytes, 0)), bytes, static_cast<unsigned char>(draw(256))};
      mark_ends(block);
    } else if (draw(4) == 0) {
      block.at = static_cast<unsigned char*>(std::realloc(block.at, bytes));
      check_ends(block, bytes > block.bytes ? block.bytes : 0);
      block.bytes = bytes;
      mark_ends(block);
    } else {
      check_ends(block, block.bytes);
      std::free(block.at);
      block.at = nullptr;
    }
  }
  for (kept& block : ring)
    if (block.at != nullptr) {
      check_ends(block, block.bytes);
      std::free(block.at);
    }
  return nullptr;
}
long stress_and_fork(std::size_t threads, long times, std::size_t forks) {
  pthread_t all[16];
  stress_errors = 0;
  for (std::size_t i = 0; i < threads; ++i) pthread_create(&all[i], nullptr, stress, reinterpret_cast<void*>(times));
  for (std::size_t i = 0; i < forks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      void* own = from_site<0>('m', 100, 0);
      std::free(own);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    stress_errors += status != 0;
  }
  for (std::size_t i = 0; i < threads; ++i) pthread_join(all[i], nullptr);
  return stress_errors;
}

// For interrupted_steps: aligned blocks of one place, while a handler comes at each instruction of an event in turn and
// takes one of another alignment elsewhere. How many of the first are not aligned. `once`: one block, and nobody comes.
volatile std::sig_atomic_t steps_are_done;
void allocate_aligned(int) {
  std::free(from_site<3>('p', 5000, 64));
}
long interrupted_aligned(const volatile bool& once) {
  std::signal(SIGUSR1, allocate_aligned);
  std::signal(SIGUSR2, [](int) { steps_are_done = 1; });
  long bad = 0;
  do {
    if (!once) asm volatile("int3" ::: "memory");
    void* block = from_site<2>('p', 5000, 512);
    if (!once) asm volatile("int3" ::: "memory");
    bad += reinterpret_cast<std::uintptr_t>(block) % 512 != 0;
    std::free(block);
  } while (!once && !steps_are_done);
  return bad;
}

heapledger_scope entered = 0;
char line[256];
bool next_line() {
  std::size_t length = 0;
  while (length < sizeof line - 1) {
    const ssize_t got = read(0, line + length, 1);
    if (got <= 0) return false;
    if (line[length] == '\n') break;
    ++length;
  }
  line[length] = 0;
  return true;
}

void reply(long value) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%ld\n", value);
  [[maybe_unused]] const auto written = write(1, text, static_cast<std::size_t>(length));
}

void* leak_in_thread(void* count) {
  for (long i = 0; i < reinterpret_cast<long>(count); ++i) {
    void* lost = from_site<5>('m', 48, 0);
    asm volatile("" : : "r"(lost));
  }
  return nullptr;
}

}  // namespace

int main() {
  char word[32], how[32];
  unsigned long a, b, c;
  char kind;
  while (next_line()) {
    const auto is = [&](const char* name) { return std::strcmp(word, name) == 0; };
    if (std::sscanf(line, "%31s", word) != 1) continue;
    long result = 0;
    if (is("alloc")) {  // alloc KIND SITE COUNT BYTES ALIGNMENT; the first id
      unsigned long alignment = 64, count = 0;
      std::sscanf(line, "%*s %c %lu %lu %lu %lu", &kind, &a, &count, &b, &alignment);
      result = static_cast<long>(block_count);
      for (unsigned long i = 0; i < count; ++i) {
        blocks[block_count] = {static_cast<unsigned char*>(sites[a](kind, b, alignment)), b, kind};
        if (blocks[block_count].at == nullptr) {
          result = -1;
          break;
        }
        ++block_count;
      }
    } else if (is("fill") && std::sscanf(line, "%*s %lu", &a) == 1) {
      fill(a);
    } else if (is("wrong") && std::sscanf(line, "%*s %lu", &a) == 1) {
      result = static_cast<long>(wrong(a, blocks[a].bytes));
    } else if (is("nonzero") && std::sscanf(line, "%*s %lu", &a) == 1) {
      for (std::size_t i = 0; i < blocks[a].bytes; ++i) result += blocks[a].at[i] != 0;
    } else if (is("free") && std::sscanf(line, "%*s %lu", &a) == 1) {
      release(blocks[a]);
    } else if (is("free_twice") && std::sscanf(line, "%*s %lu", &a) == 1) {
      void* at = blocks[a].at;
      std::free(at);
      std::free(at);
      blocks[a].at = nullptr;
    } else if (is("overflow") && std::sscanf(line, "%*s %lu", &a) == 1) {
      blocks[a].at[malloc_usable_size(blocks[a].at)] = 0x55;
    } else if (is("read") && std::sscanf(line, "%*s %lu", &a) == 1) {
      sink = blocks[a].at[blocks[a].bytes / 2];
    } else if (is("write") && std::sscanf(line, "%*s %lu", &a) == 1) {
      blocks[a].at[0] = pattern(a, 0);
    } else if (is("usable") && std::sscanf(line, "%*s %lu", &a) == 1) {
      result = static_cast<long>(malloc_usable_size(blocks[a].at));
    } else if (is("misaligned") && std::sscanf(line, "%*s %lu %lu", &a, &b) == 2) {
      result = static_cast<long>(reinterpret_cast<std::uintptr_t>(blocks[a].at) & (b - 1));
    } else if (is("realloc") && std::sscanf(line, "%*s %lu %lu", &a, &b) == 2) {  // wrong bytes, -1: failed
      void* moved = std::realloc(blocks[a].at, b);
      if (moved == nullptr && b != 0) {
        result = -1;
      } else {
        blocks[a].at = static_cast<unsigned char*>(moved);
        const std::size_t kept = b < blocks[a].bytes ? b : blocks[a].bytes;
        blocks[a].bytes = b;
        result = moved == nullptr ? 0 : static_cast<long>(wrong(a, kept));
        if (moved != nullptr) fill(a);
      }
    } else if (is("kernel") && std::sscanf(line, "%*s %31s %lu", how, &a) == 2) {
      result = by_kernel(how, blocks[a].at, blocks[a].bytes < 4096 ? blocks[a].bytes : 4096);
    } else if (is("beat")) {  // the probe is off its fast path
      std::free(std::malloc(100'000));
    } else if (is("fork")) {
      std::sscanf(line, "%*s %lu %lu", &a, &b);
      result = fork_and_write(a != 0, static_cast<fork_way>(b));
    } else if (is("attach")) {
      result = test::attach();
    } else if (is("detach")) {
      result = test::detach();
    } else if (is("spawn")) {
      result = std::system("true");
    } else if (is("lock") && std::sscanf(line, "%*s %lu", &a) == 1) {
      result = mlockall(static_cast<int>(a)) == 0 ? 0 : -errno;
    } else if (is("close_all")) {
      for (int fd = 3; fd < 1024; ++fd) close(fd);
    } else if (is("count_fds")) {
      for (int fd = 0; fd < 1024; ++fd) result += fcntl(fd, F_GETFD) >= 0;
    } else if (is("address_space") && std::sscanf(line, "%*s %lu", &a) == 1) {
      const rlimit limit{a, a};
      result = syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, nullptr);  // of what the probe maps, too
    } else if (is("file_size") && std::sscanf(line, "%*s %lu", &a) == 1) {
      const rlimit limit{a, a};
      result = setrlimit(RLIMIT_FSIZE, &limit);
    } else if (is("maps") && std::sscanf(line, "%*s %lu", &a) == 1) {  // so many mappings that do not merge
      for (c = 0; c < a; ++c)
        if (mmap(nullptr, 4096, c % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
      result = static_cast<long>(c);
    } else if (is("thread") && std::sscanf(line, "%*s %lu", &a) == 1) {
      pthread_t thread;
      pthread_create(&thread, nullptr, leak_in_thread, reinterpret_cast<void*>(a));
      pthread_join(thread, nullptr);
    } else if (is("churn") && std::sscanf(line, "%*s %lu %lu %lu", &a, &b, &c) == 3) {  // site, times, bytes
      for (unsigned long i = 0; i < b; ++i) std::free(sites[a]('m', c, 0));
    } else if (is("stress") && std::sscanf(line, "%*s %lu %lu %lu", &a, &b, &c) == 3) {
      result = stress_and_fork(a, static_cast<long>(b), c);
    } else if (is("enter") && std::sscanf(line, "%*s %lu", &a) == 1) {  // a scope with so many live bytes, failing
      heapledger_budget budget{};
      budget.live_bytes = a;
      budget.allocated_bytes = budget.allocations = HEAPLEDGER_UNLIMITED;
      budget.on_exceed = HEAPLEDGER_FAIL;
      entered = heapledger_scope_create("work", 4, 0, &budget);
      heapledger_scope_enter(entered);
    } else if (is("leave")) {
      heapledger_scope_enter(0);
      heapledger_scope_close(entered);
    } else if (is("interrupted") && std::sscanf(line, "%*s %lu", &a) == 1) {
      const volatile bool once = a == 0;  // or the compiler would make two loops, whose stacks differ
      result = interrupted_aligned(once);
    } else if (is("scope_bytes")) {
      heapledger_usage usage{};
      heapledger_scope_usage(entered, 1, &usage);
      result = static_cast<long>(usage.live_bytes);
    } else if (is("transfer") && std::sscanf(line, "%*s %lu", &a) == 1) {
      result = heapledger_scope_transfer(blocks[a].at, 0);
    } else if (is("strict")) {  // from now on read, write and exit are all the system calls there are
      result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    } else if (is("child_that_exits")) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      waitpid(child, nullptr, 0);
    } else if (is("child")) {  // goes on as a child; the parent when that has ended
      if (const pid_t child = fork(); child > 0) {
        int status = 0;
        waitpid(child, &status, 0);
        result = WIFEXITED(status) ? WEXITSTATUS(status) : 256;
      } else {
        std::free(std::malloc(100'000));
        result = child == 0 ? getpid() : -errno;
      }
    } else if (is("impossible")) {
      void* product = std::calloc(1UL << 33, 1UL << 33);
      asm volatile("" : "+r"(product));
      result = product != nullptr;
    } else if (is("quit")) {
      return 0;
    } else {
      result = -9999;
    }
    reply(result);
  }
}
