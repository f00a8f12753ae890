// Scopes on oneTBB, as docs/executors.md has them; each case checks itself.
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>

#include <array>
#include <atomic>
#include <vector>

#include "scopes.hpp"

using heapledger::bind;
using heapledger::enter;
using heapledger::scope;
using test::take;

namespace {

constexpr std::size_t count = 2000, bytes = 100;

// Bodies that wait for inner work, so that their threads take up what is another scope's meanwhile.
void bodies(unsigned, unsigned) {
  const std::array scopes{scope("first"), scope("second")};
  std::array<std::array<void*, count>, 2> blocks{};
  std::atomic<unsigned> wrong{0};
  const auto fill = [&](std::size_t which) {
    const auto part = [&, which](const tbb::blocked_range<std::size_t>& range) {
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        wrong += scope::current() != scopes[which];
        blocks[which][i] = take(bytes);
      }
    };
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 10), bind(scopes[which], part));
    wrong += scope::current() != scope::process();
  };
  tbb::parallel_for(std::size_t{0}, std::size_t{2}, fill);
  CHECK(wrong == 0);
  for (const scope& each : scopes) CHECK_USED(each, count * bytes, count, count * bytes, count, 0u);
  for (const auto& of : blocks)
    for (void* block : of) free(block);
  for (const scope& each : scopes) CHECK(each.used().live_bytes == 0);
}

void tasks(unsigned, unsigned) {
  const scope request("request"), other("other");
  std::array<void*, 64> blocks{};
  tbb::task_group group;
  {
    const enter in(request);
    for (void*& block : blocks) group.run(bind(scope::current(), [&] { block = take(bytes); }));
  }
  heapledger::run_in(other, [&] { group.wait(); });
  CHECK(request.used().live_bytes >= static_cast<std::int64_t>(blocks.size() * bytes));
  for (void* block : blocks) free(block);
}

// An arena that serves one scope: all that its threads do in it, and what TBB itself allocates there.
class arena_in_scope : public tbb::task_scheduler_observer {
 public:
  arena_in_scope(tbb::task_arena& arena, scope in) : tbb::task_scheduler_observer(arena), in_(in) { observe(true); }
  ~arena_in_scope() override { observe(false); }
  void on_scheduler_entry(bool) override { before_ = heapledger_scope_enter(in_.handle()); }
  void on_scheduler_exit(bool) override { heapledger_scope_leave(before_); }

 private:
  scope in_;
  static thread_local heapledger_scope before_;
};
thread_local heapledger_scope arena_in_scope::before_ = 0;

void arena(unsigned, unsigned) {
  const scope module("module");
  tbb::task_arena arena(4);
  arena.initialize();
  std::array<void*, count> blocks{};
  {
    const arena_in_scope observer(arena, module);
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
        CHECK(scope::current() == module);
        blocks[i] = take(bytes);
      });
    });
    CHECK(scope::current() == scope::process());
  }
  CHECK(module.used().allocated_bytes >= count * bytes);
  for (void* block : blocks) free(block);
}

constexpr test::test_case cases[] = {{"bodies", bodies}, {"tasks", tasks}, {"arena", arena}};

}  // namespace

int main(int argc, char** argv) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 4);
  return test::run_case(cases, argc, argv);
}
