// Scopes that follow C++20 coroutines: what a coroutine allocates is charged to its scope, whichever thread resumes it,
// and whoever resumes it is afterwards in the scope where it was before.
//
//     struct promise_type : heapledger::scoped_promise {
//       auto initial_suspend() { return follow(std::suspend_always{}); }
//       auto final_suspend() noexcept { return leave(std::suspend_always{}); }
//       auto yield_value(int v) { value = v; return follow(std::suspend_always{}); }  // where it yields
//       ...
//     };
//
// Its scope is the one in which the coroutine was called, unless set_scope() says otherwise. Every co_await goes
// through await_transform() of this base; a promise with one of its own returns follow(awaitable) from it. The
// coroutine's frame itself is charged to the scope of the caller.
//
// A coroutine is resumed by one thread at a time, as always. Costs: two scope switches for each suspension.
#pragma once

#include <heapledger/scope.hpp>

#include <coroutine>
#include <utility>

namespace heapledger {

class scoped_promise {
 public:
  heapledger::scope coroutine_scope() const noexcept { return scope_; }
  // From the next resumption on.
  void set_scope(heapledger::scope to) noexcept { scope_ = to; }

  template <class Awaitable>
  auto await_transform(Awaitable&& awaitable) {
    return follow(std::forward<Awaitable>(awaitable));
  }

 protected:
  // An awaiter that does what the given one does, and switches scopes where the coroutine suspends and goes on.
  template <class Awaitable>
  auto follow(Awaitable&& awaitable) {
    using inner = decltype(awaiter_of(std::forward<Awaitable>(awaitable)));
    return following<inner>{*this, awaiter_of(std::forward<Awaitable>(awaitable))};
  }
  // For final_suspend: the coroutine ends.
  template <class Awaiter>
  auto leave(Awaiter awaiter) noexcept {
    return leaving<Awaiter>{*this, std::move(awaiter)};
  }

 private:
  template <class Awaitable>
  static decltype(auto) awaiter_of(Awaitable&& awaitable) {
    if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); })
      return std::forward<Awaitable>(awaitable).operator co_await();
    else if constexpr (requires { operator co_await(std::forward<Awaitable>(awaitable)); })
      return operator co_await(std::forward<Awaitable>(awaitable));
    else
      return std::forward<Awaitable>(awaitable);
  }

  template <class Inner>
  struct following {
    scoped_promise& promise;
    Inner inner;  // a reference where the awaitable is one: it lives as long as the whole expression

    bool await_ready() noexcept(noexcept(inner.await_ready())) { return inner.await_ready(); }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> coroutine) {
      promise.step_out();  // before anybody else may resume it
      // Once it is resumed elsewhere, the coroutine may end, and this object with it.
      scoped_promise& mine = promise;
      try {
        return inner.await_suspend(coroutine);
      } catch (...) {
        mine.step_in();  // it did not suspend
        throw;
      }
    }
    decltype(auto) await_resume() {
      promise.step_in();
      return inner.await_resume();
    }
  };

  template <class Inner>
  struct leaving {
    scoped_promise& promise;
    Inner inner;

    bool await_ready() noexcept {
      promise.step_out();
      return inner.await_ready();
    }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
      return inner.await_suspend(coroutine);
    }
    void await_resume() noexcept { inner.await_resume(); }
  };

  void step_in() noexcept {
    if (inside_ || heapledger_scope_enter == nullptr) return;
    inside_ = true;
    outside_ = heapledger_scope_enter(scope_.handle());
  }
  void step_out() noexcept {
    if (!inside_) return;
    inside_ = false;
    heapledger_scope_enter(outside_);
  }

  heapledger::scope scope_ = heapledger::scope::current();
  std::uint64_t outside_ = 0;
  bool inside_ = false;
};

}  // namespace heapledger
