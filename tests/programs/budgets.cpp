// Budgets; each case checks itself. Arguments: CASE [NUMBER [NUMBER]].
#include <malloc.h>

#include <cerrno>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::budget;
using heapledger::enter;
using heapledger::on_exceed;
using heapledger::scope;
using heapledger::usage;
using test::failing;
using test::take;

namespace {

void fails(unsigned, unsigned) {
  const scope s("limited", failing(1000));
  const enter in(s);
  void* a = take(600);
  CHECK(a);
  errno = 0;
  CHECK(!take(401) && errno == ENOMEM);
  void* b = take(400);
  CHECK(b);
  CHECK(s.remaining().live_bytes == 0);
  CHECK(!take(1) && !calloc(1, 1) && !memalign(64, 1) && !aligned_alloc(64, 1));
  void* none = &a;
  CHECK(posix_memalign(&none, 64, 1) == ENOMEM && none == &a);
  CHECK(new (std::nothrow) char == nullptr);
  int caught = 0;
  const scope other("other");
  const std::string_view name = other.name();
  try {
    test::escape(new char);
  } catch (const heapledger::budget_exceeded& e) {
    CHECK(e.where() == s && e.used().live_bytes == 1000 && e.requested_bytes() == 1);
    CHECK(std::string_view(e.what()).find("limited") != std::string_view::npos);
    ++caught;
  }
  try {
    test::escape(new char[8]);
  } catch (const std::bad_alloc&) {
    ++caught;
  }
  try {
    test::escape(::operator new (8, std::align_val_t{256}));
  } catch (const std::bad_alloc&) {
    ++caught;
  }
  CHECK(caught == 3 && name == "other");
  // realloc: refused, the old block is as it was
  test::fill(b, 400, 1);
  CHECK(!realloc(b, 401));
  CHECK(test::holds(b, 400, 1));
  CHECK_USED(s, 1000, 2, 1000u, 2u, 0u);
  b = realloc(b, 100);
  CHECK(b && test::holds(b, 100, 1));
  void* c = take(300);
  CHECK(c && !take(1));
  for (void* each : {a, b, c}) free(each);
  CHECK(s.used().live_bytes == 0 && s.used().peak_bytes == 1000);
  CHECK(s.stop_token().stop_requested());
}

void counts(unsigned, unsigned) {
  const scope bytes("bytes", {.allocated_bytes = 1000, .action = on_exceed::fail});
  const scope number("number", {.allocations = 10, .action = on_exceed::fail});
  {
    const enter in(bytes);
    for (int i = 0; i < 10; ++i) free(take(100));
    CHECK(!take(1));
  }
  const enter in(number);
  for (int i = 0; i < 10; ++i) free(take(100000));
  CHECK(!take(1));
  CHECK(number.remaining().allocations == 0 && bytes.remaining().allocated_bytes == 0);
}

void ancestors(unsigned, unsigned) {
  const scope parent("parent", failing(1000)), child("child", failing(5000), parent), sibling("sibling", {}, parent);
  void *a, *b;
  {
    const enter in(child);
    a = take(900);
    CHECK(a && !take(101));
  }
  {
    const enter in(sibling);
    CHECK(!take(101));
    b = take(100);
    CHECK(b);
  }
  CHECK(child.remaining().live_bytes == 0);
  free(a);
  free(b);
  CHECK(child.stop_token().stop_requested() && parent.stop_token().stop_requested() &&
        sibling.stop_token().stop_requested());
}

void stops(unsigned, unsigned) {
  const scope parent("parent"), s("soft", {.live_bytes = 1000}, parent), other("other", {}, parent);
  const auto token = s.stop_token();
  CHECK(token.stop_possible() && !token.stop_requested());
  const enter in(s);
  void* a = take(1000);
  CHECK(a && !token.stop_requested());
  void* b = take(1);
  CHECK(b && token.stop_requested());
  CHECK(!parent.stop_token().stop_requested() && !other.stop_token().stop_requested());
  parent.request_stop();
  CHECK(other.stop_token().stop_requested());
  CHECK_USED(s, 1001, 2, 1001u, 2u, 0u);
  free(a);
  free(b);
}

struct allocates_in_destructor {
  const scope& in;
  bool& good;
  ~allocates_in_destructor() {
    char* needed = new char[5000];  // would end in std::terminate
    test::escape(needed);
    good = needed != nullptr;
    delete[] needed;
  }
};

void spares(unsigned, unsigned) {
  const scope s("spared", failing(1000));
  const enter in(s);
  {
    const heapledger::must_not_fail now;
    void* p = take(2000);
    CHECK(p);
    free(p);
  }
  CHECK(!take(2000));
  // One that ends in another thread spares nothing there.
  std::optional<heapledger::must_not_fail> moved;
  std::optional<enter> outside(scope::process());
  std::thread([&] {
    moved.emplace();
    std::thread([&] {
      moved.reset();
      const enter in_s(s);
      CHECK(!take(2000));
    }).join();
  }).join();
  outside.reset();
  bool good = false;
  try {
    const allocates_in_destructor last{s, good};
    void* full = take(900);
    try {
      test::escape(new char[200]);
    } catch (...) {
      free(full);
      throw;
    }
  } catch (const std::bad_alloc&) {
  }
  CHECK(good);
  CHECK(s.used().live_bytes == 0);
}

// What is allocated in a function that is noexcept is spared, where nothing in it would catch the exception.
[[gnu::noinline]] void* new_block(std::size_t bytes) {
  void* block = ::operator new(bytes);
  test::escape(block);
  return block;
}
[[gnu::noinline]] void* new_noexcept(std::size_t bytes) noexcept {
  void* block = new_block(bytes);
  test::escape(block);
  return block;
}
[[gnu::noinline]] bool caught_inside(std::size_t bytes, int kind) noexcept {
  try {
    kind == 0 ? ::operator delete(new_block(bytes)) : ::operator delete(::operator new(bytes + 1));
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}
[[gnu::noinline]] bool not_caught_by(std::size_t bytes) noexcept {
  try {
    ::operator delete(new_block(bytes));
  } catch (int) {
    return false;
  }
  return true;
}

void noexcept_code(unsigned, unsigned) {
  const scope s("noexcept", failing(1000));
  const enter in(s);
  void* block = new_noexcept(2000);  // would end in std::terminate
  CHECK(block && s.used().live_bytes == 2000);
  ::operator delete(block);
  CHECK(not_caught_by(2000));
  CHECK(caught_inside(2000, 0) && caught_inside(2000, 1));
  bool thrown = false;
  try {
    new_block(2000);
  } catch (const heapledger::budget_exceeded&) {
    thrown = true;
  }
  CHECK(thrown && !take(2000) && s.used().live_bytes == 0);
}

// The reserve is for such code alone, and the limit holds with it.
void reserve(unsigned, unsigned) {
  const scope s("reserve", {.live_bytes = 1000, .action = on_exceed::fail, .reserve_bytes = 200});
  CHECK(s.limits().live_bytes == 1000 && s.limits().reserve_bytes == 200 && s.remaining().live_bytes == 800);
  int nearly_full = 0, full = 0;
  CHECK(s.at_fraction(0.5, [&](scope, usage) { ++nearly_full; }) && s.at_fraction(1, [&](scope, usage) { ++full; }));
  const enter in(s);
  void* most = take(800);
  CHECK(most && nearly_full == 1 && full == 1 && !take(1));
  try {
    test::escape(new char);
  } catch (const heapledger::budget_exceeded& e) {
    CHECK(std::string_view(e.what()).find("800 of 800 live") != std::string_view::npos);
  }
  void* last;
  {
    const heapledger::must_not_fail now;
    last = take(200);
  }
  CHECK(last && s.used().live_bytes == 1000 && s.remaining().live_bytes == 0);
  free(most);
  CHECK(!take(601));
  most = take(600);
  CHECK(most);
  free(most);
  free(last);
  const scope all("all", {.live_bytes = 100, .action = on_exceed::fail, .reserve_bytes = 5000});
  const enter in_all(all);
  CHECK(!take(1));
}

void thresholds(unsigned, unsigned) {
  scope s("watched", failing(1000));
  std::vector<std::int64_t> seen;
  void* cache = nullptr;
  CHECK(s.at_fraction(0.5, [&](scope which, usage u) {
    CHECK(which == s && scope::current() == scope::process());
    seen.push_back(u.live_bytes);
  }));
  for (const double none : {-1.0, 1.01, 0.0 / 0.0}) CHECK(!s.at_fraction(none, [](scope, usage) { CHECK(false); }));
  CHECK(s.at_fraction(0.9, [&](scope, usage) {
    free(cache);
    cache = nullptr;
  }));
  const enter in(s);
  cache = take(300);
  void* a = take(199);
  CHECK(seen.empty());
  void* b = take(1);
  CHECK(seen == std::vector<std::int64_t>{499});
  void* c = take(600);  // fits because the callback frees the cache
  CHECK(c && cache == nullptr);
  CHECK(s.used().live_bytes == 800);
  CHECK(seen.size() == 2 && seen[1] == 200);  // it was well below, and passed once more
  for (void* each : {a, b, c}) free(each);
  a = take(499);
  CHECK(seen.size() == 2);
  b = take(1);
  CHECK(seen.size() == 3);
  free(b);
  free(a);
}

constexpr test::test_case cases[] = {
    {"fails", fails},   {"counts", counts},          {"ancestors", ancestors}, {"stops", stops},
    {"spares", spares}, {"noexcept", noexcept_code}, {"reserve", reserve},     {"thresholds", thresholds},
};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
