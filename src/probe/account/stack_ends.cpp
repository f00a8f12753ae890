#include "probe/account/stack_ends.hpp"

#include "probe/base/own_memory.hpp"

namespace heapledger::probe {
namespace {

constinit stack_end nobody[2] = {};  // no code is at address 0

}  // namespace

void stack_ends::init(bool teachable) {
  pause();
  credit_ = first_walks - paused_walks;
  table_ = nullptr;
  teachable_ = teachable;
}

void stack_ends::pause() {
  ends_ = nobody;
  shift_ = 63;
  credit_ = -1;
}

void stack_ends::begin_or_pause() {
  const bool spent = credit_ == 0;
  pause();
  if (spent || !teachable_) return;
  if (table_ == nullptr) table_ = static_cast<stack_end*>(own_map(sizeof(stack_end) << bits));
  if (table_ == nullptr) return;
  ends_ = table_;
  shift_ = 64 - bits;
  credit_ = first_credit;
}

void stack_ends::add(const stack_walk& stack, std::uint32_t account, wire::cell* cell) {
  if (credit_ > most_credit) credit_ = most_credit;
  const stack_walk::plain_part part = stack.plainly_walked();
  if (part.count == 0 || part.count > stack_end::most_words) return;
  stack_end& end = place(part.pc, part.rsp);
  end.pc = part.pc;
  end.rsp = part.rsp;
  end.outer_rsp = part.outer_rsp;
  end.outer_path = part.outer_path;
  end.cell = cell;
  end.account = account;
  end.count = part.count;
  // Word by word: the walk has just stored them so, and a load of both at once would wait for that.
  const stack_read* from = part.innermost_word;
  for (stack_read* to = end.words; to != end.words + part.count; ++to, --from) {
    to->address = from->address;
    to->value = from->value;
  }
}

void stack_ends::forget() {
  if (table_ != nullptr) __builtin_memset(table_, 0, sizeof(stack_end) << bits);
}

}  // namespace heapledger::probe
