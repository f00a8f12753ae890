// What scope.hpp's functions do: the object that hangs on a scope when stop tokens, limits or callbacks are wanted, and
// the calls of the C functions.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <heapledger/scope.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace heapledger {

// What hangs on a scope: made when somebody needs it, gone when the scope is.
struct scope::control {
  // What it is made of differs between standard libraries, and one process can have two.
#ifdef _LIBCPP_ABI_VERSION
  static constexpr std::uint64_t kind = 0x5c'd1'7a'6e'f0'93'b8'30 + _LIBCPP_ABI_VERSION;
#else
  static constexpr std::uint64_t kind = 0x5c'd1'7a'6e'f0'93'b8'11;
#endif
  // What hangs on the scope; or nullptr, also where it is somebody else's.
  static control* of(const scope& which) {
    return static_cast<control*>(heapledger_scope_attach_as(which.handle(), kind, nullptr, nullptr, nullptr));
  }

  // Who ends the scope must not wait for callbacks that run: they may wait for what that thread holds. The last of the
  // two takes this object away.
  enum class passing { not_yet, now, done, ended };
  struct pass_on {
    control* to;
    void operator()() const noexcept {
      control* const mine = to;
      if (mine->passed.exchange(passing::now) == passing::ended) return;
      mine->source.request_stop();
      if (mine->passed.exchange(passing::done) == passing::ended) delete mine;
    }
  };

  // For a scope below that one, or below the process; it is stopped when that one is.
  static std::unique_ptr<control> below(scope above);

  std::stop_source source;
  std::atomic<bool> exceeded{false};
  std::atomic<passing> passed{passing::not_yet};
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
  static void destroy(void* user) {
    auto* const self = static_cast<control*>(user);
    if (self->passed.exchange(passing::ended) != passing::now) delete self;
  }
};

namespace detail {
// Keeps what hangs on a scope and on those above it, while it lives. False where the scope is gone.
class held_scope {
 public:
  explicit held_scope(scope of) noexcept
      : handle_(heapledger_scope_hold != nullptr && heapledger_scope_hold(of.handle()) != 0 ? of.handle() : 0) {}
  ~held_scope() {
    if (handle_ != 0) heapledger_scope_release(handle_);
  }
  held_scope(const held_scope&) = delete;
  held_scope& operator=(const held_scope&) = delete;
  explicit operator bool() const noexcept { return handle_ != 0; }

 private:
  std::uint64_t handle_;
};

// Each library has its own.
[[gnu::visibility("hidden")]] inline constinit std::atomic<bool> stays_loaded{false};

// The probe calls this code as long as there are scopes, and when a later budget refuses: a plugin must not be
// unloaded.
inline void stay_loaded(void* code) {
  if (stays_loaded.exchange(true, std::memory_order_relaxed)) return;
  Dl_info found;
  void* library = nullptr;
  if (dladdr1(code, &found, &library, RTLD_DL_LINKMAP) == 0) return;
  const char* name = static_cast<const link_map*>(library)->l_name;
  if (name[0] != 0) dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);  // the program itself has no name
}

// Null in a program of which no part has exceptions. Weak, so that all its parts make scopes alike.
[[noreturn, gnu::weak]] void throw_budget_exceeded(const heapledger_refusal* why);
[[gnu::weak]] int may_throw_budget_exceeded();
[[gnu::weak]] int may_fail_malloc(const void* caller);
}  // namespace detail

inline scope::scope(std::string_view name, budget limits, scope parent) : handle_(0) {
  if (heapledger_scope_create == nullptr) return;
  const heapledger_budget plain{limits.live_bytes, limits.allocated_bytes, limits.allocations,
                                limits.action == on_exceed::fail ? HEAPLEDGER_FAIL : HEAPLEDGER_STOP,
                                limits.reserve_bytes};
  const bool limited =
      limits.live_bytes != unlimited || limits.allocated_bytes != unlimited || limits.allocations != unlimited;
  if (limited && limits.action == on_exceed::fail) {
    heapledger_on_refused_new(detail::throw_budget_exceeded);
    if (heapledger_on_refused_new_ask != nullptr) heapledger_on_refused_new_ask(detail::may_throw_budget_exceeded);
    if (heapledger_on_refused_malloc_ask != nullptr) heapledger_on_refused_malloc_ask(detail::may_fail_malloc);
  }
  // A probe older than this header has no create_with: what hangs on the scope is then attached when it is asked for.
  if (!limited || heapledger_scope_create_with == nullptr) {
    handle_ = heapledger_scope_create(name.data(), name.size(), parent.handle(), &plain);
  } else {
    const enter outside(process());
    const detail::held_scope held(parent);
    scope above = parent;
    while (above.handle_ != 0 && heapledger_scope_state(above.handle_) != HEAPLEDGER_OPEN) above = above.parent();
    auto controls = control::below(above);
    handle_ = heapledger_scope_create_with(name.data(), name.size(), parent.handle(), &plain, control::kind,
                                           controls.get(), control::notify, control::destroy);
    if (handle_ != 0) static_cast<void>(controls.release());
  }
  if (handle_ == 0) {
    handle_ = parent.handle();
    borrowed_ = true;
  }
}

