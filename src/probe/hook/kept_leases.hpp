// A block that another takes the place of, in scopes.
#pragma once

#include "probe/hook/process.hpp"
#include "probe/scope/budget.hpp"
#include "probe/scope/slots.hpp"

namespace heapledger::probe {

// What the thread has leased stays from the question whether the new block may be until the change is booked, or
// undone.
class kept_leases {
 public:
  kept_leases() = default;
  ~kept_leases() {
    if (HL_UNLIKELY(scopes_ != nullptr)) scopes_->holding = before_;
  }
  kept_leases(const kept_leases&) = delete;
  kept_leases& operator=(const kept_leases&) = delete;

  // False where the thread has no part in scopes. `own` is taken.
  bool keep(books& own) {
    if (scopes_ != nullptr) return true;
    if (thread_scopes_of(own) == nullptr) return false;
    scopes_ = own.scopes;
    before_ = scopes_->holding;
    scopes_->holding = true;
    return true;
  }
  bool any() const { return scopes_ != nullptr; }
  // The change is booked, or undone: what is too much goes back, of the current scope and of the one that the block was
  // in. `own` is taken.
  HL_COLD void give_back(books& own, std::uint32_t account_before);

 private:
  thread_scopes* scopes_ = nullptr;
  bool before_ = false;
};

// What the books have of a live block of this process. False where they have nothing.
HL_COLD bool find_booked(void* block, replaced_block& out);

}  // namespace heapledger::probe
