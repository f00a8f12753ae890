// Unwind tables of code that the program made itself and told its C++ runtime of by __register_frame, as LLVM's and
// other JITs do.
//
// Few are looked for, since what is found is compiled into a rule, so they stand in a plain array. A program that has
// none never takes the lock.
#pragma once

#include <cstddef>

#include "probe/base/attributes.hpp"
#include "probe/base/lock.hpp"
#include "probe/publish/code_age.hpp"
#include "probe/unwind/cfi.hpp"

namespace heapledger::probe {

class registered_frames {
 public:
  // As cfi::entry_list takes it. It must stay until remove(). Calls `gone` as remove() does where it lies over code
  // that was registered before.
  template <class Gone>
  void add(const std::uint8_t* section, Gone& gone) {
    const lock_guard held(lock_);
    remove_if([section](const stretch& each) { return each.section == section; }, gone);
    stretch at{section, {}, 0, 0, {}, false};
    cfi::function_entry entry;
    for (cfi::entry_list entries(cfi::section_at(section)); entries.next(entry); at.end = entry.end) {
      if (entry.start - at.end > most_padding) {
        append(at, gone);
        at.start = entry.start;
      }
      at.tables = entries.extent();
    }
    append(at, gone);
  }

  // Calls `gone` with the start, the end and counts_before of code that was walked through meanwhile, and is not what
  // it was.
  template <class Gone>
  void remove(const std::uint8_t* section, Gone& gone) {
    const lock_guard held(lock_);
    remove_if([section](const stretch& each) { return each.section == section; }, gone);
  }

  bool find(std::uint64_t address, cfi::function_entry& entry);

  void clear();                // nobody was told of what changed meanwhile
  void reset() { lock_ = 0; }  // after fork: a thread that is not here may hold it

 private:
  // Functions of one section that lie side by side, in the order of their entries. Several of one section may overlap.
  struct stretch {
    const std::uint8_t* section;
    cfi::bytes tables;  // of the section, up to the last function of these
    std::uint64_t start, end;
    code_age age;
    bool walked;
  };
  static constexpr std::uint64_t most_padding = 63;

  template <class Gone>
  void append(const stretch& fresh, Gone& gone) {
    if (fresh.end <= fresh.start) return;
    const auto lies_under = [&](const stretch& each) {
      return each.section != fresh.section && each.start < fresh.end && fresh.start < each.end;
    };
    remove_if(lies_under, gone);
    if (count_ == capacity_ && !grow()) return;  // its stacks end there
    stretches_[count_] = fresh;
    __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELEASE);
  }
  template <class If, class Gone>
  void remove_if(If chosen, Gone& gone) {
    for (std::size_t i = count_; i-- > 0;) {
      if (!chosen(stretches_[i])) continue;
      const stretch old = stretches_[i];
      stretches_[i] = stretches_[count_ - 1];
      __atomic_store_n(&count_, count_ - 1, __ATOMIC_RELEASE);
      if (old.walked) gone(old.start, old.end, old.age.before());
    }
  }
  bool grow();

  stretch* stretches_ = nullptr;
  std::size_t count_ = 0, capacity_ = 0;
  std::uint32_t lock_ = 0;
};

HL_INTERNAL extern registered_frames registered;

}  // namespace heapledger::probe
