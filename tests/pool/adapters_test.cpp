// The pool in the language's clothes: size classes, std::pmr, allocators, operator new, unique_ptr.
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory_resource>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>

#include "heapledger/pool/allocator.hpp"
#include "heapledger/pool/pooled.hpp"
#include "heapledger/pool/resource.hpp"
#include "heapledger/pool/unique.hpp"
#include "support.hpp"

namespace heapledger::tests {
namespace {

// Upstream that counts, and notices when a block comes back with another size.
class counting_resource : public std::pmr::memory_resource {
 public:
  std::map<void*, std::pair<std::size_t, std::size_t>> live;
  int allocations = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++allocations;
    void* const block = ::operator new (bytes, std::align_val_t{alignment});
    live[block] = {bytes, alignment};
    return block;
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    EXPECT_EQ(live.at(block), std::make_pair(bytes, alignment));
    live.erase(block);
    ::operator delete (block, std::align_val_t{alignment});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// As the address is, not as the compiler takes it to be.
std::uintptr_t remainder(void* chunk, std::size_t alignment) {
  auto address = reinterpret_cast<std::uintptr_t>(chunk);
  asm("" : "+r"(address));
  return address % alignment;
}

// Each class is a pool to compile, for each threading.
using some_classes = size_classes<8, 24, 32, 64, 96, 256, 1024>;

template <class Threading>
class pool_adapters : public ::testing::Test {
 public:
  using set_type = pool_set<Threading, no_header, counting<Threading>, exact_checks, pool_options{}, some_classes>;
};
TYPED_TEST_SUITE(pool_adapters, every_threading, threading_names);

TYPED_TEST(pool_adapters, a_set_keeps_alignment) {
  typename TestFixture::set_type set;
  std::vector<std::tuple<void*, std::size_t, std::size_t>> live;
  for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
    for (std::size_t bytes = 1; bytes < 300; bytes += 7) {
      void* const chunk = set.allocate(bytes, alignment);
      EXPECT_EQ(remainder(chunk, alignment), 0u) << bytes;
      live.emplace_back(chunk, bytes, alignment);
    }
  }
  for (const auto& [chunk, bytes, alignment] : live) set.deallocate(chunk, bytes, alignment);
}

template <class Set>
void expect_alignment() {
  Set set;
  std::vector<std::tuple<void*, std::size_t, std::size_t>> live;
  for (std::size_t alignment = 8; alignment <= 128; alignment *= 2) {
    for (const std::size_t bytes : {1, 8, 16, 24, 40, 48}) {
      for (int i = 0; i < 10; ++i) {
        live.emplace_back(set.allocate(bytes, alignment), bytes, alignment);
        EXPECT_EQ(remainder(std::get<0>(live.back()), alignment), 0u) << bytes << ' ' << alignment;
      }
    }
  }
  for (const auto& [chunk, bytes, alignment] : live) set.deallocate(chunk, bytes, alignment);
}

TYPED_TEST(pool_adapters, a_set_keeps_alignment_whatever_its_classes_have) {
  const caught found;
  using few = size_classes<8, 16, 24, 48, 64, 128>;
  expect_alignment<pool_set<TypeParam, no_header, no_analyzer, no_checks, pool_options{}, size_classes<8, 24, 40>>>();
  expect_alignment<pool_set<TypeParam, no_header, no_analyzer, exact_checks, pool_options{.alignment = 8}, few>>();
  expect_alignment<pool_set<TypeParam, no_header, no_analyzer, exact_checks, pool_options{.alignment = 64}, few>>();
  EXPECT_TRUE(found.all().empty());
}

TYPED_TEST(pool_adapters, a_set_tells_where_it_takes_from) {
  typename TestFixture::set_type set;
  set.deallocate(set.allocate(24), 24);
  EXPECT_EQ(set.template pool_for<24>().analyzer().allocations, 1u);
  set.deallocate(set.allocate(24, 8), 24, 8);
  EXPECT_EQ((set.template pool_for<24, 8>().analyzer().allocations), 1u);
}

TYPED_TEST(pool_adapters, what_is_too_large_goes_upstream) {
  counting_resource upstream;
  typename TestFixture::set_type set(&upstream);
  void* const small = set.allocate(1024);
  void* const large = set.allocate(1025);
  void* const aligned = set.allocate(64, 64);
  EXPECT_EQ(upstream.live.size(), 2u);
  set.deallocate(small, 1024);
  set.deallocate(large, 1025);
  set.deallocate(aligned, 64, 64);
  EXPECT_TRUE(upstream.live.empty());
}

TYPED_TEST(pool_adapters, what_is_too_large_for_anything_is_refused) {
  counting_resource upstream;
  typename TestFixture::set_type with_upstream(&upstream), without;
  const std::size_t most = ~std::size_t{0};
  for (typename TestFixture::set_type* set : {&with_upstream, &without}) {
    for (const std::size_t bytes : {most, most - 100, most / 2 + 1}) {
      EXPECT_THROW(set->allocate(bytes), std::bad_alloc);
      EXPECT_THROW(set->allocate(bytes, 1 << 20), std::bad_alloc);
      EXPECT_EQ(set->try_allocate(bytes, 4096), nullptr);
    }
  }
}

TYPED_TEST(pool_adapters, containers_over_pmr) {
  const caught found;
  counting_resource upstream;
  {
    pool_resource<typename TestFixture::set_type> resource(&upstream);
    std::pmr::unordered_map<int, std::pmr::string> map(&resource);
    std::unordered_map<int, std::string> model;
    std::mt19937 random(4);
    for (int i = 0; i < 20'000; ++i) {
      const int key = static_cast<int>(random() % 500);
      const std::string value(random() % 2000, 'x');
      if (random() % 2 == 0) {
        map[key] = value;
        model[key] = value;
      } else {
        map.erase(key);
        model.erase(key);
      }
    }
    EXPECT_EQ(map.size(), model.size());
    for (const auto& [key, value] : model) EXPECT_EQ(std::string_view(map.at(key)), value);
    EXPECT_GT(upstream.allocations, 0);
  }
  EXPECT_TRUE(upstream.live.empty());
  EXPECT_TRUE(found.all().empty());
}

TYPED_TEST(pool_adapters, containers_with_an_allocator) {
  const caught found;
  using pools = typename TestFixture::set_type;
  pools set;
  {
    std::list<int, pool_allocator<int, pools>> list(&set);
    std::map<int, int, std::less<>, pool_allocator<std::pair<const int, int>, pools>> map(&set);
    std::vector<int, pool_allocator<int, pools>> vector(&set);
    for (int i = 0; i < 5000; ++i) {
      list.push_back(i);
      map[i % 700] = i;
      vector.push_back(i);
    }
    EXPECT_EQ((set.template pool_for<24, 8>().analyzer().chunks_in_use()), 5000u);
    auto moved = std::move(list);
    EXPECT_EQ(moved.size(), 5000u);
    EXPECT_TRUE(moved.get_allocator() == list.get_allocator());
    EXPECT_EQ(map.size(), 700u);
    EXPECT_EQ(vector[4999], 4999);
    EXPECT_THROW((void)vector.get_allocator().allocate(~std::size_t{0} / 2), std::bad_array_new_length);
  }
  std::uint64_t left = 0;
  set.for_each_pool([&](auto& pool) { left += pool.analyzer().chunks_in_use(); });
  EXPECT_EQ(left, 0u);
  EXPECT_TRUE(found.all().empty());
}

using event_pools =
    pool_set<threading::thread_cached, no_header, counting<>, exact_checks, pool_options{}, some_classes>;
struct event : pooled<event, event_pools> {
  virtual ~event() = default;
  int kind = 0;
};
struct large_event : event {
  char text[100] = {};
};
struct huge_event : event {
  char text[5000] = {};
};
struct alignas(64) aligned_event : event {};

TEST(pool_class, objects_of_derived_classes_come_from_pools_by_size) {
  const caught found;
  std::vector<std::unique_ptr<event>> events;
  for (int i = 0; i < 1000; ++i) {
    events.push_back(std::make_unique<event>());
    events.push_back(std::make_unique<large_event>());
    events.push_back(std::make_unique<huge_event>());
    events.push_back(std::make_unique<aligned_event>());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(events.back().get()) % 64, 0u);
  }
  auto& pools = event::pools();
  EXPECT_TRUE(pools.pool_for<sizeof(event)>().owns(events[0].get()));
  EXPECT_TRUE(pools.pool_for<sizeof(large_event)>().owns(events[1].get()));
  EXPECT_EQ(pools.pool_for<sizeof(event)>().analyzer().chunks_in_use(), 1000u);
  std::thread([&] { events.clear(); }).join();
  EXPECT_EQ(pools.pool_for<sizeof(event)>().analyzer().chunks_in_use(), 0u);
  EXPECT_EQ(pools.pool_for<sizeof(large_event)>().analyzer().chunks_in_use(), 0u);
  EXPECT_TRUE(found.all().empty());
  delete static_cast<event*>(nullptr);
}

TEST(pool_class, is_made_without_exceptions_where_that_is_asked_for) {
  const caught found;
  std::vector<std::unique_ptr<event>> events;
  events.emplace_back(new (std::nothrow) event);
  events.emplace_back(new (std::nothrow) large_event);
  events.emplace_back(new (std::nothrow) huge_event);
  events.emplace_back(new (std::nothrow) aligned_event);
  EXPECT_TRUE(event::pools().pool_for<sizeof(event)>().owns(events[0].get()));
  EXPECT_EQ(remainder(events[3].get(), 64), 0u);
  events.clear();
  EXPECT_TRUE(found.all().empty());
}

template <std::size_t Bytes>
struct refuses : event {
  refuses() { throw 1; }
  char text[Bytes];
};
struct alignas(64) aligned_refuses : refuses<1> {};

TEST(pool_class, keeps_nothing_of_what_threw_while_it_was_made) {
  const caught found;
  EXPECT_THROW(new refuses<24>, int);
  EXPECT_THROW(new refuses<5000>, int);
  EXPECT_THROW(new (std::nothrow) refuses<24>, int);
  EXPECT_THROW(new (std::nothrow) refuses<5000>, int);
  EXPECT_THROW(new (std::nothrow) aligned_refuses, int);
  event::pools().for_each_pool([](auto& pool) { EXPECT_EQ(pool.analyzer().chunks_in_use(), 0u); });
  EXPECT_TRUE(found.all().empty());
}

// Or units built with and without NDEBUG would free into each other's pools.
TEST(pool_class, has_the_same_pools_with_and_without_asserts) {
  struct plain_event : pooled<plain_event> {};
  EXPECT_TRUE((std::is_same_v<decltype(plain_event::pools()),
                              pool_set<threading::thread_cached, no_header, no_analyzer, no_checks>&>));
}

TEST(pool_class, pools_have_its_name) {
  struct named_event : pooled<named_event> {};
  named_event::pools().for_each_pool([](auto& pool) {
    EXPECT_NE(std::string_view(pool.identity().name).find("named_event"), std::string_view::npos);
  });
}

TEST(pool_sets, find_the_smallest_class_that_fits) {
  const caught found;
  pool_set<> set;
  for (std::size_t bytes = 0; bytes <= 1024; ++bytes) {
    void* const chunk = set.allocate(bytes, 8);
    std::memset(chunk, 1, bytes);
    std::size_t owners = 0;
    set.for_each_pool([&](auto& pool) {
      if (pool.owns(chunk)) {
        ++owners;
        EXPECT_GE(pool.chunk_bytes, bytes);
        EXPECT_LE(pool.chunk_bytes, std::max<std::size_t>(bytes + 15, bytes * 5 / 4));
      }
    });
    EXPECT_EQ(owners, 1u);
    set.deallocate(chunk, bytes, 8);
  }
  EXPECT_EQ(set.pool_for<25>().chunk_bytes, 32u);
  EXPECT_TRUE(found.all().empty());
}

TEST(pool_sets, have_a_name) {
  pool_set<> pools("events", std::pmr::new_delete_resource()), nameless(nullptr);
  pool_resource<> resource("buffers");
  pools.for_each_pool([](auto& pool) { EXPECT_STREQ(pool.identity().name, "events"); });
  resource.pools().for_each_pool([](auto& pool) { EXPECT_STREQ(pool.identity().name, "buffers"); });
  nameless.for_each_pool([](auto& pool) { EXPECT_EQ(pool.identity().name, nullptr); });
}

struct throws_on_construction {
  throws_on_construction() { throw 1; }
};

TEST(pool_unique, frees_into_the_pool) {
  const caught found;
  using pool_type = pool<32, threading::single, no_header, counting<threading::single>, exact_checks>;
  pool_type pool;
  {
    auto text = make_pooled<std::string>(pool, "a text that is too long for the string itself");
    pool_ptr<std::string, pool_type> other = std::move(text);
    EXPECT_EQ(other->size(), 45u);
    EXPECT_EQ(pool.analyzer().chunks_in_use(), 1u);
    EXPECT_EQ(pool.analyzer().allocated_bytes, sizeof(std::string));
  }
  EXPECT_EQ(pool.analyzer().chunks_in_use(), 0u);
  pool_ptr<std::string, pool_type> later;
  EXPECT_EQ(later, nullptr);
  later = make_pooled<std::string>(pool, "later");
  later.reset();
  EXPECT_EQ(*make_pooled<const std::string>(pool, "constant"), "constant");
  EXPECT_THROW((void)make_pooled<throws_on_construction>(pool), int);
  EXPECT_EQ(pool.analyzer().chunks_in_use(), 0u);
  EXPECT_TRUE(found.all().empty());
}

}  // namespace
}  // namespace heapledger::tests
