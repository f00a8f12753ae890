// Threads in every number and at every age: many_threads short N | at_once N | at_exit N | destructors N | late N
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "books.hpp"

SITE void* site_thread(std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  test::fill(p, bytes, 2);
  return p;
}

// Ten thousand that come and go, a few at a time.
static void short_lived(unsigned count) {
  for (unsigned i = 0; i < count; i += 4) {
    std::vector<std::thread> some;
    for (unsigned j = 0; j < 4; ++j) {
      some.emplace_back([i, j] { free(site_thread(100 + (i + j) % 50)); });
    }
    for (auto& thread : some) thread.join();
  }
}

static void at_once(unsigned count) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, count);
  std::vector<std::thread> all;
  for (unsigned i = 0; i < count; ++i) {
    all.emplace_back([&barrier, i] {
      char name[16];
      std::snprintf(name, sizeof name, "worker-%u", i);
      pthread_setname_np(pthread_self(), name);
      void* blocks[50];
      for (auto& block : blocks) block = site_thread(64);
      pthread_barrier_wait(&barrier);
      for (auto& block : blocks) free(block);
      pthread_barrier_wait(&barrier);
    });
  }
  for (auto& thread : all) thread.join();
}

// main returns while they allocate.
static void at_exit(unsigned count) {
  static std::atomic<unsigned> busy;
  for (unsigned i = 0; i < count; ++i) {
    std::thread([] {
      busy++;
      for (;;) free(site_thread(48));
    }).detach();
  }
  while (busy < count) std::this_thread::yield();
}

static std::atomic<unsigned> destroyed;
struct owner {
  std::string text = std::string(100, 'x');
  ~owner() {
    void* p = site_thread(33);  // allocates while the thread goes away
    CHECK(test::holds(p, 33, 2));
    free(p);
    destroyed++;
  }
};
static thread_local owner mine;
static pthread_key_t key;

static void key_destructor(void* value) {
  auto rounds = reinterpret_cast<std::uintptr_t>(value);
  free(site_thread(77));
  destroyed++;
  if (rounds > 1) pthread_setspecific(key, reinterpret_cast<void*>(rounds - 1));  // asks to be called again
}

static void destructors(unsigned count) {
  CHECK(!pthread_key_create(&key, key_destructor));
  for (unsigned i = 0; i < count; ++i) {
    std::thread([] {
      test::escape(mine.text.data());
      pthread_setspecific(key, reinterpret_cast<void*>(std::uintptr_t{4}));
    }).join();
  }
  pthread_t last;
  CHECK(!pthread_create(
      &last, nullptr,
      [](void*) -> void* {
        pthread_setspecific(key, reinterpret_cast<void*>(std::uintptr_t{1}));
        test::escape(mine.text.data());
        pthread_exit(nullptr);
      },
      nullptr));
  pthread_join(last, nullptr);
}

// Nothing of theirs allocates before the destructors of their keys.
static void late(unsigned count) {
  CHECK(!pthread_key_create(&key, key_destructor));
  for (unsigned i = 0; i < count; ++i) {
    pthread_t one;
    const auto only_a_key = [](void*) -> void* {
      pthread_setspecific(key, reinterpret_cast<void*>(std::uintptr_t{1}));
      return nullptr;
    };
    CHECK(!pthread_create(&one, nullptr, only_a_key, nullptr));
    pthread_join(one, nullptr);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  std::string mode = argv[1];
  auto count = static_cast<unsigned>(std::atoi(argv[2]));
  if (mode == "short")
    short_lived(count);
  else if (mode == "at_once")
    at_once(count);
  else if (mode == "at_exit")
    at_exit(count);
  else if (mode == "destructors")
    destructors(count);
  else if (mode == "late")
    late(count);
  else
    CHECK(!"mode");
  test::put(1, "%s %u, %u destroyed\n", argv[1], count, destroyed.load());
}
