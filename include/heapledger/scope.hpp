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
// with heapledger::heapledger) everything here does nothing and costs a test of a pointer; usage is all zero.
//
// Unless said otherwise each function may be called by any thread at any time. Costs: see heapledger.h, whose functions
// these are.
#pragma once

#include <heapledger/heapledger.h>
#include <heapledger/detail/may_throw.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

namespace heapledger {

inline constexpr std::uint64_t unlimited = HEAPLEDGER_UNLIMITED;

// Sizes are requested bytes.
struct usage {
  std::int64_t live_bytes = 0;
  std::int64_t live_blocks = 0;
  std::int64_t peak_bytes = 0;  // highest live_bytes with descendants, to within error_bytes
  std::uint64_t allocated_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::int64_t error_bytes = 0;  // of peak_bytes; 0 where one thread worked in the scope

  bool operator==(const usage&) const = default;
  // What came after an earlier look at the same scope; the peak stays the whole one's.
  usage since(const usage& before) const noexcept {
    return {live_bytes - before.live_bytes,
            live_blocks - before.live_blocks,
            peak_bytes,
            allocated_bytes - before.allocated_bytes,
            allocations - before.allocations,
            frees - before.frees,
            error_bytes};
  }
};

// What happens when an allocation does not fit into a budget.
enum class on_exceed {
  stop,  // the scope's stop_token is triggered; the allocation passes
  fail   // the same, and the allocation fails: malloc gives nullptr and ENOMEM, new throws budget_exceeded
};

// What a scope may use together with its descendants. Only `fail` keeps it below the limits, and then to the byte.
struct budget {
  std::uint64_t live_bytes = unlimited;       // at any moment
  std::uint64_t allocated_bytes = unlimited;  // ever
  std::uint64_t allocations = unlimited;      // ever
  on_exceed action = on_exceed::stop;
  std::uint64_t reserve_bytes = 0;  // the part of live_bytes that is kept for code which must not fail

  bool operator==(const budget&) const = default;
};

// Is the probe in the process, and keeping books?
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
  // parent's.
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

  // Triggered when an allocation does not fit into the budget of this scope or of one above it, or by request_stop().
  // Cannot be stopped at all (stop_possible() is false) in process(), and where the probe is absent. The first call for
  // a scope without a budget allocates, outside of all scopes.
  std::stop_token stop_token() const;
  void request_stop() const;
  // Whether an allocation ever did not fit into the budget of this scope, or of one above it.
  bool exceeded() const;

  // Nobody can enter it any more; who does enters its nearest open ancestor. What lives in it stays charged to it.
  void close() noexcept {
    if (handle_ != 0) heapledger_scope_close(handle_);
  }

  scope_state state() const noexcept {
    if (handle_ == 0) return scope_state::open;
    return heapledger_scope_state != nullptr ? static_cast<scope_state>(heapledger_scope_state(handle_))
                                             : scope_state::gone;
  }

  // Valid until this thread's next call of name().
  std::string_view name() const {
    static thread_local char text[256];
    if (handle_ == 0) return {};
    const std::size_t length = heapledger_scope_name(handle_, text, sizeof text);
    return {text, length < sizeof text ? length : sizeof text - 1};
  }

  scope parent() const noexcept { return scope(handle_ != 0 ? heapledger_scope_parent(handle_) : 0); }
  budget limits() const noexcept;
  // What is left of the limits of this scope and of all above it: the smallest each.
  budget remaining() const noexcept;

  // Calls `react(scope, used)` in the allocating thread when live bytes are about to reach `fraction` of the scope's
  // limit on live bytes, before the allocation is served; again after they were an eighth lower. It runs outside of all
  // scopes, may free memory, and must not throw. At most four for each scope, set before the scope is entered, by one
  // thread; false when there are more, or no limit.
  bool at_fraction(double fraction, std::function<void(scope, usage)> react) const;

  std::uint64_t handle() const noexcept { return handle_; }
  static scope from_handle(std::uint64_t handle) noexcept { return scope(handle); }
  bool operator==(const scope&) const = default;

 private:
  struct control;
  explicit scope(std::uint64_t handle) noexcept : handle_(handle) {}
  usage used(int alone) const noexcept;
  control* controls() const;

  std::uint64_t handle_;
};

// This thread is in the scope while the object lives, then again where it was. Objects are nested, and stay in their
// thread.
class [[nodiscard]] enter {
 public:
  explicit enter(scope to) noexcept
      : before_(heapledger_scope_enter != nullptr ? heapledger_scope_enter(to.handle()) : 0) {}
  ~enter() {
    if (heapledger_scope_enter != nullptr) heapledger_scope_enter(before_);
  }
  enter(const enter&) = delete;
  enter& operator=(const enter&) = delete;

 private:
  std::uint64_t before_;
};

