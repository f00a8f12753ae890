// A program to which the probe comes while it runs; it keeps books from then on (books.hpp).
//
//   attached threads BOOKS THREADS ROUNDS   threads that allocate all the time, also while the probe comes
//   attached plugins BOOKS FOLDER           libraries opened before, after, and again and again
//   attached loading BOOKS FOLDER           and in another thread while the probe comes and goes
//   attached before BOOKS                   blocks and pointers from before
//   attached fork | exec | detach | detach_busy | sized | scopes | load | local | fixed | signal
//
// Sites whose name begins with site_ allocate after the probe came, and nothing else does but what is said so.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <malloc.h>
#include <atomic>
#include <cerrno>
#include <new>
#include <string>

#include <link.h>

#include "attached_sites.hpp"
#include "attaching.hpp"

namespace {

test::books ledger;

constexpr unsigned thread_capacity = 16;
constexpr std::size_t ring_blocks = 64;

std::atomic<unsigned> phase = 0;
std::atomic<unsigned> warm = 0;
test::books ledgers[thread_capacity];
unsigned thread_count = 4, rounds = 2000;
pthread_barrier_t barrier;
pthread_t workers[thread_capacity];
void* mail[thread_capacity][ring_blocks];

}  // namespace

// Before and while the probe comes: nobody counts.
[[gnu::noinline]] static void* any(unsigned i) {
  switch (i % 4) {
    case 0:
      return malloc(10 + i % 1000);
    case 1:
      return calloc(1, 10 + i % 1000);
    case 2:
      return realloc(malloc(8), 10 + i % 1000);
    default:
      return memalign(64, 10 + i % 1000);
  }
}

static void* work(void* argument) {
  const auto who = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(argument));
  void* ring[ring_blocks] = {};
  for (unsigned i = 0; phase.load(std::memory_order_acquire) == 0; ++i) {
    void*& place = ring[i % ring_blocks];
    if (place != nullptr) {
      CHECK(test::holds(place, 10, i - static_cast<unsigned>(ring_blocks)));
      free(place);
    }
    place = any(i);
    test::fill(place, 10, i);
    if (i % 3 == 0) delete new int(3);
    if (i == 1000) ++warm;
  }
  test::books& mine = ledgers[who];
  for (unsigned i = 0; i < rounds; ++i) {
    round_of_all(mine, i);
    void*& place = ring[i % ring_blocks];
    if (i % 2 == 0 && place != nullptr) {
      place = site_resized(mine, place, 0, 50 + i % 7, false);
      mine.gave("site_resized", place, 50 + i % 7);
    }
    free(place);
    place = nullptr;
  }
  for (void*& each : mail[who]) each = site_mailed(mine, 30 + who);
  pthread_barrier_wait(&barrier);
  const unsigned from = (who + 1) % thread_count;
  for (void* each : mail[from]) {
    mine.gave("site_mailed", each, 30 + from);
    free(each);
  }
  return nullptr;
}

static void attach_beside_workers() {
  pthread_barrier_init(&barrier, nullptr, thread_count);
  for (unsigned who = 0; who < thread_count; ++who)
    CHECK(!pthread_create(&workers[who], nullptr, work, reinterpret_cast<void*>(std::uintptr_t{who})));
  while (warm < thread_count) sched_yield();
  CHECK(test::attach() == 0);
}

static void let_workers_finish() {
  phase = 1;
  for (unsigned who = 0; who < thread_count; ++who) pthread_join(workers[who], nullptr);
}

static int threads(char** arguments) {
  thread_count = static_cast<unsigned>(std::atoi(arguments[1]));
  rounds = static_cast<unsigned>(std::atoi(arguments[2]));
  CHECK(thread_count >= 1 && thread_count <= thread_capacity);
  attach_beside_workers();
  let_workers_finish();
  for (unsigned who = 0; who < thread_count; ++who) ledger.add(ledgers[who]);
  test::write_books(arguments[0], ledger, {.threads = thread_count});
  return 0;
}

static void use_plugin(void* handle) {
  auto* work_there = reinterpret_cast<void* (*)(std::size_t)>(dlsym(handle, "plugin_work"));
  CHECK(work_there);
  for (int i = 0; i < 10; ++i) free(work_there(100));
}

