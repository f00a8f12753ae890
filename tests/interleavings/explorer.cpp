#include "explorer.hpp"

#include <ucontext.h>

#include <memory>
#include <optional>

namespace model {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr std::uint64_t longest_run = 100'000;

struct fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  bool ended = false;
  std::optional<std::uint64_t> waits_since;  // until somebody else got further
  std::vector<const std::uint32_t*> lingers;
  const std::uint32_t* does_not_push = nullptr;
  std::uint32_t* kept_at = nullptr;
  std::uint32_t kept = 0;
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
ucontext_t main_context;
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

void go_to(std::size_t next) {
  const std::size_t before = running;
  running = next;
  fibers[next].waits_since.reset();
  if (next != before) swapcontext(&fibers[before].context, &fibers[next].context);
}

// The running thread cannot go on; `leave`: for good.
void must_switch() {
  std::vector<std::size_t> ready;
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
    swapcontext(&fibers[running].context, &main_context);
    return;
  }
  go_to(ready[choose(static_cast<unsigned>(ready.size()))]);
}

void body(int index) {
  current->threads[static_cast<std::size_t>(index)]();
  fiber& self = fibers[static_cast<std::size_t>(index)];
  flush(self);
  ++progress;
  self.ended = true;
  must_switch();
}

void run(const scenario& of, unsigned switches) {
  current = &of;
  depth = 0;
  progress = 0;
  switches_left = switches;
  of.begin();
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    fiber& each = fibers[i];
    each.ended = false;
    each.waits_since.reset();
    each.kept_at = nullptr;
    getcontext(&each.context);
    each.context.uc_stack = {each.stack.get(), 0, stack_bytes};
    each.context.uc_link = nullptr;
    makecontext(&each.context, reinterpret_cast<void (*)()>(body), 1, static_cast<int>(i));
  }
  running = choose(static_cast<unsigned>(fibers.size()));
  exploring = true;
  swapcontext(&main_context, &fibers[running].context);
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
  fibers = std::vector<fiber>(of.threads.size());
  choices.clear();
  failure.clear();
  exploration result;
  do {
    run(of, switches);
    ++result.runs;
  } while (failure.empty() && next_run());
  if (!failure.empty()) {
    result.failure = failure + "; choices:";
    for (std::size_t i = 0; i < depth; ++i) result.failure += " " + std::to_string(choices[i].taken);
  }
  return result;
}

void expect(bool good, const char* what) {
  if (good || !failure.empty()) return;
  failure = what;
  if (!exploring) return;
  exploring = false;
  swapcontext(&fibers[running].context, &main_context);
}

void step() {
  if (!exploring) return;
  if (++progress > longest_run) return expect(false, "this run does not end");
  while (switches_left != 0) {
    std::vector<std::size_t> others, kept;
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
