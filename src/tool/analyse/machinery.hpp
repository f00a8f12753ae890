// Which frames are machinery: allocator entry points and their wrappers, the standard library's internals, headers of
// installed libraries, the C library, and what starts main and threads. A reader looks for the first frame that is not
// machinery. Nothing is removed from a profile by this; only the text report leaves such frames out, and says how many.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/machinery_names.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct visible_frames {
  std::size_t begin = 0;  // the first frame that matters
  std::size_t end = 0;    // one past the last: main, or a thread's function
};

// Answers per function name and per module once, then from memory.
class machinery {
 public:
  explicit machinery(const profile& p);

  bool is_wrapper(const frame_ref& frame);
  bool is_start(const frame_ref& frame);
  // Of Rust's own library. Between two functions of the program stand a dozen of these for one iterator.
  bool is_rust(const frame_ref& frame);

  // What is left out within is for the caller to ask: is_rust(). A stack that is nothing but machinery is visible as a
  // whole.
  visible_frames visible(std::span<const frame_ref> stack);

  // Index of the first frame that matters, found without expanding the rest of the stack; 0 when none does.
  std::size_t first_visible(std::uint32_t node);

 private:
  enum class answer : std::uint8_t { unknown, no, yes };
  template <class Judge>
  static bool remember(std::vector<answer>& answers, std::uint32_t key, Judge&& judge);

  class skip_wrappers;
  bool is_malloc_of(const frame_ref& frame, std::uint32_t module);
  std::size_t end_before_rust_begins(std::span<const frame_ref> stack);

  const profile& profile_;
  std::vector<answer> wrapper_;  // by string, as those that follow
  std::vector<answer> foreign_;
  std::vector<answer> malloc_;
  std::vector<answer> start_;
  std::vector<answer> rust_name_;
  std::vector<answer> rust_begin_;
  std::vector<answer> rust_library_file_;
  std::vector<answer> runtime_;  // by module
};

}  // namespace heapledger::analyse
