// Scopes for Asio without a hook: an executor that runs everything in a scope, and co_spawn into a scope.
//
//     asio::post(heapledger::scoped(pool.get_executor(), request), [=] { parse(body); });
//     heapledger::spawn_in(request, io, session(std::move(socket)), asio::detached);
//
// To be included after Asio, or Boost.Asio. A coroutine that was spawned on a scoped executor is in its scope after
// each co_await, in whatever thread it goes on. A strand goes inside: scoped(make_strand(io), request). Where the whole
// program is compiled with asio_tracking.hpp, scopes follow handlers by themselves, and only spawn_in is needed of this
// header.
//
// A handler that bind() made keeps its executor, from Asio 1.22 on: bind(request, asio::bind_executor(strand, f)).
//
// What an operation allocates before its handler runs is charged to whoever begins it. Asio keeps blocks for reuse:
// asio_tracking.hpp says what to define so that they are not taken over by the next scope's operations.
#pragma once

#include <heapledger/scope.hpp>

#include <type_traits>
#include <utility>

#ifdef ASIO_VERSION
#define HEAPLEDGER_ASIO_NAME asio
#define HEAPLEDGER_ASIO ::asio
#define HEAPLEDGER_ASIO_VERSION ASIO_VERSION
#elif defined(BOOST_ASIO_VERSION)
#define HEAPLEDGER_ASIO_NAME boost::asio
#define HEAPLEDGER_ASIO ::boost::asio
#define HEAPLEDGER_ASIO_VERSION BOOST_ASIO_VERSION
#else
#error "include <asio.hpp> or <boost/asio.hpp> before <heapledger/asio.hpp>"
#endif

namespace heapledger {

// An executor (Asio's standard-executor model) that calls through `Inner`, in a scope.
template <class Inner>
class scoped_executor {
 public:
  scoped_executor(Inner inner, scope in) noexcept : inner_(std::move(inner)), scope_(in) {}

  template <class F>
  void execute(F&& f) const {
    auto in_scope = [in = scope_, work = std::decay_t<F>(std::forward<F>(f))]() mutable {
      const enter inside(in);
      auto now = std::move(work);  // what it holds is destroyed in the scope, too
      std::move(now)();
    };
#if HEAPLEDGER_ASIO_VERSION >= 102300
    inner_.execute(std::move(in_scope));
#else
    if constexpr (requires { inner_.execute(std::move(in_scope)); })
      inner_.execute(std::move(in_scope));
    else
      HEAPLEDGER_ASIO::execution::execute(inner_, std::move(in_scope));
#endif
  }

  template <class Property>
  requires HEAPLEDGER_ASIO::can_query<Inner, Property>::value decltype(auto) query(const Property& asked) const
      noexcept(HEAPLEDGER_ASIO::is_nothrow_query<Inner, Property>::value) {
    return HEAPLEDGER_ASIO::query(inner_, asked);
  }
  template <class Property>
  requires HEAPLEDGER_ASIO::can_require<Inner, Property>::value auto require(const Property& wanted) const {
    return of(HEAPLEDGER_ASIO::require(inner_, wanted), scope_);
  }
  template <class Property>
  requires HEAPLEDGER_ASIO::can_prefer<Inner, Property>::value auto prefer(const Property& wanted) const {
    return of(HEAPLEDGER_ASIO::prefer(inner_, wanted), scope_);
  }

  const Inner& inner() const noexcept {
    return inner_;
  }
  scope charged() const noexcept {
    return scope_;
  }
  bool operator==(const scoped_executor& other) const noexcept {
    return inner_ == other.inner_ && scope_ == other.scope_;
  }
  bool operator!=(const scoped_executor& other) const noexcept {
    return !(*this == other);
  }

 private:
  template <class Other>
  static scoped_executor<Other> of(Other inner, scope in) {
    return {std::move(inner), in};
  }

  Inner inner_;
  scope scope_;
};

template <class Executor>
scoped_executor<Executor> scoped(Executor executor, scope in) {
  return {std::move(executor), in};
}

}  // namespace heapledger

// A bound handler keeps what goes with its handler: a strand that it was bound to, its allocator, its cancellation
// slot.
#if HEAPLEDGER_ASIO_VERSION >= 102200
namespace HEAPLEDGER_ASIO_NAME {
template <template <class, class> class Associator, class F, class Default>
struct associator<Associator, ::heapledger::bound<F>, Default> {
  using type = typename Associator<F, Default>::type;
  static decltype(auto) get(const ::heapledger::bound<F>& of) noexcept { return Associator<F, Default>::get(of.get()); }
  static decltype(auto) get(const ::heapledger::bound<F>& of, const Default& otherwise) noexcept {
    return Associator<F, Default>::get(of.get(), otherwise);
  }
};
}  // namespace HEAPLEDGER_ASIO_NAME
#endif

namespace heapledger {

#if defined(ASIO_HAS_CO_AWAIT) || defined(BOOST_ASIO_HAS_CO_AWAIT)
// co_spawn in a scope: the coroutine's frame is charged to it, its first steps are taken in it, and with
// asio_tracking.hpp all others. The caller is afterwards in the scope where it was.
template <class... Arguments>
decltype(auto) spawn_in(scope in, Arguments&&... arguments) {
  const enter inside(in);
  return HEAPLEDGER_ASIO::co_spawn(std::forward<Arguments>(arguments)...);
}
#endif

}  // namespace heapledger
