// Stacks that are not one stack: fibers by swapcontext, coroutines, the first frames of threads.
#include <pthread.h>
#include <ucontext.h>

#include <coroutine>
#include <exception>
#include <thread>
#include <utility>

#include "shapes.hpp"

SHAPE_SITE(site_in_fiber, "fiber_step fiber_main")
SHAPE_SITE(site_between_fibers, "fibers main")

static constexpr int fiber_count = 8;
static ucontext_t scheduler, contexts[fiber_count];
static char fiber_stacks[fiber_count][64 << 10];

SHAPE void fiber_step(int who, unsigned depth) {
  site_in_fiber(static_cast<std::size_t>(who) + depth);
  if (depth > 0) fiber_step(who, depth - 1);
  if (depth % 2) CHECK(!swapcontext(&contexts[who], &scheduler));
  site_in_fiber(static_cast<std::size_t>(who) + depth);
  asm volatile("" : : : "memory");  // no tail call
}
SHAPE void fiber_main(int who) {
  fiber_step(who, 40);
  asm volatile("" : : : "memory");
}
SHAPE void fibers() {
  for (int who = 0; who < fiber_count; ++who) {
    CHECK(!getcontext(&contexts[who]));
    contexts[who].uc_stack.ss_sp = fiber_stacks[who];
    contexts[who].uc_stack.ss_size = sizeof fiber_stacks[who];
    contexts[who].uc_link = &scheduler;
    makecontext(&contexts[who], reinterpret_cast<void (*)()>(fiber_main), 1, who);
  }
  for (int round = 0; round < 21; ++round) {  // 20 yields each, and the end
    for (ucontext_t& context : contexts) {
      CHECK(!swapcontext(&scheduler, &context));
      site_between_fibers(static_cast<std::size_t>(round));
    }
  }
}

struct generator {
  struct promise_type {
    unsigned value = 0;
    generator get_return_object() { return generator(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(unsigned v) noexcept {
      value = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
  explicit generator(std::coroutine_handle<promise_type> h) : handle(h) {}
  generator(generator&& other) noexcept : handle(std::exchange(other.handle, {})) {}
  ~generator() {
    if (handle) handle.destroy();
  }
  bool next() {
    if (!handle.done()) handle.resume();
    return !handle.done();
  }
};

SHAPE_SITE(site_in_coroutine, "resume_here coroutines main")
SHAPE_SITE(site_in_inner_coroutine, "resume_here coroutines main")

static generator inner(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    site_in_inner_coroutine(i);
    co_yield i;
  }
}
static generator outer(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    site_in_coroutine(i);
    generator nested = inner(i % 5);
    while (nested.next()) co_yield i;
  }
}
SHAPE void resume_here(generator& g, unsigned depth) {
  if (depth == 0) {
    while (g.next()) test::escape(&g);
  } else {
    g.next();
    resume_here(g, depth - 1);
  }
  asm volatile("" : : : "memory");
}
SHAPE void coroutines() {
  for (unsigned i = 1; i < 30; ++i) {
    generator g = outer(i);
    resume_here(g, i % 4 ? 1 : 0);
  }
}

SHAPE_SITE(site_in_first_frame, "thread_main")
SHAPE_SITE(site_in_cpp_thread, "cpp_thread_main")
SHAPE void* thread_main(void*) {
  site_in_first_frame(11);
  return nullptr;
}
SHAPE void cpp_thread_main() {
  site_in_cpp_thread(12);
  asm volatile("" : : : "memory");
}
SHAPE void threads() {
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, nullptr, thread_main, nullptr));
    pthread_join(thread, nullptr);
    std::thread(cpp_thread_main).join();
  }
}

int main() {
  fibers();
  coroutines();
  threads();
  shape::print();
}