// The plugins' own sites: 64 bytes when one is opened, and what use_plugin asks for.
static int plugins(char** arguments) {
  const std::string folder = arguments[1];
  const std::string a = folder + "/plugin_a.so", lazy = folder + "/plugin_lazy.so";
  const std::string again[] = {folder + "/plugin_b.so", folder + "/plugin_a_copy.so"};
  void* before = dlopen(a.c_str(), RTLD_NOW);
  void* before_lazy = dlopen(lazy.c_str(), RTLD_LAZY);
  CHECK(before && before_lazy && test::attach() == 0);
  use_plugin(before);
  use_plugin(before_lazy);
  for (int i = 0; i < 40; ++i) {
    void* handle = dlopen(again[i % 2].c_str(), i % 4 < 2 ? RTLD_NOW : RTLD_LAZY);
    CHECK(handle);
    use_plugin(handle);
    CHECK(!dlclose(handle));
  }
  dlclose(before);
  return 0;
}

static void* load(void* argument) {
  const std::string folder = static_cast<const char*>(argument);
  const std::string names[] = {folder + "/plugin_a.so", folder + "/plugin_b.so", folder + "/plugin_lazy.so"};
  for (unsigned i = 0; phase == 0 || i < 50; ++i) {
    void* handle = dlopen(names[i % 3].c_str(), (i % 4 < 2 ? RTLD_NOW : RTLD_LAZY) | (i % 7 == 0 ? RTLD_GLOBAL : 0));
    CHECK(handle);
    use_plugin(handle);
    CHECK(!dlclose(handle));
    if (i == 20) ++warm;
  }
  return nullptr;
}

static int loading(char** arguments) {
  pthread_t loader;
  CHECK(!pthread_create(&loader, nullptr, load, arguments[1]));
  while (warm == 0) sched_yield();
  CHECK(test::attach() == 0);
  for (unsigned i = 0; i < 500; ++i) round_of_all(ledger, i);
  test::write_books(arguments[0], ledger, {});
  CHECK(test::detach() == 0);
  phase = 1;
  pthread_join(loader, nullptr);
  return 0;
}

