#include "explorer.hpp"

#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstdlib>
#include <memory>
#include <optional>

namespace model {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024, most_threads = 4;
constexpr std::uint64_t longest_run = 100'000;

using context = boost::context::fiber;

struct fiber {
  context suspended;  // empty while it runs
  bool ended = false;
  std::optional<std::uint64_t> waits_since;  // until somebody else got further
  std::vector<const std::uint32_t*> lingers;
  const std::uint32_t* does_not_push = nullptr;
  std::uint32_t* kept_at = nullptr;
  std::uint32_t kept = 0;
};

// Of threads. A step allocates nothing: there are some hundred million in a search.
class numbers {
 public:
  void push_back(std::size_t number) { numbers_[size_++] = number; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t operator[](std::size_t at) const { return numbers_[at]; }

 private:
  std::array<std::size_t, most_threads> numbers_;
  std::size_t size_ = 0;
};

struct choice {
  unsigned taken, of;
};

std::vector<fiber> fibers;
std::vector<choice> choices;
std::size_t depth, running;
unsigned switches_left;
std::uint64_t progress;
bool exploring = false;
std::string failure;
context explorer;  // suspended while a thread of the scenario runs
context* left_by;  // where the one that was left last is kept
const scenario* current;

unsigned choose(unsigned of) {
  if (of == 1) return 0;
  if (depth == choices.size()) choices.push_back({0, of});
  if (choices[depth].of != of) expect(false, "a run is not the same twice");
  return choices[depth++].taken;
}

void flush(fiber& of) {
  if (of.kept_at != nullptr) *of.kept_at = of.kept;
  of.kept_at = nullptr;
}

bool can_run(const fiber& of) {
  return !of.ended && (!of.waits_since || *of.waits_since != progress);
}

// Not swapcontext(), which asks the kernel for the signal mask: half of the time of a search.
void switch_to(context& next, context& left) {
  left_by = &left;
  context before = std::move(next).resume();
  *left_by = std::move(before);
}

void go_to(std::size_t next) {
  const std::size_t before = running;
  running = next;
  fibers[next].waits_since.reset();
  if (next != before) switch_to(fibers[next].suspended, fibers[before].suspended);
}

// The running thread cannot go on.
void must_switch() {
  numbers ready;
  for (std::size_t i = 0; i < fibers.size(); ++i)
    if (i != running && can_run(fibers[i])) ready.push_back(i);
  if (ready.empty()) {
    bool flushed = false;
    for (fiber& each : fibers) {
      flushed = flushed || each.kept_at != nullptr;
      flush(each);
    }
    bool left = !fibers[running].ended;
    for (const fiber& each : fibers) left = left || !each.ended;
    if (left && !flushed && fibers[running].ended) expect(false, "all wait for each other");
    ++progress;
    for (std::size_t i = 0; i < fibers.size(); ++i)
      if (!fibers[i].ended) return go_to(i);
    exploring = false;
    switch_to(explorer, fibers[running].suspended);
    return;
  }
  go_to(ready[choose(static_cast<unsigned>(ready.size()))]);
}

// What a fiber does, once in each run.
[[noreturn]] void body(std::size_t index) {
  for (;;) {
    current->threads[index]();
    fiber& self = fibers[index];
    flush(self);
    ++progress;
    self.ended = true;
    must_switch();
  }
}

fiber make_fiber(std::size_t index) {
  return {.suspended = context(std::allocator_arg, boost::context::fixedsize_stack(stack_bytes),
                               [index](context&& before) -> context {
                                 *left_by = std::move(before);
                                 body(index);
                               })};
}

void run(const scenario& of, unsigned switches) {
  current = &of;
  depth = 0;
  progress = 0;
  switches_left = switches;
  of.begin();
  for (fiber& each : fibers) {
    each.ended = false;
    each.waits_since.reset();
    each.kept_at = nullptr;
  }
  running = choose(static_cast<unsigned>(fibers.size()));
  exploring = true;
  switch_to(fibers[running].suspended, explorer);
  exploring = false;
  if (failure.empty()) of.end();
}

// The next run takes another choice at the last place that has one.
bool next_run() {
  choices.resize(depth);
  while (!choices.empty() && choices.back().taken + 1 == choices.back().of) choices.pop_back();
  if (choices.empty()) return false;
  ++choices.back().taken;
  return true;
}

}  // namespace

exploration explore(const scenario& of, unsigned switches) {
  if (of.threads.size() > most_threads) std::abort();
  fibers.clear();
  for (std::size_t i = 0; i < of.threads.size(); ++i) fibers.push_back(make_fiber(i));
  choices.clear();
  failure.clear();
  exploration result;
  do {
    run(of, switches);
    ++result.runs;
  } while (failure.empty() && next_run());
  if (!failure.empty()) {
    // What they hold of the probe's code knows no exceptions, which is how a context is unwound: they stay where they
    // are.
    static auto& stopped = *new std::vector<std::vector<fiber>>;
    stopped.push_back(std::move(fibers));
    result.failure = failure + "; choices:";
    for (std::size_t i = 0; i < depth; ++i) result.failure += " " + std::to_string(choices[i].taken);
  }
  fibers.clear();
  return result;
}

void expect(bool good, const char* what) {
  if (good || !failure.empty()) return;
  failure = what;
  if (!exploring) return;
  exploring = false;
  switch_to(explorer, fibers[running].suspended);
}

void step() {
  if (!exploring) return;
  if (++progress > longest_run) return expect(false, "this run does not end");
  while (switches_left != 0) {
    numbers others, kept;
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      if (i != running && can_run(fibers[i])) others.push_back(i);
      if (fibers[i].kept_at != nullptr) kept.push_back(i);
    }
    const unsigned taken = choose(static_cast<unsigned>(1 + others.size() + kept.size()));
    if (taken == 0) return;
    --switches_left;
    if (taken <= others.size()) return go_to(others[taken - 1]);
    flush(fibers[kept[taken - 1 - others.size()]]);
  }
}

void wait() {
  if (!exploring) return;
  flush(fibers[running]);
  fibers[running].waits_since = progress;
  must_switch();
}

void barrier() {
  step();
  for (fiber& each : fibers) flush(each);
}

bool may_linger(const void* at) {
  if (!exploring) return false;
  for (const std::uint32_t* each : fibers[running].lingers)
    if (at == each) return true;
  return false;
}
void keep_back(std::uint32_t* at, std::uint32_t value) {
  flush(fibers[running]);
  fibers[running].kept_at = at;
  fibers[running].kept = value;
}
const std::uint32_t* kept_back(const void* at) {
  return exploring && fibers[running].kept_at == at ? &fibers[running].kept : nullptr;
}
void before_store(const void* at) {
  if (exploring && at != fibers[running].does_not_push) flush(fibers[running]);
}
void before_exchange() {
  if (exploring) flush(fibers[running]);
}
void flush_own() {
  if (exploring) flush(fibers[running]);
}
void watch(std::size_t thread, std::initializer_list<const std::uint32_t*> lingers,
           const std::uint32_t* does_not_push) {
  fibers[thread].lingers = lingers;
  fibers[thread].does_not_push = does_not_push;
}

}  // namespace model
