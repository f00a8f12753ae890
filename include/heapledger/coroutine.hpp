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
// Its scope is the one in which the coroutine was called, unless set_scope() says otherwise. A guard
// (heapledger::enter) in it may live across co_await. Every co_await goes through await_transform() of this base; a
// promise with one of its own returns follow(awaitable) from it. The coroutine's frame itself is charged to the scope
// of the caller.
//
// A promise from which exceptions leave (unhandled_exception() { throw; }, as generators have it) says rethrow()
// instead: else whoever resumed the coroutine stays in its scope.
//
// Whoever destroys a coroutine that is suspended is afterwards where it was, too: what lives in the coroutine ends in
// its scope.
//
// A coroutine is resumed by one thread at a time, as always. Costs: two scope switches for each suspension.
#pragma once

#include <heapledger/scope.hpp>

#include <coroutine>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace heapledger {

class scoped_promise {
 public:
  scoped_promise() noexcept = default;
  ~scoped_promise() {
    if (ends_) step_out();
  }
  scoped_promise(const scoped_promise&) = delete;
  scoped_promise& operator=(const scoped_promise&) = delete;

  heapledger::scope coroutine_scope() const noexcept { return scope_; }
  // From the next resumption on.
  void set_scope(heapledger::scope to) noexcept {
    scope_ = to;
    moved_ = true;
  }

  template <class Awaitable>
  auto await_transform(Awaitable&& awaitable) {
    // A temporary lives as long as the whole expression, which is until the coroutine goes on.
    return following<Awaitable&&>(*this, std::forward<Awaitable>(awaitable));
  }

 protected:
  // An awaiter that does what the given one does, and switches scopes where the coroutine suspends and goes on. It
  // keeps what it is given as a temporary, or moved; anything else must live until then.
  template <class Awaitable>
  auto follow(Awaitable&& awaitable) {
    return following<Awaitable>(*this, std::forward<Awaitable>(awaitable));
  }
  // For final_suspend: the coroutine ends.
  template <class Awaiter>
  auto leave(Awaiter awaiter) noexcept {
    return leaving<Awaiter>{*this, std::move(awaiter)};
  }
#ifdef __cpp_exceptions
  // For unhandled_exception: the coroutine ends, and whoever resumed it gets the exception.
  [[noreturn]] void rethrow() {
    step_out();
    throw;
  }
#endif

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

  // Back into the scope, where the coroutine did not suspend.
  struct stepping_back {
    scoped_promise* in;
    ~stepping_back() {
      if (in != nullptr) in->step_in();
    }
  };

  // `Awaitable` is a reference, or what is kept.
  template <class Awaitable>
  struct following {
    scoped_promise& promise;
    Awaitable awaitable;
    decltype(awaiter_of(std::declval<Awaitable>())) inner = awaiter_of(std::forward<Awaitable>(awaitable));

    following(scoped_promise& of, Awaitable&& from) : promise(of), awaitable(std::forward<Awaitable>(from)) {}
    ~following() { promise.step_in_to_end(); }
    following(const following&) = delete;  // the awaiter may refer to what is kept
    following& operator=(const following&) = delete;

    bool await_ready() noexcept(noexcept(inner.await_ready())) { return inner.await_ready(); }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> coroutine) {
      stepping_back unless_suspended{promise.inside_ ? &promise : nullptr};
      promise.step_out();  // before anybody else may resume it
      // Once it is resumed elsewhere, the coroutine may end, and this object with it.
      if constexpr (std::is_void_v<decltype(inner.await_suspend(coroutine))>) {
        inner.await_suspend(coroutine);
        unless_suspended.in = nullptr;
      } else {
        auto result = inner.await_suspend(coroutine);
        unless_suspended.in = nullptr;
        return result;
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
    if (moved_) at_ = scope_.handle();
    moved_ = false;
    outside_ = heapledger_scope_enter(at_);
  }
  void step_out() noexcept {
    if (!inside_) return;
    inside_ = false;
    at_ = heapledger_scope_leave(outside_);
  }

  // What the coroutine is suspended by ends, and it was not resumed: it is being destroyed. The guards in it end next,
  // and go back to where each of them came from; the promise ends last.
  void step_in_to_end() noexcept {
    if (inside_) return;
    ends_ = true;
    step_in();
  }

  heapledger::scope scope_ = heapledger::scope::current();
  std::uint64_t at_ = 0;  // where it was when it was suspended: in a guard's scope, perhaps
  std::uint64_t outside_ = 0;
  bool moved_ = true;  // since then, or not begun
  bool inside_ = false;
  bool ends_ = false;  // destroyed while it was suspended
};

}  // namespace heapledger
