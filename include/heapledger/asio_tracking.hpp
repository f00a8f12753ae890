// Scopes that follow Asio: every handler, and every coroutine that an operation resumes, runs in the scope in which the
// operation was begun, in whatever thread. To be given to Asio (or Boost.Asio), for the whole program alike:
//
//     target_link_libraries(server PRIVATE heapledger::asio)           # CMake, or
//     -DASIO_CUSTOM_HANDLER_TRACKING='<heapledger/asio_tracking.hpp>' -DASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=0
//     -DASIO_DISABLE_STD_ALIGNED_ALLOC
//
// with BOOST_ in front for Boost, whose older versions want BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING as well. It is
// Asio's own hook for tools that follow handlers, so no line of the program changes. The second definition keeps Asio
// from handing the memory of one request's operations to the next, whose it then would not be in the books; with the
// third its operations come from operator new, which budgets spare where nothing may be thrown.
//
// A guard (heapledger::enter) in a coroutine may live across co_await. Whoever calls co_spawn from inside a handler is
// to do so in a guard of its own (heapledger::spawn_in in asio.hpp does): the coroutine may begin at once, and
// leave its scope behind when it first waits.
#pragma once

#include <heapledger/heapledger.h>
#include <heapledger/detail/may_throw.hpp>

namespace heapledger::asio_tracking {

// The base of every operation that waits.
class tracked_handler {
 protected:
  tracked_handler() noexcept = default;
  ~tracked_handler() = default;

 private:
  friend struct creation;
  friend class completion;
  heapledger_scope scope_ = 0;
};

// An operation begins. Asio says more about it than scopes need.
struct creation {
  template <class Context, class... Rest>
  creation(Context&, tracked_handler& of, Rest&&...) noexcept {
    if (heapledger_scope_current != nullptr) of.scope_ = heapledger_scope_current();
  }
};

// An operation ends: its handler is moved out of it, called, and destroyed while this object lives.
class completion {
 public:
  explicit completion(const tracked_handler& of) noexcept
      : before_(heapledger_scope_enter != nullptr ? heapledger_scope_enter(of.scope_) : 0) {}
  ~completion() {
    if (heapledger_scope_leave != nullptr) heapledger_scope_leave(before_);
  }
  completion(const completion&) = delete;
  completion& operator=(const completion&) = delete;

 private:
  heapledger_scope before_;
};

}  // namespace heapledger::asio_tracking

#ifdef ASIO_CUSTOM_HANDLER_TRACKING
#define ASIO_INHERIT_TRACKED_HANDLER : public ::heapledger::asio_tracking::tracked_handler
#define ASIO_ALSO_INHERIT_TRACKED_HANDLER , public ::heapledger::asio_tracking::tracked_handler
#define ASIO_HANDLER_TRACKING_INIT (void)0
#define ASIO_HANDLER_LOCATION(args) const ::heapledger::detail::nothing_leaves heapledger_no_exceptions
#define ASIO_HANDLER_CREATION(args) (void)::heapledger::asio_tracking::creation args
#define ASIO_HANDLER_COMPLETION(args) const ::heapledger::asio_tracking::completion heapledger_scope_of_handler args
#define ASIO_HANDLER_INVOCATION_BEGIN(args) (void)0
#define ASIO_HANDLER_INVOCATION_END (void)0
#define ASIO_HANDLER_OPERATION(args) (void)0
#define ASIO_HANDLER_REACTOR_REGISTRATION(args) (void)0
#define ASIO_HANDLER_REACTOR_DEREGISTRATION(args) (void)0
#define ASIO_HANDLER_REACTOR_READ_EVENT 0
#define ASIO_HANDLER_REACTOR_WRITE_EVENT 0
#define ASIO_HANDLER_REACTOR_ERROR_EVENT 0
#define ASIO_HANDLER_REACTOR_EVENTS(args) (void)0
#define ASIO_HANDLER_REACTOR_OPERATION(args) (void)0
#endif

#ifdef BOOST_ASIO_CUSTOM_HANDLER_TRACKING
#define BOOST_ASIO_INHERIT_TRACKED_HANDLER : public ::heapledger::asio_tracking::tracked_handler
#define BOOST_ASIO_ALSO_INHERIT_TRACKED_HANDLER , public ::heapledger::asio_tracking::tracked_handler
#define BOOST_ASIO_HANDLER_TRACKING_INIT (void)0
#define BOOST_ASIO_HANDLER_LOCATION(args) const ::heapledger::detail::nothing_leaves heapledger_no_exceptions
#define BOOST_ASIO_HANDLER_CREATION(args) (void)::heapledger::asio_tracking::creation args
#define BOOST_ASIO_HANDLER_COMPLETION(args) \
  const ::heapledger::asio_tracking::completion heapledger_scope_of_handler args
#define BOOST_ASIO_HANDLER_INVOCATION_BEGIN(args) (void)0
#define BOOST_ASIO_HANDLER_INVOCATION_END (void)0
#define BOOST_ASIO_HANDLER_OPERATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_REGISTRATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_DEREGISTRATION(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_READ_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_WRITE_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_ERROR_EVENT 0
#define BOOST_ASIO_HANDLER_REACTOR_EVENTS(args) (void)0
#define BOOST_ASIO_HANDLER_REACTOR_OPERATION(args) (void)0
#endif
