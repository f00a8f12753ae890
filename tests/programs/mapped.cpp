// Memory that the program maps itself. Each mode prints, for the functions map_a and map_b and map_c, how many bytes of
// theirs are mapped at the end, as the program knows it.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

constexpr std::size_t page = 4096;
constexpr int usual = MAP_PRIVATE | MAP_ANONYMOUS;

[[gnu::noinline]] char* map_a(void* at, std::size_t bytes, int flags = 0) {
  void* const result = mmap(at, bytes, PROT_READ | PROT_WRITE, usual | flags, -1, 0);
  asm volatile("" ::: "memory");
  return static_cast<char*>(result);
}
[[gnu::noinline]] char* map_b(void* at, std::size_t bytes, int flags = 0) {
  void* const result = mmap64(at, bytes, PROT_READ, usual | flags, -1, 0);
  asm volatile("" ::: "memory");
  return static_cast<char*>(result);
}
[[gnu::noinline]] char* map_c(void* old, std::size_t old_bytes, std::size_t bytes, int flags, void* at = nullptr) {
  void* const result = mremap(old, old_bytes, bytes, flags, at);
  asm volatile("" ::: "memory");
  return static_cast<char*>(result);
}

namespace {

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "mapped: %s (errno %d)\n", what, errno);
  std::exit(3);
}
void tell(std::size_t a, std::size_t b, std::size_t c) {
  std::printf("map_a %zu\nmap_b %zu\nmap_c %zu\n", a, b, c);
  std::fflush(stdout);
}

// Pieces of an area are mapped over each other, unmapped and moved, at random; a model knows whose each page is.
void pieces(unsigned seed) {
  constexpr std::size_t pages = 96;
  std::mt19937 random(seed);
  char* const area = map_a(nullptr, pages * page);
  expect(area != MAP_FAILED, "no area");
  char owner[pages];
  std::memset(owner, 'a', sizeof owner);
  for (int step = 0; step < 5000; ++step) {
    const std::size_t from = random() % pages, count = 1 + random() % (random() % 4 != 0 ? 5 : pages - from);
    const std::size_t to = std::min(from + count, pages);
    const std::size_t bytes = (to - from) * page - (random() % 2 != 0 ? random() % page : 0);
    char* const at = area + from * page;
    const unsigned what = random() % 4;
    if (what == 0) {
      expect(map_a(at, bytes, MAP_FIXED) == at, "mmap");
      std::memset(owner + from, 'a', to - from);
    } else if (what == 1) {
      expect(map_b(at, bytes, MAP_FIXED) == at, "mmap64");
      std::memset(owner + from, 'b', to - from);
    } else if (what == 2) {
      expect(munmap(at, bytes) == 0, "munmap");
      std::memset(owner + from, '-', to - from);
    } else if (owner[from] != '-') {
      // One page, to anywhere: its source is gone, its target is map_c's.
      const std::size_t target = random() % pages;
      if (target == from) continue;
      expect(map_c(at, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, area + target * page) == area + target * page,
             "mremap");
      owner[from] = '-';
      owner[target] = 'c';
    }
  }
  std::size_t of[3] = {};
  for (const char who : owner)
    if (who != '-') of[who - 'a'] += page;
  tell(of[0], of[1], of[2]);
}

void threads() {
  constexpr int count = 4;
  std::size_t a[count] = {}, b[count] = {}, c[count] = {};
  std::vector<std::thread> running;
  for (int which = 0; which < count; ++which)
    running.emplace_back([&, which] {
      struct piece {
        char* at;
        std::size_t bytes;
        std::size_t* whose;
      };
      std::vector<piece> mine;
      std::mt19937 random(static_cast<unsigned>(which));
      for (int step = 0; step < 4000; ++step) {
        const std::size_t bytes = page * (1 + random() % 8);
        const unsigned what = random() % 8;
        if (what < 2) {
          mine.push_back({map_a(nullptr, bytes), bytes, &a[which]});
        } else if (what < 4) {
          mine.push_back({map_b(nullptr, bytes), bytes, &b[which]});
        } else if (!mine.empty()) {
          piece& one = mine[random() % mine.size()];
          *one.whose -= one.bytes;
          if (what < 6) {
            one.at = map_c(one.at, one.bytes, bytes, MREMAP_MAYMOVE);
            one.bytes = bytes;
            one.whose = &c[which];
          } else {
            expect(munmap(one.at, one.bytes) == 0, "munmap");
            one = mine.back();
            mine.pop_back();
            continue;
          }
          expect(one.at != MAP_FAILED, "mremap");
          *one.whose += one.bytes;
          continue;
        } else {
          continue;
        }
        expect(mine.back().at != MAP_FAILED, "mmap");
        *mine.back().whose += bytes;
      }
    });
  for (auto& one : running) one.join();
  for (int which = 1; which < count; ++which) {
    a[0] += a[which];
    b[0] += b[which];
    c[0] += c[which];
  }
  tell(a[0], b[0], c[0]);
}

