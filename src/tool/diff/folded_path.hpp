// What makes stacks the same: their frames from the allocation outward, a recursion once however deep it went, without
// what starts main and threads. For all stacks of a profile in one walk of their tree: each frame costs the same
// however many stacks it is in, and however deep it stands.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tool/analyse/path_hash.hpp"
#include "tool/analyse/recursion.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::diff {

// _start of a stripped program has no name and stands outside of what is known to start it.
inline constexpr std::uint32_t nameless_start_frames = 2;

enum class frame_role : std::uint8_t { ordinary, nameless, start };

// Fed from the outermost frame inward: how many frames start main or a thread.
class starting_frames {
 public:
  void add(frame_role role);
  bool goes_on() const { return goes_on_; }
  std::uint32_t count() const { return count_; }

 private:
  std::uint32_t seen_ = 0;
  std::uint32_t count_ = 0;
  bool goes_on_ = true;
};

// A path that grows and shrinks at its inner end.
class folded_path {
 public:
  void push(std::uint32_t frame, frame_role role);
  void cut(std::uint32_t length) { steps_.resize(length); }
  std::uint32_t length() const { return static_cast<std::uint32_t>(steps_.size()); }
  analyse::path_hash hash() const;

 private:
  struct step {
    std::uint32_t frame = 0;
    starting_frames outside;
    // How many frames, from here outward, equal the one so much farther out.
    std::array<std::uint32_t, analyse::longest_cycle> equal = {};
    analyse::path_hash hash;
  };
  std::vector<step> steps_;
};

// `frames` are those of the locations, innermost first, and begin at `first`. By node; of those where stacks end.
std::vector<analyse::path_hash> folded_hashes(const profile& p, std::span<const std::uint32_t> first,
                                              std::span<const std::uint32_t> frames, std::span<const frame_role> roles);

}  // namespace heapledger::diff