// A scope that is closed when this object ends, and not copied by mistake.
class owned_scope {
 public:
  explicit owned_scope(std::string_view name, budget limits = {}) : scope_(name, limits) {}
  owned_scope(std::string_view name, budget limits, scope parent) : scope_(name, limits, parent) {}
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

// A callable that calls f in the scope, in whatever thread it is called: for work that is handed on.
template <class F>
auto bind(scope in, F&& f) {
  return [in, f = std::forward<F>(f)]<class... Arguments>(Arguments&&... arguments) mutable -> decltype(auto) {
    const enter inside(in);
    return std::invoke(f, std::forward<Arguments>(arguments)...);
  };
}

// While it lives, no budget fails an allocation of this thread: for code that must not fail, such as destructors. What
// passes over a limit is counted in the profile. Unwinding is spared without it.
class [[nodiscard]] must_not_fail {
 public:
  must_not_fail() noexcept : on_(heapledger_spare != nullptr && heapledger_spare(1) != 0) {}
  ~must_not_fail() {
    if (on_) heapledger_spare(0);
  }
  must_not_fail(const must_not_fail&) = delete;
  must_not_fail& operator=(const must_not_fail&) = delete;

 private:
  bool on_;
};

// Charges a block to another scope from now on. False, and nothing changed: the block is not the program's allocator's,
// or the budget does not admit it. Nobody else may free or resize the block meanwhile.
inline bool transfer(void* block, scope to) noexcept {
  return heapledger_scope_transfer != nullptr && heapledger_scope_transfer(block, to.handle()) != 0;
}

// Charges memory that malloc does not know (mmap, a GPU) to a scope: bytes more, or if negative, fewer. False: over
// budget.
inline bool add_foreign(scope to, std::int64_t bytes) noexcept {
  return heapledger_scope_foreign == nullptr || heapledger_scope_foreign(to.handle(), bytes) != 0;
}

// A memory resource whose memory is charged to one scope, wherever it is asked from. `upstream` must live as long.
class scope_resource : public std::pmr::memory_resource {
 public:
  explicit scope_resource(scope charged,
                          std::pmr::memory_resource* upstream = std::pmr::get_default_resource()) noexcept
      : scope_(charged), upstream_(upstream) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const enter inside(scope_);
    return upstream_->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    upstream_->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    const auto* same = dynamic_cast<const scope_resource*>(&other);
    return same != nullptr && same->upstream_->is_equal(*upstream_);
  }

  scope scope_;
  std::pmr::memory_resource* upstream_;
};

// What operator new throws where a budget says `fail`.
class budget_exceeded : public std::bad_alloc {
 public:
  explicit budget_exceeded(const heapledger_refusal& why) noexcept
      : scope_(scope::from_handle(why.scope)), used_(scope_.used()), requested_bytes_(why.requested_bytes) {
    static constexpr const char* resources[] = {"live bytes", "allocated bytes", "allocations"};
    const budget limit = scope_.limits();
    const std::uint64_t limits[] = {limit.live_bytes - limit.reserve_bytes, limit.allocated_bytes, limit.allocations};
    const std::uint64_t use[] = {static_cast<std::uint64_t>(used_.live_bytes), used_.allocated_bytes,
                                 used_.allocations};
    const std::size_t which = why.resource < 3 ? why.resource : 0;
    std::snprintf(text_, sizeof text_, "over budget in scope %.100s: %llu of %llu %s used, %llu bytes requested",
                  scope_.name().data(), static_cast<unsigned long long>(use[which]),
                  static_cast<unsigned long long>(limits[which]), resources[which],
                  static_cast<unsigned long long>(why.requested_bytes));
  }
  const char* what() const noexcept override { return text_; }
  heapledger::scope where() const noexcept { return scope_; }  // whose budget it was
  const usage& used() const noexcept { return used_; }         // when it was refused
  std::uint64_t requested_bytes() const noexcept { return requested_bytes_; }

 private:
  heapledger::scope scope_;
  usage used_;
  std::uint64_t requested_bytes_;
  char text_[240];
};

// What hangs on a scope: made when somebody needs it, gone when the scope is.
struct scope::control {
  struct pass_on {
    std::stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };

  std::stop_source source;
  std::atomic<bool> exceeded{false};
  std::optional<std::stop_callback<pass_on>> from_parent;
  std::function<void(scope, usage)> reactions[4];

  static void notify(void* user, const heapledger_notice* notice) {
    auto& self = *static_cast<control*>(user);
    const scope where(notice->scope);
    if (notice->what == HEAPLEDGER_EXCEEDED) {
      self.exceeded.store(true, std::memory_order_relaxed);
      self.source.request_stop();
    }
    if (notice->what == HEAPLEDGER_THRESHOLD && notice->index < 4 && self.reactions[notice->index])
      self.reactions[notice->index](where, where.used());
  }
  static void destroy(void* user) { delete static_cast<control*>(user); }
};

