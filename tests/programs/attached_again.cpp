// The probe comes to a program, leaves it, and comes again, several times, while threads rest. usage: attached_again
// BOOKS TIMES. Writes BOOKS.0, BOOKS.1, ...: what was done while it was there. Prints for each time how many blocks of
// the times before were freed, and their bytes.
#include <pthread.h>

#include <string>
#include <vector>

#include <malloc.h>
#include "attaching.hpp"
#include "books.hpp"

namespace {

constexpr unsigned worker_count = 3, most_times = 10, kept_blocks = 50;

struct kept {
  void* at;
  std::size_t bytes;
};

test::books ledgers[most_times][worker_count];
std::vector<kept> of_attached[worker_count], of_detached[worker_count];
std::vector<void*> of_104[worker_count];  // 112 bytes with what the probe adds, which is a size class of jemalloc
std::size_t inherited[worker_count], inherited_bytes[worker_count];
pthread_barrier_t barrier;
unsigned times;

}  // namespace

SITE void* site_kept(test::books& mine, std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  mine.took("site_kept", p, bytes);
  return p;
}
SITE void* site_passing(test::books& mine, std::size_t bytes) {
  void* p = ::operator new(bytes);
  mine.took("site_passing", p, bytes);
  return p;
}

static std::size_t bytes_of(unsigned i) {
  return 20 + i * 7 % 900 + (i % 20 == 0 ? 70'000 : 0);
}

// What was kept before: its content is whole, and it goes.
static void drop(unsigned who, std::vector<kept>& blocks, bool ours) {
  for (const kept& each : blocks) {
    CHECK(test::holds(each.at, each.bytes, who) && malloc_usable_size(each.at) >= each.bytes);
    free(each.at);
    inherited[who] += ours;
    inherited_bytes[who] += ours ? each.bytes : 0;
  }
  blocks.clear();
}

static void work_attached(unsigned who, test::books& mine) {
  inherited[who] = inherited_bytes[who] = 0;
  drop(who, of_attached[who], true);
  drop(who, of_detached[who], false);
  for (unsigned i = 0; i < 20 * kept_blocks; ++i) {
    const std::size_t bytes = bytes_of(i);
    void* p = site_passing(mine, bytes);
    mine.gave("site_passing", p, bytes);
    ::operator delete(p);
    if (i % 20 != who) continue;
    p = site_kept(mine, bytes);
    test::fill(p, bytes, who);
    of_attached[who].push_back({p, bytes});
    of_104[who].push_back(site_kept(mine, 104));
  }
}

// A block that nobody saw may lie where one of the probe's did, with what it had added still there.
static void take_their_places(unsigned who) {
  for (void* each : of_104[who]) free(each);
  for (void*& each : of_104[who]) {
    each = malloc(112);
    CHECK(malloc_usable_size(each) >= 112);
  }
  for (void* each : of_104[who]) free(each);
  of_104[who].clear();
}

static void work_alone(unsigned who) {
  take_their_places(who);
  for (unsigned i = 0; i < kept_blocks; ++i) {
    void* p = malloc(bytes_of(i));
    test::fill(p, bytes_of(i), who);
    of_detached[who].push_back({p, bytes_of(i)});
    delete new int(3);
  }
  // Some of those that were kept go while nobody looks, and one is resized.
  free(of_attached[who].back().at);
  of_attached[who].pop_back();
  kept& last = of_attached[who].back();
  last.at = realloc(last.at, last.bytes + 100'000);
  free(last.at);
  of_attached[who].pop_back();
}

static void* work(void* argument) {
  const auto who = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(argument));
  for (unsigned i = 0; i < times; ++i) {
    pthread_barrier_wait(&barrier);
    work_attached(who, ledgers[i][who]);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    work_alone(who);
    pthread_barrier_wait(&barrier);
  }
  return nullptr;
}

int main(int count, char** arguments) {
  CHECK(count == 3);
  times = static_cast<unsigned>(std::atoi(arguments[2]));
  CHECK(times <= most_times);
  for (unsigned who = 0; who < worker_count; ++who) {
    of_attached[who].reserve(2 * kept_blocks);
    of_detached[who].reserve(2 * kept_blocks);
    of_104[who].reserve(2 * kept_blocks);
  }
  pthread_barrier_init(&barrier, nullptr, worker_count + 1);
  pthread_t all[worker_count];
  for (unsigned who = 0; who < worker_count; ++who)
    CHECK(!pthread_create(&all[who], nullptr, work, reinterpret_cast<void*>(std::uintptr_t{who})));
  auto* const attach = reinterpret_cast<int (*)(const char*)>(test::probe_function("heapledger_attach"));
  const std::string settings = getenv("HEAPLEDGER_TEST_SETTINGS");
  for (unsigned i = 0; i < times; ++i) {
    if (i != 0) CHECK(attach(settings.c_str()) == 1);
    const int result = attach((settings + (i != 0 ? "HEAPLEDGER_QUIET=1\n" : "")).c_str());
    if (result != 0) std::printf("refused %d\n", result);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    if (result == 0) {
      CHECK(test::detach() == 0);
      test::books together{};
      for (auto& each : ledgers[i]) together.add(each);
      test::write_books((std::string(arguments[1]) + "." + std::to_string(i)).c_str(), together,
                        {.threads = worker_count});
      std::size_t blocks = 0, bytes = 0;
      for (unsigned who = 0; who < worker_count; ++who) blocks += inherited[who], bytes += inherited_bytes[who];
      std::printf("%zu %zu\n", blocks, bytes);
    }
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
  }
  for (const pthread_t each : all) pthread_join(each, nullptr);
  return 0;
}
