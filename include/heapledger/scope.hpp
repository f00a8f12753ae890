// Scopes and budgets for C++20: which unit of work memory is charged to, how much it uses, and how much it may.
//
//     heapledger::scope request("request", {.live_bytes = 64 << 20, .action = heapledger::on_exceed::fail});
//     heapledger::run_in(request, [&] { handle(connection); });
//     log(request.used().peak_bytes);
//     request.close();
//
// Whatever is allocated by the thread meanwhile, by whatever code and whatever allocation function, is charged to the
// request; a free credits the scope that allocated, whoever frees and whenever, also after the scope was closed. What a
// scope uses counts for all its ancestors as well.
//
// Where the probe is not in the process (it is there under `heapledger run`, LD_PRELOAD, or when the program is linked
// with heapledger::heapledger) everything here does nothing and costs a test of a pointer; usage is all zero. Where the
// program's malloc is not the probe's, as under a sanitizer, there are no scopes either: see active().
//
// Code without exceptions or without RTTI may include this, too; where no part of the program has exceptions, operator
// new throws std::bad_alloc when a budget refuses, which ends it: there budgets are for malloc, or stop.
//
// Unless said otherwise each function may be called by any thread at any time. Costs: see heapledger.h, whose functions
// these are.
#pragma once

#include <heapledger/usage.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#if defined(_LIBCPP_VERSION) && !defined(__cpp_lib_jthread)
#error "libc++ has std::stop_token from version 18 on, and before 20 with -fexperimental-library only"
#endif

namespace heapledger {

// Is the probe in the process, and keeping books of what the program allocates?
inline bool active() noexcept {
  return heapledger_active != nullptr && heapledger_active() != 0;
}

// gone: closed, and recycled since its last block was freed.
enum class scope_state { gone = HEAPLEDGER_GONE, open = HEAPLEDGER_OPEN, closed = HEAPLEDGER_CLOSED };

// A handle to a scope: cheap to copy, may outlive it. Making a scope does not enter it; it lives until it is closed and
// its last block is freed, however many handles there are.
class scope {
 public:
  // A child of the scope that this thread is in. `name` says what kind of work it is, as "request" does: profiles show
  // all scopes of one name below one parent together. Where there is no room for another scope, the handle is the
  // parent's, and close() does nothing.
  explicit scope(std::string_view name, budget limits = {}) : scope(name, limits, current()) {}
  scope(std::string_view name, budget limits, scope parent);

  // The scope that this thread is in; process() when it is in none.
  static scope current() noexcept {
    return scope(heapledger_scope_current != nullptr ? heapledger_scope_current() : 0);
  }
  // Everything: the root of all scopes.
  static scope process() noexcept { return scope(std::uint64_t{0}); }

  // With descendants, closed ones included. Zero for a scope that is gone. Exact while its threads rest.
  usage used() const noexcept { return used(0); }
  // Without descendants, but for the peak.
  usage used_alone() const noexcept { return used(1); }

  // Triggered by request_stop(), or when an allocation does not fit into the budget of this scope or of one above it.
  // In the latter case its stop callbacks run in the allocating thread, inside malloc with whatever locks the caller
  // holds, outside of all scopes. Cannot be stopped at all (stop_possible() is false) in process(), and where the probe
  // is absent. The first call for a scope without a budget allocates, outside of all scopes.
  std::stop_token stop_token() const;
  void request_stop() const;
  // Whether an allocation ever did not fit into the budget of this scope, or of one above it.
  bool exceeded() const;

  // Nobody can enter it any more; who does enters its nearest open ancestor, and once it is gone, none. Threads that
  // are in it stay, and come back when a guard within ends, unless it is gone by then: nothing lived in it, and they
  // were elsewhere. What lives in it stays charged to it.
  void close() noexcept {
    if (handle_ != 0 && !borrowed_ && heapledger_scope_close != nullptr) heapledger_scope_close(handle_);
  }

  scope_state state() const noexcept {
    if (handle_ == 0) return scope_state::open;
    return heapledger_scope_state != nullptr ? static_cast<scope_state>(heapledger_scope_state(handle_))
                                             : scope_state::gone;
  }

  // Valid until this thread's next call of name().
  std::string_view name() const {
    static thread_local char text[256];
    if (handle_ == 0 || heapledger_scope_name == nullptr) return {};
    const std::size_t length = heapledger_scope_name(handle_, text, sizeof text);
    return {text, length < sizeof text ? length : sizeof text - 1};
  }

  scope parent() const noexcept {
    return scope(handle_ != 0 && heapledger_scope_parent != nullptr ? heapledger_scope_parent(handle_) : 0);
  }
  budget limits() const noexcept;
  // What is left of the limits of this scope and of all above it, without reserves: the smallest each.
  budget remaining() const noexcept;

