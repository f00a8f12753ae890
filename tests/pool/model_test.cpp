// Random sequences of everything a pool does, over all policies, against a model that is nothing but a list of live
// chunks.
#include <rapidcheck.h>
#include <rapidcheck/state.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

#include "support.hpp"

namespace heapledger::tests {
namespace {

// Chunks are named by the order in which they were allocated: what a command says does not depend on addresses.
struct model {
  std::map<int, std::size_t> live;  // name, bytes
  int next_name = 0;
};

struct counted_header {
  static inline std::atomic<int> alive = 0;
  std::uint64_t word = 0x1234'5678;
  counted_header() noexcept { ++alive; }
  ~counted_header() { --alive; }
};

template <class Pool>
struct system {
  Pool pool;
  std::map<int, unsigned char*> chunks;

  static unsigned char pattern(int name) { return static_cast<unsigned char>(name * 37 + 1); }

  void allocate(int name, std::size_t bytes) { allocated(name, bytes, pool.allocate(bytes)); }
  void allocated(int name, std::size_t bytes, void* at) {
    auto* const chunk = static_cast<unsigned char*>(at);
    RC_ASSERT(reinterpret_cast<std::uintptr_t>(chunk) % Pool::layout::alignment == 0u);
    RC_ASSERT(pool.owns(chunk));
    std::memset(chunk, pattern(name), bytes);
    if constexpr (Pool::layout::has_header) RC_ASSERT(Pool::header(chunk)->word == 0x1234'5678u);
    chunks[name] = chunk;
  }
  void check_bytes(int name, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) RC_ASSERT(chunks.at(name)[i] == pattern(name));
  }
  // After each command.
  void check(const model& expected) {
    RC_ASSERT(pool.chunks_in_use() == expected.live.size());
    RC_ASSERT(pool.analyzer().chunks_in_use() == expected.live.size());
    RC_ASSERT(pool.analyzer().pages() == pool.pages());
    if constexpr (Pool::layout::has_header) {
      RC_ASSERT(counted_header::alive == static_cast<int>(expected.live.size()));
    }
    std::map<void*, int> names;
    for (const auto& [name, chunk] : chunks) names[chunk] = name;
    RC_ASSERT(names.size() == expected.live.size());  // no chunk twice
    std::size_t walked = 0;
    pool.for_each_in_use([&](void* chunk) {
      RC_ASSERT(names.contains(chunk));
      ++walked;
    });
    RC_ASSERT(walked == expected.live.size());
  }
};

template <class Pool>
using command = rc::state::Command<model, system<Pool>>;

// So many at once that pages fill, empty and go back.
template <class Pool>
struct allocate_many : command<Pool> {
  int count = *rc::gen::inRange(1, 60);
  std::size_t bytes = *rc::gen::inRange<std::size_t>(0, Pool::chunk_bytes + 1);
  void apply(model& m) const override {
    for (int i = 0; i < count; ++i) m.live[m.next_name++] = bytes;
  }
  void run(const model& m, system<Pool>& s) const override {
    for (int i = 0; i < count; ++i) s.allocate(m.next_name + i, bytes);
    s.check(this->nextState(m));
  }
  void show(std::ostream& os) const override { os << "allocate " << count << " of " << bytes; }
};

// Every `step`-th chunk that is live, by this thread or by another one.
template <class Pool, bool Remote>
struct free_some : command<Pool> {
  int step = *rc::gen::inRange(1, 5);
  bool backwards = *rc::gen::arbitrary<bool>();
  std::vector<std::pair<int, std::size_t>> chosen(const model& m) const {
    std::vector<std::pair<int, std::size_t>> result;
    int i = 0;
    for (const auto& one : m.live) {
      if (i++ % step == 0) result.push_back(one);
    }
    if (backwards) std::reverse(result.begin(), result.end());
    return result;
  }
  void apply(model& m) const override {
    for (const auto& [name, bytes] : chosen(m)) m.live.erase(name);
  }
  void run(const model& m, system<Pool>& s) const override {
    std::vector<void*> doomed;
    for (const auto& [name, bytes] : chosen(m)) {
      s.check_bytes(name, bytes);
      doomed.push_back(s.chunks.at(name));
      s.chunks.erase(name);
    }
    auto free_them = [&] {
      for (void* chunk : doomed) s.pool.deallocate(chunk);
    };
    if constexpr (Remote) {
      std::thread(free_them).join();
    } else {
      free_them();
    }
    s.check(this->nextState(m));
  }
  void show(std::ostream& os) const override { os << (Remote ? "elsewhere " : "") << "free 1 in " << step; }
};

template <class Pool>
struct allocate_elsewhere : command<Pool> {
  int count = *rc::gen::inRange(1, 60);
  void apply(model& m) const override {
    for (int i = 0; i < count; ++i) m.live[m.next_name++] = Pool::chunk_bytes;
  }
  void run(const model& m, system<Pool>& s) const override {
    std::vector<void*> fresh;
    std::thread([&] {
      for (int i = 0; i < count; ++i) fresh.push_back(s.pool.allocate());
    }).join();
    for (int i = 0; i < count; ++i) s.allocated(m.next_name + i, Pool::chunk_bytes, fresh[static_cast<std::size_t>(i)]);
    s.check(this->nextState(m));
  }
  void show(std::ostream& os) const override { os << "elsewhere allocate " << count; }
};

template <class Pool>
struct trim : command<Pool> {
  void run(const model& m, system<Pool>& s) const override {
    s.pool.trim();
    s.check(m);
    for (const auto& [name, bytes] : m.live) s.check_bytes(name, bytes);
    if (m.live.empty()) RC_ASSERT(s.pool.pages() == 0u);
  }
  void show(std::ostream& os) const override { os << "trim"; }
};

template <class Pool>
struct reset : command<Pool> {
  void apply(model& m) const override { m.live.clear(); }
  void run(const model& m, system<Pool>& s) const override {
    s.pool.reset();
    s.chunks.clear();
    s.check(this->nextState(m));
  }
  void show(std::ostream& os) const override { os << "reset"; }
};

// A mistake must be noticed, and change nothing.
template <class Pool>
struct mistake : command<Pool> {
  std::size_t offset = *rc::gen::inRange<std::size_t>(1, 24);
  void run(const model& m, system<Pool>& s) const override {
    RC_ASSERT(caught::take().empty());
    if (s.chunks.empty()) return;
    unsigned char* const chunk = s.chunks.begin()->second;
    s.pool.deallocate(&s);
    s.pool.deallocate(chunk + (offset % Pool::layout::stride == 0 ? 1 : offset));
    RC_ASSERT(caught::take() ==
              (std::vector<violation_kind>{violation_kind::foreign_pointer, violation_kind::middle_pointer}));
    s.check(m);
  }
  void show(std::ostream& os) const override { os << "free what is no chunk"; }
};

template <class Threading, class Header, class Checks, std::size_t Bytes>
using small_pages = pool<Bytes, Threading, Header, counting<>, Checks, pool_options{.keep_empty_pages = 1}>;

template <class Pool>
void random_sequences() {
  EXPECT_TRUE(rc::check([] {
    counted_header::alive = 0;
    {
      const caught handler;
      system<Pool> made;
      if constexpr (std::is_same_v<typename Pool::threading_type, threading::single>) {
        rc::state::check(model{}, made,
                         rc::state::gen::execOneOfWithArgs<allocate_many<Pool>, free_some<Pool, false>, trim<Pool>,
                                                           reset<Pool>, mistake<Pool>>());
      } else {
        rc::state::check(
            model{}, made,
            rc::state::gen::execOneOfWithArgs<allocate_many<Pool>, free_some<Pool, false>, free_some<Pool, true>,
                                              allocate_elsewhere<Pool>, trim<Pool>, reset<Pool>, mistake<Pool>>());
      }
      made.pool.reset();
      RC_ASSERT(caught::take().empty());
    }
    RC_ASSERT(counted_header::alive == 0);
  }));
}

template <class Threading>
class pool_model : public ::testing::Test {};
TYPED_TEST_SUITE(pool_model, every_threading, threading_names);

TYPED_TEST(pool_model, small_chunks) {
  random_sequences<small_pages<TypeParam, no_header, exact_checks, 24>>();
}
TYPED_TEST(pool_model, few_chunks_a_page) {
  random_sequences<small_pages<TypeParam, no_header, all_checks, 2000>>();
}
TYPED_TEST(pool_model, with_headers) {
  random_sequences<small_pages<TypeParam, counted_header, exact_checks, 4000>>();
}

}  // namespace
}  // namespace heapledger::tests
