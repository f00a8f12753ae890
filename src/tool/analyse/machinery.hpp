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
#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

bool is_allocation_wrapper(std::string_view function);  // malloc, operator new, xstrdup, std::vector<int>::reserve
bool is_start_code(std::string_view function);          // _start, __libc_start_main, start_thread, std::thread's own
bool is_system_runtime(std::string_view module_path);   // libc, libstdc++, the loader
bool is_foreign_source(std::string_view file);          // headers of installed libraries, inlined into the program

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

  // A stack that is nothing but machinery is visible as a whole.
  visible_frames visible(std::span<const frame_ref> stack);

  // Index of the first frame that matters, found without expanding the rest of the stack; 0 when none does.
  std::size_t first_visible(std::uint32_t node);

 private:
  enum class answer : std::uint8_t { unknown, no, yes };
  template <class Judge>
  static bool remember(std::vector<answer>& answers, std::uint32_t key, Judge&& judge);

  const profile& profile_;
  std::vector<answer> wrapper_;  // by string
  std::vector<answer> foreign_;  // by string
  std::vector<answer> start_;    // by string
  std::vector<answer> runtime_;  // by module
};

}  // namespace heapledger::analyse