  // Calls `react(scope, used)` in the allocating thread when live bytes are about to reach `fraction` (0 to 1) of the
  // scope's limit on live bytes without its reserve, before the allocation is served; again after they were an eighth
  // lower. It runs outside of all scopes, inside malloc with whatever locks its caller holds, may free memory, and must
  // not throw. At most four for each scope, set before the scope is entered, by one thread; false when there are more,
  // no limit, or no such fraction.
  bool at_fraction(double fraction, std::function<void(scope, usage)> react) const;

  std::uint64_t handle() const noexcept { return handle_; }
  static scope from_handle(std::uint64_t handle) noexcept { return scope(handle); }
  bool operator==(const scope& other) const noexcept { return handle_ == other.handle_; }

 private:
  struct control;
  explicit scope(std::uint64_t handle) noexcept : handle_(handle) {}
  usage used(int alone) const noexcept;
  control* controls() const;  // as long as the scope is held, or nobody else has its handle

  std::uint64_t handle_;
  bool borrowed_ = false;  // the parent's: there was no room
};

// This thread is in the scope while the object lives, then again where it was. Objects are nested, and stay in their
// thread. (Said twice: clang asks the class, gcc the constructor.)
class [[nodiscard]] enter {
 public:
  [[nodiscard]] explicit enter(scope to) noexcept
      : before_(heapledger_scope_enter != nullptr ? heapledger_scope_enter(to.handle()) : 0) {}
  ~enter() {
    if (heapledger_scope_leave != nullptr) heapledger_scope_leave(before_);
  }
  enter(const enter&) = delete;
  enter& operator=(const enter&) = delete;

 private:
  std::uint64_t before_;
};

// A scope that is closed when this object ends, and not copied by mistake.
class owned_scope {
 public:
  [[nodiscard]] explicit owned_scope(std::string_view name, budget limits = {}) : scope_(name, limits) {}
  [[nodiscard]] owned_scope(std::string_view name, budget limits, scope parent) : scope_(name, limits, parent) {}
  ~owned_scope() { scope_.close(); }
  owned_scope(const owned_scope&) = delete;
  owned_scope& operator=(const owned_scope&) = delete;

  operator scope() const noexcept { return scope_; }  // NOLINT(google-explicit-constructor): it is one
  const scope* operator->() const noexcept { return &scope_; }

 private:
  scope scope_;
};

// Calls f in the scope; returns what it returns, lets through what it throws.
template <class F>
decltype(auto) run_in(scope in, F&& f) {
  const enter inside(in);
  return std::forward<F>(f)();
}

// What bind() makes: may be called as f may, on a const object too where that may, and as an rvalue.
template <class F>
class bound {
 public:
  bound(scope in, F f) : in_(in), f_(std::move(f)) {}

  template <class... Arguments>
  requires std::invocable<F&, Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) & {
    const enter inside(in_);
    return std::invoke(f_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  requires std::invocable<const F&, Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) const& {
    const enter inside(in_);
    return std::invoke(f_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  requires std::invocable<F, Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) && {
    const enter inside(in_);
    return std::invoke(std::move(f_), std::forward<Arguments>(arguments)...);
  }

  const F& get() const noexcept { return f_; }

 private:
  scope in_;
  F f_;
};

// A callable that calls f in the scope, in whatever thread it is called: for work that is handed on.
template <class F>
[[nodiscard]] auto bind(scope in, F&& f) {
  return bound<std::decay_t<F>>(in, std::forward<F>(f));
}

// While it lives, no budget fails an allocation of this thread: for code that must not fail, such as destructors. What
// passes over a limit is counted in the profile. Unwinding is spared without it. It stays in its thread: not across
// co_await.
class [[nodiscard]] must_not_fail {
 public:
  [[nodiscard]] must_not_fail() noexcept : on_(heapledger_spare != nullptr && heapledger_spare(1) != 0) {}
  ~must_not_fail() {
    if (on_) heapledger_spare(0);
  }
  must_not_fail(const must_not_fail&) = delete;
  must_not_fail& operator=(const must_not_fail&) = delete;

 private:
  bool on_;
};

// Charges a block to another scope from now on. False, and nothing changed: the block is not the program's allocator's,
// or the budget does not admit it; true where nothing is counted. Nobody else may free or resize the block meanwhile.
inline bool transfer(void* block, scope to) noexcept {
  return heapledger_scope_transfer == nullptr || heapledger_scope_transfer(block, to.handle()) != 0;
}

// Charges memory that malloc does not know (mmap, a GPU) to a scope: bytes more, or if negative, fewer, also after it
// was closed. False: over budget.
inline bool add_foreign(scope to, std::int64_t bytes) noexcept {
  return heapledger_scope_foreign == nullptr || heapledger_scope_foreign(to.handle(), bytes) != 0;
}

}  // namespace heapledger

// What the above is made of, and what goes with it.
#include <heapledger/budget_exceeded.hpp>
#include <heapledger/detail/scope_control.hpp>
#include <heapledger/scope_resource.hpp>