inline std::unique_ptr<scope::control> scope::control::below(scope above) {
  detail::stay_loaded(reinterpret_cast<void*>(destroy));
  auto fresh = std::make_unique<control>();
  for (; above.handle_ != 0; above = above.parent()) {
    if (const control* const of = above.controls(); of != nullptr) {
      fresh->from_parent.emplace(of->source.get_token(), pass_on{fresh.get()});
      break;
    }
  }
  return fresh;
}

inline usage scope::used(int alone) const noexcept {
  heapledger_usage raw{};
  if (heapledger_scope_usage == nullptr || heapledger_scope_usage(handle_, alone, &raw) == 0) return {};
  return {raw.live_bytes,  raw.live_blocks, raw.peak_bytes, raw.allocated_bytes,
          raw.allocations, raw.frees,       raw.error_bytes};
}

inline scope::control* scope::controls() const {
  if (handle_ == 0 || heapledger_scope_attach_as == nullptr) return nullptr;
  if (control* known = control::of(*this); known != nullptr) return known;
  const enter outside(process());
  auto fresh = control::below(parent());
  void* const attached =
      heapledger_scope_attach_as(handle_, control::kind, fresh.get(), control::notify, control::destroy);
  if (attached == fresh.get()) return fresh.release();
  return static_cast<control*>(attached);
}

inline std::stop_token scope::stop_token() const {
  const detail::held_scope held(*this);
  const control* of = held ? controls() : nullptr;
  return of != nullptr ? of->source.get_token() : std::stop_token{};
}

inline bool scope::exceeded() const {
  const detail::held_scope held(*this);
  if (!held || heapledger_scope_attach_as == nullptr) return false;
  for (scope at = *this; at.handle_ != 0; at = at.parent()) {
    const control* known = control::of(at);
    if (known != nullptr && known->exceeded.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

inline void scope::request_stop() const {
  const detail::held_scope held(*this);
  if (control* of = held ? controls() : nullptr; of != nullptr) of->source.request_stop();
}

inline budget scope::limits() const noexcept {
  heapledger_budget raw{};
  if (handle_ == 0 || heapledger_scope_limits == nullptr || heapledger_scope_limits(handle_, &raw) == 0) return {};
  return {raw.live_bytes, raw.allocated_bytes, raw.allocations,
          raw.on_exceed == HEAPLEDGER_FAIL ? on_exceed::fail : on_exceed::stop, raw.reserve_bytes};
}

namespace detail {
// What there is for code that may fail.
inline std::uint64_t open_to_all(const budget& of) {
  if (of.live_bytes == unlimited) return unlimited;
  return of.live_bytes - std::min(of.live_bytes, of.reserve_bytes);
}
}  // namespace detail

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
    take(left.live_bytes, detail::open_to_all(limit),
         now.live_bytes > 0 ? static_cast<std::uint64_t>(now.live_bytes) : 0);
    take(left.allocated_bytes, limit.allocated_bytes, now.allocated_bytes);
    take(left.allocations, limit.allocations, now.allocations);
    if (limit.action == on_exceed::fail) left.action = on_exceed::fail;
  }
  return left;
}

inline bool scope::at_fraction(double fraction, std::function<void(scope, usage)> react) const {
  const std::uint64_t limit = detail::open_to_all(limits());
  if (limit == unlimited || !(fraction >= 0 && fraction <= 1)) return false;
  const enter outside(process());
  const detail::held_scope held(*this);
  control* of = held ? controls() : nullptr;
  if (of == nullptr) return false;
  const int index =
      heapledger_scope_threshold(handle_, static_cast<std::uint64_t>(fraction * static_cast<double>(limit)));
  if (index < 0) return false;
  of->reactions[index] = std::move(react);
  return true;
}

}  // namespace heapledger