// What fails leaves everything as it was, and says why as ever.
void failures() {
  char* const area = map_a(nullptr, 8 * page);
  char* const other = map_b(nullptr, 4 * page);
  errno = 0;
  expect(map_a(nullptr, 0) == MAP_FAILED && errno == EINVAL, "mmap of nothing");
  expect(mmap(nullptr, page, PROT_READ, MAP_PRIVATE, 12345, 0) == MAP_FAILED && errno == EBADF, "mmap of no file");
  expect(munmap(area + 1, page) == -1 && errno == EINVAL, "munmap in the middle of a page");
  expect(munmap(area, 0) == -1 && errno == EINVAL, "munmap of nothing");
  expect(map_c(area, 8 * page, std::size_t{1} << 46, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM, "mremap, huge");
  expect(map_c(area + 1, page, 2 * page, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL, "mremap, odd");
  expect(map_c(other, 4 * page, 2 * page, 64, nullptr) == MAP_FAILED && errno == EINVAL, "mremap, flags");
  errno = 77;
  char* const last = map_a(nullptr, page);
  expect(last != MAP_FAILED && errno == 77, "errno");
  expect(munmap(last, page) == 0 && errno == 77, "errno");
  tell(8 * page, 4 * page, 0);
}

// A child's books begin empty; what it inherits is not in them, nor in its parent's any less.
void forks() {
  char* const area = map_a(nullptr, 16 * page);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    munmap(area, 4 * page);
    map_b(nullptr, page);  // nobody's: books begin with a block
    std::free(std::malloc(100));
    char* const own = map_b(nullptr, 3 * page);
    munmap(own, page);
    munmap(area + 8 * page, page);
    std::_Exit(own == MAP_FAILED);
  }
  int status = 0;
  expect(waitpid(child, &status, 0) == child && status == 0, "child");
  if (const pid_t quick = vfork(); quick == 0) {
    munmap(area, page);  // its parent's memory
    _exit(0);
  } else {
    waitpid(quick, &status, 0);
  }
  expect(munmap(area + page, 14 * page) == 0, "munmap");
  tell(page, 0, 0);
}

// No more mappings than the kernel allows: neither another one, nor a hole in one.
void full() {
  std::size_t most = 0;
  if (FILE* const file = std::fopen("/proc/sys/vm/max_map_count", "r")) {
    expect(std::fscanf(file, "%zu", &most) == 1, "max_map_count");
    std::fclose(file);
  }
  if (most > 100'000) std::exit(77);
  char* const whole = map_a(nullptr, 8 * page);
  std::size_t b = 0;
  // Neighbours that may be read and such that may be written do not become one mapping.
  for (std::size_t i = 0; i < most; ++i) {
    char* const one = i % 2 != 0 ? map_a(nullptr, page) : map_b(nullptr, page);
    if (one == MAP_FAILED) break;
    b += page;
  }
  expect(errno == ENOMEM && b > most / 2 * page, "as many as there may be");
  const std::size_t of_a = b / page / 2 * page;
  expect(munmap(whole + 2 * page, page) == -1 && errno == ENOMEM, "a hole");
  expect(map_c(whole, 2 * page, 4 * page, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM, "a part moved");
  tell(of_a + 8 * page, b - of_a, 0);
}

// The same place maps and unmaps for ever, in pieces.
void steady() {
  char* const area = map_a(nullptr, 8 * page);
  for (int i = 0; i < 150'000; ++i) {
    expect(map_a(area + 2 * page, 2 * page, MAP_FIXED) != MAP_FAILED, "mmap");
    expect(munmap(area + 3 * page, page) == 0, "munmap");
  }
  tell(7 * page, 0, 0);
}

// One place in code that maps all kinds; and shared memory is mapped a second time.
void kinds() {
  const int file = memfd_create("mapped", 0);
  expect(ftruncate(file, 3 * page) == 0, "ftruncate");
  const int flags[] = {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE, MAP_SHARED};
  void* at[4];
  for (int which = 0; which < 4; ++which) {
    at[which] =
        mmap(nullptr, (1 + static_cast<std::size_t>(which)) * page, PROT_READ, flags[which], which < 2 ? -1 : file, 0);
    expect(at[which] != MAP_FAILED, "mmap");
  }
  expect(map_c(at[1], 0, page, MREMAP_MAYMOVE) != MAP_FAILED, "mremap that keeps the old");
}

// Does what it is told: a letter and a number of bytes each line.
void talk() {
  std::vector<std::pair<char*, std::size_t>> kept = {{map_a(nullptr, 1 << 20), 1 << 20}};
  std::printf("on\n");
  std::fflush(stdout);
  char what;
  std::size_t bytes;
  while (std::scanf(" %c %zu", &what, &bytes) == 2) {
    const auto first = kept.front();
    if (what == 'c' || what == 'u') kept.erase(kept.begin());
    if (what == 'a') kept.emplace_back(map_a(nullptr, bytes), bytes);
    if (what == 'b') kept.emplace_back(map_b(nullptr, bytes), bytes);
    if (what == 'c') kept.emplace_back(map_c(first.first, first.second, bytes, MREMAP_MAYMOVE), bytes);
    if (what == 'u') expect(munmap(first.first, first.second) == 0, "munmap");
    for (const auto& [at, size] : kept) expect(at != MAP_FAILED, "mapped");
    std::printf("%zu\n", kept.size());
    std::fflush(stdout);
  }
}

volatile sig_atomic_t handled = 0;
timer_t timer;

// Not by an interval: where a handler takes longer than that, nothing else would run.
void ask_for_signal() {
  const itimerspec soon{{0, 0}, {0, 50'000}};
  timer_settime(timer, 0, &soon, nullptr);
}

void on_signal(int) {
  char* const one = map_b(nullptr, page);
  if (one != MAP_FAILED && munmap(one, page) == 0) handled = handled + 1;
  ask_for_signal();
}

void handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGALRM, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  expect(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer");
  ask_for_signal();
  std::size_t kept = 0;
  while (handled < 500) {
    char* const one = map_a(nullptr, 2 * page);
    expect(one != MAP_FAILED, "mmap");
    if (kept < 64 * page) {
      kept += 2 * page;
    } else {
      expect(munmap(one, 2 * page) == 0, "munmap");
    }
  }
  timer_delete(timer);
  tell(kept, 0, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  if (std::strcmp(mode, "pieces") == 0) pieces(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1);
  if (std::strcmp(mode, "threads") == 0) threads();
  if (std::strcmp(mode, "failures") == 0) failures();
  if (std::strcmp(mode, "forks") == 0) {
    argv[1] = nullptr;  // as programs do that show a title of their own
    forks();
  }
  if (std::strcmp(mode, "handlers") == 0) handlers();
  if (std::strcmp(mode, "full") == 0) full();
  if (std::strcmp(mode, "steady") == 0) steady();
  if (std::strcmp(mode, "kinds") == 0) kinds();
  if (std::strcmp(mode, "talk") == 0) talk();
  if (std::strcmp(mode, "killed") == 0) {
    pieces(2);
    raise(SIGKILL);
  }
  if (std::strcmp(mode, "resident") == 0) {
    char* const big = map_a(nullptr, 64 << 20);
    char* const small = map_b(nullptr, 8 << 20);
    char* const grown = map_c(map_a(nullptr, 1 << 20), 1 << 20, 32 << 20, MREMAP_MAYMOVE);
    expect(big != MAP_FAILED && small != MAP_FAILED && grown != MAP_FAILED, "mmap");
    std::memset(big, 1, 20 << 20);
    std::memset(grown, 1, 4 << 20);
    tell(64 << 20, 8 << 20, 32 << 20);
    std::getchar();  // until somebody has looked
  }
  return 0;
}
