#include "probe/hook/misuse.hpp"

#include "probe/account/errors.hpp"
#include "probe/hook/event.hpp"

namespace heapledger::probe {
namespace {

void walk_to_caller(books& own) {
  const std::uint64_t frame = own.generation;
  const frame_state caller{stack_word(frame - sizeof(void*)), frame, caller_frame_pointer()};
  if (state.stacks_off || own.stack.same(caller)) return;
  own.stack.walk(caller.pc, caller.rsp, caller.rbp);
  own.forget_recent();  // it belonged to the stack before
}

void report(books& own, block_error found) {
  if (!known_account(found.account)) found.account = 0;
  walk_to_caller(own);
  count_error(own, found);
}

wire::call_family family_of(block_kind kind) {
  switch (kind) {
    case block_kind::from_malloc:
      return wire::call_family::malloc;
    case block_kind::from_new:
      return wire::call_family::scalar;
    case block_kind::from_new_array:
      return wire::call_family::array;
  }
  return wire::call_family::unknown;
}

}  // namespace

HL_COLD void report_misuse(books& own, wire::error_kind kind, std::uint32_t account) {
  report(own, {kind, account});
}

HL_COLD void report_mismatch(books& own, std::uint32_t account, block_kind allocated_by, block_kind freed_by) {
  report(own, {wire::error_kind::mismatch, account, family_of(allocated_by), family_of(freed_by)});
}

}  // namespace heapledger::probe
