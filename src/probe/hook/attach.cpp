// Beginning in a program that runs, and leaving it again (wire/attach.hpp, docs/attach-internals.md): the books are
// opened, the probe gets the place in the loader's scope that it would have had at start, and what was bound before is
// bound anew.
#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "probe/base/attributes.hpp"
#include "probe/base/lock.hpp"
#include "probe/hook/late.hpp"
#include "probe/hook/late_books.hpp"
#include "probe/hook/mapping.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/own_copies.hpp"
#include "probe/loader/loader_lock.hpp"
#include "wire/attach.hpp"

using namespace heapledger::probe;
using heapledger::wire::attach_result;

namespace {

struct attaching {
  const char* settings;
  attach_result result = attach_result::foreign_loader;
};

attach_result attach(const char* settings) {
  loader_scope& scope = scope_of_program();
  if (!scope.find()) return attach_result::foreign_loader;
  if (program_allocates_itself()) return attach_result::own_allocator;
  if (!find_next_allocator()) return attach_result::no_allocator;
  look_up_copiers();
  start_mapping();
  const bindings names = look_up_bindings(next.cxx_direct);
  if (const exchange_obstacle obstacle = try_exchange(names); obstacle != exchange_obstacle::none)
    return obstacle == exchange_obstacle::unknown_loader ? attach_result::foreign_loader : attach_result::fixed_words;
  if (!keep_late_books(settings)) return attach_result::no_place;
  // From here on events come, from every thread.
  exchange(names, binding_side::ours, exchange_turn::releases);
  scope.put_second();
  sys::yield();
  // Once more: what another thread was looking up meanwhile, in the scope as it was.
  exchange(names, binding_side::ours, exchange_turn::releases);
  exchange(names, binding_side::ours, exchange_turn::makes);
  exchange(names, binding_side::ours, exchange_turn::allocates);
  sys::yield();
  for (const auto turn : {exchange_turn::releases, exchange_turn::makes, exchange_turn::allocates})
    exchange(names, binding_side::ours, turn);
  return attach_result::done;
}

// Words that are bound to us stay so where nobody stands behind us, and where only we can give a block back: one that
// may be in a slot of the leak watch, or to an allocator that wants to know how large it is. They are passed through.
void detach() {
  loader_scope& scope = scope_of_program();
  const bool scope_found = scope.find();
  const bool releases = !blocks_in_slots() && !sizes_are_believed();
  const bindings names = bindings_to_undo(releases);
  if (releases && scope_found) scope.put_last(next.malloc, next.usable_size);
  exchange(names, binding_side::theirs, exchange_turn::allocates);
  sys::yield();
  exchange(names, binding_side::theirs, exchange_turn::allocates);
}

}  // namespace

HL_EXPORT int heapledger_attach(const char* settings) {
  const int error = errno;
  attaching request{settings != nullptr ? settings : ""};
  if (!begin_attaching(std::strstr(settings, heapledger::wire::quiet_setting) != nullptr)) {
    request.result = attach_result::already;
  } else {
    const signals_blocked quiet;
    with_loader_lock(
        [](void* argument) {
          auto& asked = *static_cast<attaching*>(argument);
          asked.result = attach(asked.settings);
        },
        &request);
    if (request.result != attach_result::done) give_up_attaching();
  }
  errno = error;
  return static_cast<int>(request.result);
}

HL_EXPORT int heapledger_detach() {
  const int error = errno;
  const bool ended = end_late_books();
  if (ended) {
    const signals_blocked quiet;
    with_loader_lock([](void*) { detach(); }, nullptr);
  }
  errno = error;
  return static_cast<int>(ended ? attach_result::done : attach_result::not_attached);
}
