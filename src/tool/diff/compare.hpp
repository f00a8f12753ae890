// Two profiles, stack by stack. Stacks match by what a reader would call the same: scope, and the functions and modules
// from the allocation outward, inlined ones too. Addresses and line numbers do not count, so two builds compare; nor
// does how deep a recursion went, what starts main and threads, or where a module lies and which version it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/diff/folded_path.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::diff {

// A function as both profiles know it. Without a name: a place in a module, by address where both ran the same build of
// it, else all nameless places of the module together.
struct compared_frame {
  std::string_view function;  // empty: unknown
  std::string_view module;    // path, of the newer profile where both have it; empty: code that no module holds
  bool any_nameless = false;  // all nameless code of the module, not one place
};

struct shown_frame {
  std::uint32_t frame = 0;   // index into comparison::frames
  analyse::frame_ref place;  // in comparison::shown_in: file and line
  std::uint32_t cycle = 0;   // on the last frame of a recursion that is shown once: its length
  std::uint32_t times = 1;   // and how often it stands there, in the stack that is shown
};

// All stacks of one scope that match.
struct stack_change {
  const std::vector<std::string>* scope = nullptr;
  counters before;
  counters after;
  std::uint32_t stacks_before = 0;  // how many of the old profile's stacks this is; 0: appeared
  std::uint32_t stacks_after = 0;   // 0: vanished
  std::uint32_t node = 0;           // one of them, in shown_in
};

// Refers to both profiles, which must outlive it.
class comparison {
 public:
  comparison(const profile& before, const profile& after);

  const profile& before() const { return *before_.source; }
  const profile& after() const { return *after_.source; }
  const std::vector<compared_frame>& frames() const { return frames_; }
  const std::vector<stack_change>& stacks() const { return stacks_; }
  const counters& total_before() const { return total_before_; }
  const counters& total_after() const { return total_after_; }

  // The profile that `change.node` and the places of its frames are in: the newer one, unless the stack vanished.
  const profile& shown_in(const stack_change& change) const { return *half_of(change).source; }
  // Path of the frame's module in that profile: its address is of that build.
  std::string_view module_of(const stack_change& change, const shown_frame& frame) const;
  // From the allocation outward, a recursion once, without what starts main and threads.
  std::vector<shown_frame> frames_of(const stack_change& change) const;
  // The first of these that is not machinery, else the first: an index into frames(). Found without reading the rest.
  std::optional<std::uint32_t> place_of(const stack_change& change, analyse::machinery& machinery) const;

 private:
  friend class matcher;
  struct half {
    const profile* source = nullptr;
    std::vector<std::uint32_t> first;   // by location: where its frames begin in `frames`; one more at the end
    std::vector<std::uint32_t> frames;  // indices into comparison::frames
  };
  const half& half_of(const stack_change& change) const { return change.stacks_after != 0 ? after_ : before_; }
  std::vector<std::uint64_t> expand(const half& part, std::uint32_t node) const;

  half before_;
  half after_;
  std::vector<compared_frame> frames_;
  std::vector<frame_role> roles_;  // by frame
  std::vector<stack_change> stacks_;
  counters total_before_;
  counters total_after_;
};

}  // namespace heapledger::diff