static int before(char** arguments) {
  void* (*volatile stored)(std::size_t) = malloc;
  constexpr unsigned count = 200'000;
  static void* old[count];
  for (unsigned i = 0; i < count; ++i) old[i] = any(i);
  void* grown = malloc(100);
  test::fill(grown, 100, 1);
  auto* text = new std::string(100, 'x');
  CHECK(test::attach() == 0);
  CHECK(malloc_usable_size(grown) >= 100);
  grown = site_resized(ledger, grown, 0, 200'000, false);
  CHECK(test::holds(grown, 100, 1));
  ledger.gave("site_resized", grown, 200'000);
  free(grown);
  *text += std::string(1000, 'y');  // 200 bytes at first: freed here and there
  delete text;
  for (void* each : old) free(each);
  void* unseen = stored(100);
  CHECK(malloc_usable_size(unseen) >= 100);
  free(unseen);
  for (unsigned i = 0; i < 100; ++i) round_of_all(ledger, i);
  test::write_books(arguments[0], ledger, {});
  return 0;
}

// An allocator may believe the size that it is told: but ours is the size that this block was asked for.
static int sized() {
  constexpr std::size_t bytes = 64;
  constexpr unsigned count = 100'000;
  static void* made[count];
  CHECK(test::attach() == 0);
  for (void*& each : made) each = ::operator new(bytes);
  CHECK(test::detach() == 0);
  for (void* each : made) ::operator delete(each, bytes);
  for (unsigned i = 0; i < count; ++i) test::fill(made[i] = ::operator new(bytes + i % 32), bytes, i);
  for (unsigned i = 0; i < count; ++i) {
    CHECK(test::holds(made[i], bytes, i));
    ::operator delete(made[i], bytes + i % 32);
  }
  return 0;
}

static int forks() {
  void* kept = malloc(1234);
  CHECK(test::attach() == 0);
  void* shared = site_plain(ledger, 1000);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = i == 2 ? _Fork() : fork();
    CHECK(child >= 0);
    if (child == 0) {
      free(shared);
      free(kept);
      for (int j = 0; j < 10; ++j) test::escape(site_plain(ledger, 10));
      exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  free(shared);
  return 0;
}

static int executes() {
  CHECK(test::attach() == 0);
  CHECK(!setenv("LATE", "1", 1));
  CHECK(std::system("env") == 0);
  FILE* out = popen("env", "r");
  char line[4096];
  while (fgets(line, sizeof line, out) != nullptr) (void)!write(1, line, strlen(line));
  CHECK(pclose(out) == 0);
  CHECK(!unsetenv("LATE"));
  char name[] = "env";
  char* command[] = {name, nullptr};
  pid_t child = 0;
  CHECK(posix_spawnp(&child, "env", nullptr, nullptr, command, environ) == 0);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  execvp("env", command);
  return 1;
}

// Refused: to a program that has the probe in no scope, or whose words cannot be written. Then it goes on as before.
static int refused(bool fixed) {
  static const long page = 4096;
  alignas(4096) static struct {
    void* (*word)(std::size_t);
    char rest[4096 - sizeof(void*)];
  } only = {malloc, {}};
  test::escape(&only);
  int result = 0;
  if (fixed) {
    CHECK(!mprotect(&only, page, PROT_READ));
    result = test::attach();
    CHECK(!mprotect(&only, page, PROT_READ | PROT_WRITE));
  } else {
    void* probe = dlopen(getenv("HEAPLEDGER_TEST_PROBE"), RTLD_NOW | RTLD_LOCAL);
    CHECK(probe);
    result =
        reinterpret_cast<int (*)(const char*)>(dlsym(probe, "heapledger_attach"))(getenv("HEAPLEDGER_TEST_SETTINGS"));
  }
  free(only.word(10));
  for (unsigned i = 0; i < 100; ++i) round_of_all(ledger, i);
  test::put(1, "%d\n", result);
  if (fixed) test::put(1, "%d\n", test::attach());
  return 0;
}

static std::atomic<unsigned> signals = 0, other_signals = 0;

// Not by an interval: on a busy machine a handler can take longer, and nothing else would run.
static void ask_for_signal() {
  const itimerval soon{{0, 0}, {0, 100}};
  setitimer(ITIMER_REAL, &soon, nullptr);
}

static void on_signal(int) {
  free(malloc(30));
  ++signals;
  ask_for_signal();
}

static void on_other_signal(int) {
  ++other_signals;
}

// Signals whose handler allocates, at any moment; and one that asks for a snapshot while the probe is there. Needs an
// allocator that may be interrupted, and has room for this: ring_allocator.
static int signalled() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_other_signal;
  sigaction(SIGUSR2, &action, nullptr);
  ask_for_signal();
  while (signals < 20) free(malloc(10));
  CHECK(test::attach() == 0);
  for (unsigned i = 0; signals < 400; ++i) {
    if (i < 1000) {  // what they leave must not be overwritten
      round_of_all(ledger, i);
    } else {
      free(malloc(10));
    }
  }
  raise(SIGUSR2);
  CHECK(other_signals == 0);
  CHECK(test::detach() == 0);
  raise(SIGUSR2);
  CHECK(other_signals == 1);
  for (const unsigned seen = signals; signals < seen + 20;) free(malloc(10));
  return 0;
}

// Called for the first time while the probe is there.
[[gnu::noinline]] static void* bind_meanwhile() {
  void* result = reallocarray(nullptr, 4, 6);
  CHECK(result);
  return result;
}

// What programs find when they ask for our functions once the probe is there.
static int scoped() {
  CHECK(test::attach() == 0);
  const auto find = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
  using handle = std::uint64_t;
  auto* create =
      reinterpret_cast<handle (*)(const char*, std::size_t, handle, const void*)>(find("heapledger_scope_create"));
  auto* enter = reinterpret_cast<handle (*)(handle)>(find("heapledger_scope_enter"));
  auto* leave = reinterpret_cast<handle (*)(handle)>(find("heapledger_scope_leave"));
  CHECK(create && enter && leave && reinterpret_cast<int (*)()>(find("heapledger_active"))() == 1);
  const handle before = enter(create("late", 4, 0, nullptr));
  for (int i = 0; i < 10; ++i) test::escape(site_plain(ledger, 100));
  leave(before);
  test::escape(site_plain(ledger, 100));
  CHECK(test::detach() == 0);
  CHECK(reinterpret_cast<int (*)()>(find("heapledger_active"))() == 0);
  CHECK(create("later", 5, 0, nullptr) == 0);
  return 0;
}

static int detached(char** arguments) {
  CHECK(test::detach() == 5);
  const auto usable = [] {
    void* p = malloc(24);
    const std::size_t bytes = malloc_usable_size(p);
    free(p);
    return bytes;
  };
  auto* const volatile& in_data = const_cast<void* (*const volatile&)(std::size_t)>(pointer_in_data);
  auto* const in_data_before = in_data;
  auto* const before = dlsym(RTLD_DEFAULT, "malloc");
  const std::size_t usable_before = usable();
  CHECK(test::attach() == 0);
  CHECK(test::attach() == 1);
  void* from_then = site_plain(ledger, 1000);
  auto* large = static_cast<char*>(site_plain(ledger, 300'000));
  void* made = site_new(ledger, 77);
  auto* text = static_cast<std::string*>(site_string(ledger, 99));
  for (unsigned i = 0; i < 1000; ++i) round_of_all(ledger, i);
  free(bind_meanwhile());
  auto* bound_meanwhile = reinterpret_cast<void* (*)(std::size_t)>(dlsym(RTLD_DEFAULT, "malloc"));
  test::write_books(arguments[0], ledger, {});
  CHECK(test::detach() == 0);
  CHECK(test::detach() == 5);
  CHECK(test::attach() == 1);
  // Bound as before: what was bound then, by static data, by each name; and what was bound meanwhile.
  dl_find_object holder;
  CHECK(_dl_find_object(before, &holder) == 0);
  const bool by_program = *holder.dlfo_link_map->l_name == 0;  // its address leads on
  CHECK(by_program || reinterpret_cast<void*>(bound_meanwhile) != before);
  const bool is_libc = std::strstr(holder.dlfo_link_map->l_name, "/libc.so.6") != nullptr;
  CHECK(!is_libc || dlsym(RTLD_DEFAULT, "malloc") == before);  // other allocators may need us for what we made
  CHECK(in_data == in_data_before && usable() == usable_before);
  void* first_since = valloc(24);
  void* bound_since = bind_meanwhile();
  CHECK(malloc_usable_size(bound_since) == usable_before);
  free(bound_since);
  free(first_since);
  CHECK(malloc_usable_size(from_then) >= 1000);
  free(from_then);
  large = static_cast<char*>(realloc(large, 600'000));
  free(large);
  ::operator delete(made);
  delete text;
  void* through_us = bound_meanwhile(50);
  CHECK(malloc_usable_size(through_us) >= 50);
  free(realloc(through_us, 500));
  for (unsigned i = 0; i < 1000; ++i) round_of_all(ledger, i);
  CHECK(std::system("true") == 0);
  return 0;
}

// The probe goes while threads allocate.
static int detached_busy() {
  thread_count = 3, rounds = 1;
  attach_beside_workers();
  for (unsigned i = 0; i < 500; ++i) round_of_all(ledger, i);
  CHECK(test::detach() == 0);
  for (unsigned i = 0; i < 500; ++i) round_of_all(ledger, i);
  let_workers_finish();
  return 0;
}

int main(int count, char** arguments) {
  CHECK(count >= 2);
  const auto is = [&](const char* mode) { return std::strcmp(arguments[1], mode) == 0; };
  if (is("threads") && count == 5) return threads(arguments + 2);
  if (is("plugins") && count == 4) return plugins(arguments + 2);
  if (is("loading") && count == 4) return loading(arguments + 2);
  if (is("before") && count == 3) return before(arguments + 2);
  if (is("detach") && count == 3) return detached(arguments + 2);
  if (is("detach_busy")) return detached_busy();
  if (is("sized")) return sized();
  if (is("scopes")) return scoped();
  if (is("fork")) return forks();
  if (is("exec")) return executes();
  if (is("signal")) return signalled();
  if (is("load")) {
    CHECK(test::probe_function("heapledger_attach") != nullptr);
    CHECK(reinterpret_cast<int (*)()>(test::probe_function("heapledger_active"))() == 0);
    for (unsigned i = 0; i < 100; ++i) round_of_all(ledger, i);
    return 0;
  }
  if (is("local")) return refused(false);
  if (is("fixed")) return refused(true);
  return 2;
}
