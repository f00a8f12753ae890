// Budgets that many threads share; each case checks itself, against books of its own. Arguments: CASE [NUMBER
// [NUMBER]].
#include <pthread.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::on_exceed;
using heapledger::scope;
using test::failing;
using test::take;

namespace {

// Whatever threads do, what they hold together is within the limit, by books that we did not keep.
void overshoot(unsigned thread_count, unsigned rounds) {
  constexpr std::int64_t limit = 20'000;
  const scope s("limited", failing(limit)), below("below", {}, s);
  std::atomic<std::int64_t> held{0}, highest{0};
  std::atomic<std::uint64_t> refused{0};
  pthread_barrier_t ready;
  pthread_barrier_init(&ready, nullptr, thread_count);
  const auto work = [&](unsigned who) {
    pthread_barrier_wait(&ready);
    std::uint32_t random = who * 2654435761u + 1;
    std::array<std::pair<void*, std::int64_t>, 32> mine{};
    for (unsigned i = 0; i < rounds; ++i) {
      random = random * 1664525u + 1013904223u;
      auto& [block, bytes] = mine[(random >> 8) % mine.size()];
      if (block != nullptr) {
        held -= bytes;
        free(block);
        block = nullptr;
        continue;
      }
      bytes = (random >> 16) % 4000;
      const enter in(i % 2 == 0 ? s : below);
      block = take(static_cast<std::size_t>(bytes));
      if (block == nullptr) {
        ++refused;
        continue;
      }
      const std::int64_t now = held += bytes;
      CHECK(now <= limit);
      for (std::int64_t known = highest; now > known && !highest.compare_exchange_weak(known, now);) {
      }
      const std::int64_t used = i % 64 == 0 ? s.used().live_bytes : 0;
      CHECK(used <= limit);
    }
    for (auto& [block, bytes] : mine)
      if (block != nullptr) {
        held -= bytes;
        free(block);
      }
  };
  std::vector<std::thread> all;
  for (unsigned i = 0; i < thread_count; ++i) all.emplace_back(work, i);
  for (auto& each : all) each.join();
  CHECK(s.used().live_bytes == 0);
  CHECK(s.used().peak_bytes <= limit);
  CHECK(highest > limit / 2 && refused > 0);  // the limit was really met
}

// What is left can be had to the last byte, and no more.
void take_all(const scope& s, std::int64_t left) {
  const enter in(s);
  void* most = take(static_cast<std::size_t>(left - 1));
  CHECK(most);
  void* last = take(1);
  CHECK(last && !take(1));
  free(most);
  free(last);
}

// What idle threads hold in advance is not lost to the others: the last byte can be had.
void last_byte(unsigned, unsigned) {
  constexpr std::int64_t limit = 100'000;
  const scope s("limited", failing(limit));
  pthread_barrier_t held;
  pthread_barrier_init(&held, nullptr, 5);
  std::vector<std::thread> idle;
  for (int i = 0; i < 4; ++i)
    idle.emplace_back([&] {
      const enter in(s);
      free(take(100));
      pthread_barrier_wait(&held);
      pthread_barrier_wait(&held);
    });
  pthread_barrier_wait(&held);
  take_all(s, limit);
  pthread_barrier_wait(&held);
  for (auto& each : idle) each.join();
}

// Thousands of threads, hundreds at a time, each with a part of a lease that it does not use: the limit is never
// passed, the last byte can be had, and what is said to be used is what is.
void many_leases(unsigned thread_count, unsigned at_once) {
  constexpr std::int64_t limit = 10'000'000;
  const scope s("limited", failing(limit));
  for (unsigned begun = 0; begun < thread_count; begun += at_once) {
    pthread_barrier_t held;
    pthread_barrier_init(&held, nullptr, at_once + 1);
    std::vector<std::thread> threads;
    std::vector<void*> blocks(at_once);
    for (void*& block : blocks)
      threads.emplace_back([&] {
        const enter in(s);
        free(take(1000));
        block = take(10);
        pthread_barrier_wait(&held);
        pthread_barrier_wait(&held);
      });
    pthread_barrier_wait(&held);
    const std::int64_t used = 10 * std::int64_t{at_once};
    CHECK(s.used().live_bytes == used);
    take_all(s, limit - used);
    pthread_barrier_wait(&held);
    for (auto& each : threads) each.join();
    for (void* block : blocks) free(block);
    pthread_barrier_destroy(&held);
  }
  CHECK(s.used().live_bytes == 0 && s.used().peak_bytes <= limit);
}

// Small blocks, most of them within a lease that was taken before: together the threads get all of the limit and not a
// byte more, and what one frees another can have. Some hold blocks that they did not allocate.
void to_the_last(unsigned thread_count, unsigned rounds) {
  constexpr std::int64_t limit = 300'007, bytes = 24;
  const scope above("above", failing(limit)), s("limited", failing(limit + 1000), above);
  std::vector<std::vector<void*>> held(thread_count);
  for (auto& each : held) each.reserve(limit / bytes + 1);
  pthread_barrier_t turn;
  pthread_barrier_init(&turn, nullptr, thread_count);
  const auto work = [&](unsigned who) {
    for (unsigned round = 0; round < rounds; ++round) {
      pthread_barrier_wait(&turn);
      {
        const enter in(s);
        for (void* block; (block = take(bytes)) != nullptr;) held[who].push_back(block);
      }
      pthread_barrier_wait(&turn);
      if (who == 0) {
        std::int64_t all = 0;
        for (const auto& each : held) all += static_cast<std::int64_t>(each.size()) * bytes;
        CHECK(all > limit - bytes && all <= limit);
        CHECK(s.used().live_bytes == all && above.used().live_bytes == all);
        held[0].swap(held.back());
      }
      pthread_barrier_wait(&turn);
      for (void* block : held[who]) free(block);
      held[who].clear();
    }
  };
  std::vector<std::thread> all;
  for (unsigned i = 0; i < thread_count; ++i) all.emplace_back(work, i);
  for (auto& each : all) each.join();
  CHECK(s.used().live_bytes == 0 && above.used().peak_bytes <= limit);
}

// One thread wants nearly all again and again, while others live on what they leased, and free what is not the scope's.
void taken_back(unsigned eater_count, unsigned rounds) {
  constexpr std::int64_t limit = 400'000, bytes = 24;
  const scope s("limited", failing(limit)), other("other");
  std::atomic<std::int64_t> held{0};
  std::atomic<unsigned> eating{eater_count}, had{0}, eaten{0};
  const auto hold = [&](std::int64_t more) { CHECK((held += more) <= limit); };
  const auto eat = [&] {
    std::array<void*, 600> mine;
    std::array<void*, 100> of_other;
    for (unsigned round = 0; round < rounds; ++round) {
      for (void*& each : of_other) each = heapledger::run_in(other, [] { return take(200); });
      std::size_t count = 0;
      const enter in(s);
      for (void*& each : mine) {
        if ((each = take(bytes)) == nullptr) break;
        hold(bytes);
        if (++count % 6 == 0) free(of_other[count / 6 - 1]);
      }
      for (std::size_t i = count / 6; i < of_other.size(); ++i) free(of_other[i]);
      for (std::size_t i = 0; i < count; ++i) {
        held -= bytes;
        free(mine[i]);
      }
      ++eaten;
    }
    --eating;
  };
  std::vector<std::thread> eaters;
  for (unsigned i = 0; i < eater_count; ++i) eaters.emplace_back(eat);
  for (std::int64_t i = 0; eating != 0; ++i) {
    // Each try takes back what the others hold: a few for each of their rounds, or they hardly come on.
    while (eating != 0 && i > 4 * std::int64_t{eaten}) std::this_thread::yield();
    const enter in(s);
    const std::int64_t most = limit - i * 97 % 30'000;
    void* block = take(static_cast<std::size_t>(most));
    if (block == nullptr) continue;
    ++had;
    hold(most);
    held -= most;
    free(block);
  }
  for (auto& each : eaters) each.join();
  CHECK(held == 0 && s.used().live_bytes == 0 && s.used().peak_bytes <= limit && had != 0);
}

// A thread rests with a lease of which it used a part; another takes the rest, to the last byte; then the first one has
// none, whatever it freed meanwhile of what is not the scope's.
void lease_gone(unsigned, unsigned) {
  constexpr std::int64_t limit = 400'000, bytes = 24, used = 50 * bytes;
  const scope s("limited", failing(limit)), other("other");
  pthread_barrier_t turn;
  pthread_barrier_init(&turn, nullptr, 2);
  std::thread resting([&] {
    std::array<void*, 60> blocks, of_other;
    for (void*& each : of_other) each = heapledger::run_in(other, [] { return take(30'000); });
    const enter in(s);
    for (void*& each : blocks) each = take(bytes);
    for (std::size_t i = 50; i < blocks.size(); ++i) free(blocks[i]);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    CHECK(!take(bytes));
    for (void* each : of_other) free(each);
    CHECK(!take(bytes));
    free(blocks[0]);
    blocks[0] = take(bytes);
    CHECK(blocks[0] && !take(1));
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    for (std::size_t i = 50; i < blocks.size(); ++i) blocks[i] = take(bytes);
    for (void* each : blocks) CHECK(each != nullptr), free(each);
  });
  pthread_barrier_wait(&turn);
  {
    const enter in(s);
    void* most = take(limit - used - 1);
    void* last = take(1);
    CHECK(most && last && !take(1));
    CHECK(s.used().live_bytes == limit && s.used().peak_bytes == limit);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    free(most);
    free(last);
  }
  pthread_barrier_wait(&turn);
  resting.join();
  CHECK(s.used().live_bytes == 0 && s.used().peak_bytes == limit);
}

// The same for what is ever allocated, and how often.
void counted_to_the_last(unsigned thread_count, unsigned number) {
  const scope often("often", {.allocations = number, .action = on_exceed::fail});
  const scope much("much", {.allocated_bytes = number, .action = on_exceed::fail}, often.parent());
  std::atomic<unsigned> times{0};
  std::atomic<std::uint64_t> got{0};
  pthread_barrier_t turn;
  pthread_barrier_init(&turn, nullptr, thread_count);
  std::vector<std::thread> all;
  for (unsigned i = 0; i < thread_count; ++i)
    all.emplace_back([&] {
      pthread_barrier_wait(&turn);
      {
        const enter in(often);
        for (void* block; (block = take(10)) != nullptr; ++times) free(block);
      }
      const enter in(much);
      for (void* block; (block = take(3)) != nullptr; got += 3) free(block);
    });
  for (auto& each : all) each.join();
  CHECK(times == number && often.used().allocations == number);
  CHECK(got == number - number % 3 && much.used().allocated_bytes == got);
}

constexpr test::test_case cases[] = {
    {"last_byte", last_byte},
    {"overshoot", overshoot, 8, 20'000},
    {"many_leases", many_leases, 10'000, 250},
    {"to_the_last", to_the_last, 4, 20},
    {"taken_back", taken_back, 2, 3000},
    {"lease_gone", lease_gone},
    {"counted_to_the_last", counted_to_the_last, 4, 20'000},
};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
