#include "probe/account/stack_ends.hpp"

#include "probe/base/own_memory.hpp"

namespace heapledger::probe {
namespace {

constinit stack_end nobody[2] = {};  // no code is at address 0

}  // namespace

void stack_ends::init() {
  pause();
  paused_walks_ = shortest_pause;
  table_ = nullptr;
}

void stack_ends::pause() {
  ends_ = nobody;
  shift_ = 63;
  credit_ = -1;
}

void stack_ends::begin_or_pause() {
  const bool spent = credit_ == 0;
  pause();
  if (spent && paused_walks_ < longest_pause) paused_walks_ *= 2;
  if (spent) return;
  if (table_ == nullptr) table_ = static_cast<stack_end*>(own_map(sizeof(stack_end) << bits));
  if (table_ == nullptr) return;
  ends_ = table_;
  shift_ = 64 - bits;
  credit_ = first_credit;
}

void stack_ends::add(const stack_walk& stack, std::uint64_t path, std::uint64_t scope, std::uint32_t account,
                     wire::cell* cell) {
  if (credit_ > most_credit) {
    credit_ = most_credit;
    paused_walks_ = shortest_pause / 2;
  }
  const auto& [innermost, outer, innermost_word] = stack.last_walked();
  const std::uint32_t count = innermost.words_end - outer.words_end;
  if (count == 0 || count > stack_end::most_words) return;
  stack_end& end = place(innermost.pc, innermost.rsp);
  end.pc = innermost.pc;
  end.rsp = innermost.rsp;
  end.rbp = innermost.rbp;
  end.rbp_mask = innermost.rbp_mask();
  end.cell = cell;
  end.account = account;
  end.scope = scope;
  end.word_count = count;
  end.path = path;
  end.outer = {outer.rsp, outer.path, outer.rbp, outer.rbp_mask()};
  // Word by word: the walk has just stored them so, and a load of both at once would wait for that.
  const stack_read* from = innermost_word;
  for (stack_read* to = end.words; to != end.words + count; ++to, --from) {
    to->address = from->address;
    to->value = from->value;
  }
}

void stack_ends::forget() {
  if (table_ != nullptr) __builtin_memset(table_, 0, sizeof(stack_end) << bits);
}

}  // namespace heapledger::probe
