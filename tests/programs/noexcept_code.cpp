// Code that is noexcept, and meets a budget; each case checks itself. An exception that nobody catches would end it.
// Argument: CASE.
#include <deque>
#include <future>
#include <list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::scope;
using test::failing;

// Never called; points to no code.
volatile bool has_hook = false;
void (*hook)() = reinterpret_cast<void (*)()>(16);

namespace {

// Long enough for the heap.
std::string text(std::size_t length = 200) {
  return std::string(length, 'x');
}

template <class T>
void use(const T& of) {
  test::escape(const_cast<T*>(&of));
}

// Does what is asked in a scope with a limit; says whether anything passed it.
template <class F>
bool passes_limit(std::uint64_t limit, F work) {
  const scope s("limited", failing(limit));
  const enter in(s);
  work();
  return s.used().peak_bytes > static_cast<std::int64_t>(limit);
}

// The library's containers catch everything to clean up, and throw it on.
void emplaces() noexcept {
  std::map<int, std::string> m;
  m.emplace(1, "a string that is long enough to be on the heap, and not in the string itself");
  use(m);
}
void emplaces_many() noexcept {
  std::map<int, std::vector<char>> m;
  for (int i = 0; i < 3; ++i) m.emplace(i, 5000);
  use(m);
}
void copies(const std::vector<std::vector<char>>& from) noexcept {
  const std::vector<std::vector<char>> copy(from);
  use(copy);
}
void copies_strings(const std::vector<std::string>& from) noexcept {
  const std::vector<std::string> copy(from);
  use(copy);
}
void copies_list(const std::list<std::string>& from) noexcept {
  const std::list<std::string> copy(from);
  use(copy);
}
void makes_deque() noexcept {
  const std::deque<char> d(5000);
  use(d);
}
void hashes() noexcept {
  std::unordered_map<std::string, std::string> m;
  for (int i = 0; i < 100; ++i) m[std::to_string(i) + text()] = text();
  use(m);
}
void grows() noexcept {
  std::vector<std::set<std::string>> v;
  for (int i = 0; i < 10; ++i) v.push_back({text(), text(300)});
  use(v);
}

struct emplaces_last {
  ~emplaces_last() {
    std::map<int, std::string> m;
    m.emplace(1, text());
    use(m);
  }
};
struct copies_last {
  std::vector<std::string> strings{3, text()};
  ~copies_last() {
    const std::string before = text();  // to be destroyed on the way out
    std::vector<std::string> copy(strings);
    copy.resize(20, before);
    use(copy);
  }
};

void containers(unsigned, unsigned) {
  const std::vector<std::vector<char>> vectors(3, std::vector<char>(100));
  const std::vector<std::string> strings(3, text());
  const std::list<std::string> list(3, text());
  CHECK(passes_limit(80, emplaces));
  CHECK(passes_limit(1000, emplaces_many));
  CHECK(passes_limit(200, [&] { copies(vectors); }));
  CHECK(passes_limit(200, [&] { copies_strings(strings); }));
  CHECK(passes_limit(300, [&] { copies_list(list); }));
  CHECK(passes_limit(1000, makes_deque));
  CHECK(passes_limit(1000, hashes));
  CHECK(passes_limit(1000, grows));
  CHECK(passes_limit(80, [] { const emplaces_last last; }));
  CHECK(passes_limit(1500, [] { const copies_last last; }));
}

[[gnu::noinline]] void take_many(std::size_t bytes) {
  char* block = new char[bytes];
  test::escape(block);
  delete[] block;
}

// What is destroyed on the way out. Not to be known when this is compiled.
struct counted {
  int& ended;
  ~counted() {
    test::escape(this);
    ++ended;
  }
};

// Throws on whatever it is, and on a condition.
[[gnu::noinline]] void throws_on(std::size_t bytes, int& ended) {
  try {
    const counted one{ended};
    take_many(bytes);
  } catch (...) {
    ++ended;
    throw;
  }
}
[[gnu::noinline]] void throws_on_by_type(std::size_t bytes, int& ended) {
  try {
    throws_on(bytes, ended);
  } catch (const std::logic_error&) {
    return;
  } catch (const std::exception&) {
    const counted another{ended};
    throw;
  }
}
[[gnu::noinline]] void throws_on_if(std::size_t bytes, bool on) {
  try {
    take_many(bytes);
  } catch (const std::bad_alloc&) {
    if (on) throw;
  }
}
[[gnu::noinline]] void throws_another(std::size_t bytes) {
  try {
    take_many(bytes);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("no memory");
  }
}
void thrown_on(int how, int& ended) noexcept {
  const counted outer{ended};
  if (how == 0) throws_on(5000, ended);
  if (how == 1) throws_on_by_type(5000, ended);
  if (how == 2) throws_on_if(5000, true);
  if (how == 3) throws_another(5000);
  // in one function
  if (how == 4) {
    try {
      try {
        const counted one{ended};
        take_many(5000);
      } catch (...) {
        ++ended;
        throw;
      }
    } catch (const std::logic_error&) {
      ++ended;
    }
  }
}
inline void inlined(int& ended) noexcept {
  const counted one{ended};
  take_many(5000);
}

void rethrown(unsigned, unsigned) {
  for (int how = 0; how < 5; ++how) {
    int ended = 0;
    CHECK(passes_limit(1000, [&] { thrown_on(how, ended); }));
    CHECK(ended >= 1 && ended <= 2);
  }
  int ended = 0;
  CHECK(passes_limit(1000, [&] {
    try {
      inlined(ended);
    } catch (const std::bad_alloc&) {
      CHECK(false);
    }
  }));
}

// Where it is caught in the end, it is thrown.
int swallows(std::size_t bytes) noexcept {
  try {
    take_many(bytes);
  } catch (...) {
    return 1;
  }
  return 0;
}
int tells_apart(int& ended, int how) noexcept {
  const counted outer{ended};
  try {
    try {
      const counted one{ended};
      const std::string before = text(20);
      how == 0 ? throws_on(5000, ended) : how == 1 ? throws_on_by_type(5000, ended) : take_many(5000);
    } catch (const std::logic_error&) {
      throw;
    } catch (const std::bad_alloc&) {
      const counted another{ended};
      return 1;
    } catch (...) {
      throw;
    }
  } catch (const std::logic_error&) {
  } catch (int) {
  }
  return 0;
}
int inside_another(int& ended) noexcept {
  try {
    try {
      const counted one{ended};
      take_many(5000);
    } catch (...) {
      const counted two{ended};
      if (has_hook) hook();
      throw;
    }
  } catch (const std::exception&) {
    return 1;
  }
  return 0;
}

void handled(unsigned, unsigned) {
  int ended = 0;
  CHECK(!passes_limit(1000, [] { CHECK(swallows(5000) == 1); }));
  for (int how = 0; how < 3; ++how) CHECK(!passes_limit(1000, [&] { CHECK(tells_apart(ended, how) == 1); }));
  CHECK(!passes_limit(1000, [&] { CHECK(inside_another(ended) == 1); }));
  CHECK(!passes_limit(1000, [&] {
    bool caught = false;
    try {
      throws_on_by_type(5000, ended);
    } catch (const heapledger::budget_exceeded&) {
      caught = true;
    }
    CHECK(caught);
  }));
  CHECK(!passes_limit(1000, [] {
    const enter outside(scope::process());
    const scope s("asynchronous", failing(1000));
    auto later = std::async(std::launch::async, heapledger::bind(s, [] { return text(3000); }));
    bool caught = false;
    try {
      later.get();
    } catch (const std::bad_alloc&) {
      caught = true;
    }
    CHECK(caught);
  }));
}

constexpr test::test_case cases[] = {{"containers", containers}, {"rethrown", rethrown}, {"handled", handled}};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