namespace detail {
[[noreturn]] inline void throw_budget_exceeded(const heapledger_refusal* why) {
  const enter outside(scope::process());  // the exception itself needs memory
  throw budget_exceeded(*why);
}
inline int may_throw_budget_exceeded() {
  return may_throw<budget_exceeded>() ? 1 : 0;
}
}  // namespace detail

inline scope::scope(std::string_view name, budget limits, scope parent) : handle_(0) {
  if (heapledger_scope_create == nullptr) return;
  const heapledger_budget plain{limits.live_bytes, limits.allocated_bytes, limits.allocations,
                                limits.action == on_exceed::fail ? HEAPLEDGER_FAIL : HEAPLEDGER_STOP,
                                limits.reserve_bytes};
  handle_ = heapledger_scope_create(name.data(), name.size(), parent.handle(), &plain);
  if (handle_ == 0) {
    handle_ = parent.handle();
  } else if (limits.live_bytes != unlimited || limits.allocated_bytes != unlimited || limits.allocations != unlimited) {
    if (limits.action == on_exceed::fail) {
      heapledger_on_refused_new(detail::throw_budget_exceeded);
      if (heapledger_on_refused_new_ask != nullptr) heapledger_on_refused_new_ask(detail::may_throw_budget_exceeded);
    }
    controls();
  }
}

inline usage scope::used(int alone) const noexcept {
  heapledger_usage raw{};
  if (heapledger_scope_usage == nullptr || heapledger_scope_usage(handle_, alone, &raw) == 0) return {};
  return {raw.live_bytes,  raw.live_blocks, raw.peak_bytes, raw.allocated_bytes,
          raw.allocations, raw.frees,       raw.error_bytes};
}

inline scope::control* scope::controls() const {
  if (handle_ == 0) return nullptr;
  if (void* known = heapledger_scope_attach(handle_, nullptr, nullptr, nullptr); known != nullptr)
    return static_cast<control*>(known);
  const enter outside(process());
  auto fresh = std::make_unique<control>();
  if (control* above = parent().controls(); above != nullptr)
    fresh->from_parent.emplace(above->source.get_token(), control::pass_on{&fresh->source});
  void* const attached = heapledger_scope_attach(handle_, fresh.get(), control::notify, control::destroy);
  if (attached == fresh.get()) return fresh.release();
  return static_cast<control*>(attached);
}

inline std::stop_token scope::stop_token() const {
  const control* of = controls();
  return of != nullptr ? of->source.get_token() : std::stop_token{};
}

inline bool scope::exceeded() const {
  for (scope at = *this; at.handle_ != 0; at = at.parent()) {
    const void* known = heapledger_scope_attach(at.handle_, nullptr, nullptr, nullptr);
    if (known != nullptr && static_cast<const control*>(known)->exceeded.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

inline void scope::request_stop() const {
  if (control* of = controls(); of != nullptr) of->source.request_stop();
}

inline budget scope::limits() const noexcept {
  heapledger_budget raw{};
  if (handle_ == 0 || heapledger_scope_limits(handle_, &raw) == 0) return {};
  return {raw.live_bytes, raw.allocated_bytes, raw.allocations,
          raw.on_exceed == HEAPLEDGER_FAIL ? on_exceed::fail : on_exceed::stop, raw.reserve_bytes};
}

inline budget scope::remaining() const noexcept {
  budget left;
  const auto take = [](std::uint64_t& smallest, std::uint64_t limit, std::uint64_t used) {
    if (limit == unlimited) return;
    const std::uint64_t here = used < limit ? limit - used : 0;
    if (here < smallest) smallest = here;
  };
  for (scope at = *this; at.handle_ != 0; at = at.parent()) {
    const budget limit = at.limits();
    if (limit.live_bytes == unlimited && limit.allocated_bytes == unlimited && limit.allocations == unlimited) continue;
    const usage now = at.used();
    take(left.live_bytes, limit.live_bytes, now.live_bytes > 0 ? static_cast<std::uint64_t>(now.live_bytes) : 0);
    take(left.allocated_bytes, limit.allocated_bytes, now.allocated_bytes);
    take(left.allocations, limit.allocations, now.allocations);
    if (limit.action == on_exceed::fail) left.action = on_exceed::fail;
  }
  return left;
}

inline bool scope::at_fraction(double fraction, std::function<void(scope, usage)> react) const {
  const std::uint64_t limit = limits().live_bytes;
  if (handle_ == 0 || limit == unlimited) return false;
  const enter outside(process());
  control* of = controls();
  if (of == nullptr) return false;
  const int index =
      heapledger_scope_threshold(handle_, static_cast<std::uint64_t>(fraction * static_cast<double>(limit)));
  if (index < 0) return false;
  of->reactions[index] = std::move(react);
  return true;
}

}  // namespace heapledger
