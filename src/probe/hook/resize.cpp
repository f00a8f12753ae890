#include "probe/hook/resize.hpp"

#include <cerrno>
#include <cstring>

#include "probe/account/large_blocks.hpp"
#include "probe/hook/kept_leases.hpp"
#include "probe/hook/lifetime.hpp"
#include "probe/hook/scope_gate.hpp"
#include "probe/hook/watched_block.hpp"

namespace heapledger::probe {
namespace {

// What was booked as freed, so that it can be taken back.
class withdrawal {
 public:
  withdrawal(void* block, const frame_state& caller, kept_leases& leases) : block_(block) {
    const booking event(reinterpret_cast<const void*>(caller.rsp));
    // The block may have to be booked back, into a scope that this thread need not be in.
    if (HL_UNLIKELY(scopes_in_use) && event) leases.keep(*event);
    usable_ = usable_size(block);
    was_last_ = event && event->last_block == block;
    if (HL_LIKELY(event && may_have_tag(usable_) && !is_cut_off(tag_word(block, usable_), usable_))) {
      word_ = tag_word(block, usable_);
      const tag found(word_, block, state.tag_key);
      const bool may_be_chance = HL_UNLIKELY(state.attached) && !known_account(found.account());
      if (HL_LIKELY(found.good(block_kind::from_malloc, usable_, bytes_) && !may_be_chance)) {
        what_ = small;
        account_ = found.account();
        tag_word(block, usable_) = ~word_;
        if (HL_UNLIKELY(state.lifetimes)) end_life(*event, account_, block, usable_, bytes_);
        book_free(*event, account_, block, bytes_);
        return;
      }
    }
    withdraw_odd(event);
  }

  withdrawal(const withdrawal&) = delete;
  withdrawal& operator=(const withdrawal&) = delete;

  bool was_watched() const { return HL_UNLIKELY(watched_); }

  HL_COLD void give_back(kept_leases& leases) const {
    if (const booking event(__builtin_dwarf_cfa()); event) leases.give_back(*event, account_);
  }

  HL_COLD void take_back() {
    const booking event(__builtin_dwarf_cfa());
    if (what_ == other || !event) return;
    if (what_ == small)
      tag_word(block_, usable_) = word_;
    else
      add_large(large_);  // in a slot or not
    unbook_free(*event, account_, bytes_, was_last_ ? block_ : nullptr);
    if (state.lifetimes) take_back_life(*event, account_, bytes_);
  }

 private:
  enum { small, large, other } what_ = other;

  HL_COLD void withdraw_odd(const booking& event) {
    if (is_watched(block_)) {
      watched_ = true;
      if (event && withdraw_watched(*event, block_, block_kind::from_malloc, large_)) what_ = large;
      account_ = large_.account;
      bytes_ = large_.bytes;
      return;
    }
    if (event && (usable_ >= large_usable_bytes || !next.glibc) && take_large(block_, large_)) {
      add_large(large_);  // release takes it out again
      if (large_.birth == state.birth) what_ = large;
      account_ = large_.account;
      bytes_ = large_.bytes;
    }
    if (event)
      release(*event, block_, block_kind::from_malloc);
    else
      count_unbooked();
  }

  void* block_;
  std::size_t usable_ = 0;
  std::uint64_t word_ = 0;
  std::uint32_t account_ = 0;
  std::size_t bytes_ = 0;
  large_block large_{};
  bool watched_ = false;
  bool was_last_ = false;  // of those this thread allocated
};

void* leave_bootstrap(void* block, std::size_t bytes, const frame_state& caller) {
  void* moved = next.malloc(with_tag(bytes));
  if (moved == nullptr) return nullptr;
  moved = book_or_leave(moved, bytes, block_kind::from_malloc, caller, false);
  const std::size_t old = bootstrap_size(block);
  std::memcpy(moved, block, old < bytes ? old : bytes);
  return moved;
}

// glibc's realloc(block, 0) frees; others give a smallest block.
bool only_frees(std::size_t bytes) {
  return bytes == 0 && next.glibc;
}

HL_COLD void* resize_watched(void* block, std::size_t bytes) {
  if (!only_frees(bytes)) return move_out_of_slot(block, bytes);
  leave_slot(block);
  return nullptr;
}

// In a scope with a budget: asked before anything moves. The old block counts until it has gone.
HL_COLD bool may_replace(void* block, std::size_t bytes, const frame_state& caller, kept_leases& leases) {
  const booking event(reinterpret_cast<const void*>(caller.rsp));
  if (!event || !event->gated || !leases.keep(*event)) return true;
  replaced_block old, now;
  find_booked(block, now);
  do {
    old = now;
    if (!admit(*event, bytes, caller.pc, false, old)) {
      leases.give_back(*event, old.account);
      return false;
    }
    find_booked(block, now);
  } while (!(now == old));  // a reaction has moved it to another scope
  return true;
}

}  // namespace

void* resize(void* block, std::size_t bytes, const frame_state& caller) {
  if (HL_UNLIKELY(is_bootstrap(block))) return leave_bootstrap(block, bytes, caller);
  kept_leases leases;
  if (HL_UNLIKELY(scopes_in_use) && !only_frees(bytes) && !may_replace(block, bytes, caller, leases)) {
    errno = ENOMEM;
    return nullptr;
  }
  withdrawal old(block, caller, leases);
  void* moved =
      old.was_watched() ? resize_watched(block, bytes) : next.realloc(block, bytes == 0 ? 0 : with_tag(bytes));
  if (HL_LIKELY(moved != nullptr))
    moved = book_or_leave(moved, bytes, block_kind::from_malloc, caller, true);
  else if (bytes != 0)
    old.take_back();
  if (HL_UNLIKELY(leases.any())) old.give_back(leases);
  return moved;
}

}  // namespace heapledger::probe
