// The recipes of docs/executors.md for libraries that Debian does not have, against small classes of the same form, and
// for fibers; each case checks itself.
#include <ucontext.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::scope;
using test::take;

namespace {

constexpr std::size_t bytes = 100;

// Two threads that run what they are given, in no scope of their own.
class thread_pool {
 public:
  thread_pool() {
    for (auto& each : threads_) each = std::thread([this] { work(); });
  }
  ~thread_pool() {
    finish();
    for (auto& each : threads_) each.join();
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  void run(std::function<void()> f) {
    const enter outside(scope::process());  // the queue is nobody's
    const std::lock_guard held(mutex_);
    queue_.push_back(std::move(f));
    more_.notify_one();
  }
  // Until all that was given has run.
  void wait() {
    std::unique_lock held(mutex_);
    idle_.wait(held, [this] { return queue_.empty() && running_ == 0; });
  }

 private:
  void finish() {
    const std::lock_guard held(mutex_);
    done_ = true;
    more_.notify_all();
  }
  void work() {
    std::unique_lock held(mutex_);
    for (;;) {
      more_.wait(held, [this] { return done_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto next = std::move(queue_.front());
      queue_.pop_front();
      ++running_;
      held.unlock();
      next();
      next = nullptr;
      CHECK(scope::current() == scope::process());
      held.lock();
      --running_;
      idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable more_, idle_;
  std::deque<std::function<void()>> queue_;
  unsigned running_ = 0;
  bool done_ = false;
  std::array<std::thread, 2> threads_;
};

// Like folly's.
struct executor {
  virtual ~executor() = default;
  virtual void add(std::function<void()> f) = 0;
};
struct pool_executor : executor {
  void add(std::function<void()> f) override { pool->run(std::move(f)); }
  thread_pool* pool = nullptr;
};
struct scoped_executor : executor {
  void add(std::function<void()> f) override { inner->add(heapledger::bind(in, std::move(f))); }
  executor* inner = nullptr;
  scope in = scope::process();
};

void adding(unsigned, unsigned) {
  thread_pool pool;
  pool_executor plain;
  plain.pool = &pool;
  std::vector<scope> scopes;
  for (int i = 0; i < 3; ++i) scopes.emplace_back("request");
  std::array<std::array<void*, 50>, 3> blocks{};
  std::array<scoped_executor, 3> executors;
  for (std::size_t i = 0; i < 3; ++i) executors[i].inner = &plain, executors[i].in = scopes[i];
  for (std::size_t k = 0; k < 50; ++k)
    for (std::size_t i = 0; i < 3; ++i) executors[i].add([&, i, k] { blocks[i][k] = take(bytes); });
  pool.wait();
  for (const scope& each : scopes) CHECK_USED(each, 50 * bytes, 50, 50 * bytes, 50u, 0u);
  for (const auto& of : blocks)
    for (void* block : of) free(block);
}

// A context that a library carries along, and one callback at each of its switches, as folly's RequestContext has.
struct request_context {
  scope in = scope::process();
  using watcher = void (*)(const request_context* before, const request_context* next);
  static thread_local const request_context* current;
  static watcher watching;
  static const request_context* set(const request_context* next) {
    const request_context* before = current;
    if (watching != nullptr) watching(before, next);
    current = next;
    return before;
  }
};
thread_local const request_context* request_context::current = nullptr;
request_context::watcher request_context::watching = nullptr;

void watching(unsigned, unsigned) {
  request_context::watching = [](const request_context*, const request_context* next) {
    heapledger_scope_enter(next != nullptr ? next->in.handle() : 0);
  };
  thread_pool pool;
  const request_context contexts[] = {{scope("first")}, {scope("second")}};
  std::array<void*, 100> blocks{};
  for (std::size_t i = 0; i < blocks.size(); ++i)
    pool.run([&, i] {
      const request_context* before = request_context::set(&contexts[i % 2]);
      blocks[i] = take(bytes);
      request_context::set(before);
    });
  pool.wait();
  for (const request_context& each : contexts) CHECK_USED(each.in, 50 * bytes, 50, 50 * bytes, 50u, 0u);
  for (void* block : blocks) free(block);
}

// Senders: schedule(), then() and what connects and starts them.
template <class Receiver>
struct schedule_operation {
  thread_pool* pool;
  Receiver receiver;
  void start() {
    pool->run([this] { receiver.set_value(); });
  }
};
struct schedule_sender {
  thread_pool* pool;
  template <class Receiver>
  schedule_operation<Receiver> connect(Receiver receiver) const {
    return {pool, std::move(receiver)};
  }
};
template <class Receiver, class F>
struct then_receiver {
  Receiver next;
  F f;
  void set_value() {
    f();
    next.set_value();
  }
};
template <class Sender, class F>
struct then_sender {
  Sender inner;
  F f;
  template <class Receiver>
  auto connect(Receiver receiver) const {
    return inner.connect(then_receiver<Receiver, F>{std::move(receiver), f});
  }
};
template <class F>
struct then {
  F f;
};
template <class F>
then(F) -> then<F>;
template <class Sender, class F>
then_sender<Sender, F> operator|(Sender sender, then<F> next) {
  return {std::move(sender), std::move(next.f)};
}

struct nothing_more {
  void set_value() const {}
};

void senders(unsigned, unsigned) {
  thread_pool pool;
  const scope request("request"), other("other");
  std::array<void*, 2> blocks{};
  auto work = schedule_sender{&pool} | then{heapledger::bind(request, [&] { blocks[0] = take(bytes); })} |
              then{heapledger::bind(other, [&] { blocks[1] = take(2 * bytes); })};
  auto operation = work.connect(nothing_more{});
  operation.start();
  pool.wait();
  CHECK_USED(request, bytes, 1, bytes, 1u, 0u);
  CHECK_USED(other, 2 * bytes, 1, 2 * bytes, 1u, 0u);
  for (void* block : blocks) free(block);
}

// Like OpenTelemetry's runtime context: values by key, a stack of attached contexts for each thread, and a storage that
// can be replaced.
struct context {
  std::uint64_t scope_handle = 0;
};
struct context_storage {
  virtual ~context_storage() = default;
  virtual context current() noexcept = 0;
  virtual void attach(const context& next) noexcept = 0;
  virtual void detach() noexcept = 0;
};
struct thread_local_storage : context_storage {
  context current() noexcept override { return stack.empty() ? context{} : stack.back(); }
  void attach(const context& next) noexcept override { stack.push_back(next); }
  void detach() noexcept override { stack.pop_back(); }
  static thread_local std::vector<context> stack;
};
thread_local std::vector<context> thread_local_storage::stack;

class scoped_storage : public context_storage {
 public:
  explicit scoped_storage(std::unique_ptr<context_storage> inner) : inner_(std::move(inner)) {}
  context current() noexcept override { return inner_->current(); }
  void attach(const context& next) noexcept override {
    {
      const enter outside(scope::process());  // what the storage needs is nobody's
      inner_->attach(next);
    }
    heapledger_scope_enter(next.scope_handle);
  }
  void detach() noexcept override {
    {
      const enter outside(scope::process());
      inner_->detach();
    }
    heapledger_scope_enter(inner_->current().scope_handle);
  }

 private:
  std::unique_ptr<context_storage> inner_;
};

void contexts(unsigned, unsigned) {
  const scope span("span"), inner("inner", {}, span);
  scoped_storage storage(std::make_unique<thread_local_storage>());
  thread_pool pool;
  std::array<std::array<void*, 3>, 20> blocks{};
  for (auto& of : blocks)
    pool.run([&] {
      storage.attach({span.handle()});
      of[0] = take(bytes);
      storage.attach({inner.handle()});
      of[1] = take(2 * bytes);
      storage.detach();
      of[2] = take(bytes);
      storage.detach();
    });
  pool.wait();
  CHECK_USED(inner, 40 * bytes, 20, 40 * bytes, 20u, 0u);
  CHECK_USED(span, 80 * bytes, 60, 80 * bytes, 60u, 0u);
  for (const auto& of : blocks)
    for (void* block : of) free(block);
}

// A fiber of its own stack, which suspends itself with guards on it, and goes on in whatever thread.
class fiber {
 public:
  fiber(scope in, unsigned steps) : in_(in), steps_(steps) {
    getcontext(&self_);
    self_.uc_stack.ss_sp = stack_.data();
    self_.uc_stack.ss_size = stack_.size();
    self_.uc_link = &whoever_resumed_;
    makecontext(&self_, reinterpret_cast<void (*)()>(begin), 0);
  }
  void resume() {
    running_ = this;
    swapcontext(&whoever_resumed_, &self_);
  }
  void* inner[10] = {};
  void* outer[10] = {};

 private:
  static void begin() { running_->work(); }
  void work() {
    const enter inside(in_);
    for (unsigned i = 0; i < steps_; ++i) {
      {
        const heapledger::owned_scope part("part", {}, in_);
        const enter deeper(part);
        suspend();
        inner[i] = take(2 * bytes);
      }
      suspend();
      outer[i] = take(bytes);
    }
  }
  void suspend() {
    const enter outside(scope::process());
    swapcontext(&self_, &whoever_resumed_);
  }

  static fiber* running_;  // one at a time
  const scope in_;
  const unsigned steps_;
  ucontext_t self_{}, whoever_resumed_{};
  std::array<char, 64 << 10> stack_{};
};
fiber* fiber::running_ = nullptr;

void fibers(unsigned, unsigned) {
  constexpr unsigned steps = 10;
  const scope first("fiber"), second("fiber");
  const auto a = std::make_unique<fiber>(first, steps), b = std::make_unique<fiber>(second, steps);
  const auto resume_both = [&] {
    for (fiber* each : {a.get(), b.get()}) {
      each->resume();
      CHECK(scope::current() == scope::process());
    }
  };
  for (unsigned i = 0; i <= steps; ++i) {
    std::thread(resume_both).join();
    if (i < steps) resume_both();
  }
  for (const scope& each : {first, second}) CHECK_USED(each, 3 * steps * bytes, 2 * steps, 3 * steps * bytes, 20u, 0u);
  CHECK(first.used_alone().live_bytes == steps * bytes);
  for (const fiber* each : {a.get(), b.get()})
    for (unsigned i = 0; i < steps; ++i) free(each->inner[i]), free(each->outer[i]);
}

constexpr test::test_case cases[] = {
    {"adding", adding}, {"watching", watching}, {"senders", senders}, {"contexts", contexts}, {"fibers", fibers}};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
