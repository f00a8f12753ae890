#include "tool/analyse/machinery.hpp"

#include <algorithm>

namespace heapledger::analyse {
namespace {

constexpr std::size_t nameless_start_frames = 2;  // outermost: _start of a stripped program
constexpr std::size_t nameless_wrappers = 2;      // static functions below sqlite3Malloc in a stripped library
constexpr std::size_t rust_start_frames = 40;     // at most, inlined ones too

}  // namespace

machinery::machinery(const profile& p)
    : profile_(p),
      wrapper_(p.strings.size()),
      foreign_(p.strings.size()),
      malloc_(p.strings.size()),
      start_(p.strings.size()),
      rust_name_(p.strings.size()),
      rust_begin_(p.strings.size()),
      rust_library_file_(p.strings.size()),
      runtime_(p.modules.size()) {}

template <class Judge>
bool machinery::remember(std::vector<answer>& answers, std::uint32_t key, Judge&& judge) {
  if (key >= answers.size()) return false;
  if (answers[key] == answer::unknown) answers[key] = judge() ? answer::yes : answer::no;
  return answers[key] == answer::yes;
}

bool machinery::is_wrapper(const frame_ref& frame) {
  const std::uint32_t module = module_index(profile_, frame);
  if (remember(runtime_, module, [&] { return is_system_runtime(profile_.modules[module].path); })) return true;
  if (frame.symbol == none) return false;
  const auto [function, file, line] = profile_.frames[frame.symbol];
  if (remember(foreign_, file, [&, key = file] { return is_foreign_source(profile_.strings[key]); })) return true;
  return remember(wrapper_, function, [&, key = function] { return is_allocation_wrapper(profile_.strings[key]); }) ||
         is_rust(frame);
}

// C++ has namespaces core and alloc, too: where the file is known, it decides.
bool machinery::is_rust(const frame_ref& frame) {
  if (frame.symbol == none) return false;
  const auto [function, file, line] = profile_.frames[frame.symbol];
  const auto of_file = [&, key = file](auto& answers, auto judge) {
    return remember(answers, key, [&] { return judge(profile_.strings[key]); });
  };
  if (file != none) return of_file(rust_library_file_, is_rust_library_source);
  return remember(rust_name_, function, [&, key = function] { return is_rust_library(profile_.strings[key]); });
}

bool machinery::is_malloc_of(const frame_ref& frame, std::uint32_t module) {
  if (frame.symbol == none || module_index(profile_, frame) != module) return false;
  const std::uint32_t function = profile_.frames[frame.symbol].function;
  return remember(malloc_, function, [&] { return is_malloc_of_a_library(profile_.strings[function]); });
}

bool machinery::is_start(const frame_ref& frame) {
  if (frame.symbol == none) {
    const std::uint32_t module = module_index(profile_, frame);
    return remember(runtime_, module, [&] { return is_system_runtime(profile_.modules[module].path); });
  }
  const std::uint32_t function = profile_.frames[frame.symbol].function;
  return remember(start_, function, [&] { return is_start_code(profile_.strings[function]); });
}

// From the allocation outward, as long as frames are machinery. A frame without a name is, if a malloc of its own
// module called it.
class machinery::skip_wrappers {
 public:
  explicit skip_wrappers(machinery& judge) : judge_(judge) {}

  bool goes_on(const frame_ref& frame, bool is_machinery) {
    ++seen_;
    const bool was_waiting = nameless_ != 0;
    if (is_machinery && (!was_waiting || judge_.is_malloc_of(frame, module_))) {
      skipped_ = seen_;
      nameless_ = 0;
      return true;
    }
    if (is_machinery || frame.symbol != none || nameless_ == nameless_wrappers) return false;
    const std::uint32_t module = module_index(judge_.profile_, frame);
    if (was_waiting && module != module_) return false;
    module_ = module;
    ++nameless_;
    return true;
  }
  std::size_t skipped() const { return skipped_; }

 private:
  machinery& judge_;
  std::size_t seen_ = 0;
  std::size_t skipped_ = 0;
  std::size_t nameless_ = 0;  // that wait for what called them
  std::uint32_t module_ = none;
};

// Rust's own backtraces end there, too: what stands farther out starts threads and catches panics.
std::size_t machinery::end_before_rust_begins(std::span<const frame_ref> stack) {
  const std::size_t looked_at = std::min(stack.size(), rust_start_frames);
  for (std::size_t end = stack.size(); end > stack.size() - looked_at; --end) {
    const frame_ref& frame = stack[end - 1];
    if (frame.symbol == none) continue;
    const std::uint32_t function = profile_.frames[frame.symbol].function;
    if (remember(rust_begin_, function, [&] { return is_rust_begin(profile_.strings[function]); })) return end - 1;
  }
  return stack.size();
}

visible_frames machinery::visible(std::span<const frame_ref> stack) {
  visible_frames shown{0, end_before_rust_begins(stack)};
  bool has_started = false;
  for (std::size_t nameless = 0; shown.end > nameless;) {
    const frame_ref& frame = stack[shown.end - 1 - nameless];
    if (is_start(frame)) {
      shown.end -= nameless + 1;
      nameless = 0;
      has_started = true;
    } else if (!has_started && frame.symbol == none && nameless < nameless_start_frames) {
      ++nameless;
    } else {
      break;
    }
  }
  skip_wrappers skip(*this);
  for (std::size_t i = 0; i < shown.end && skip.goes_on(stack[i], is_wrapper(stack[i])); ++i) {
  }
  shown.begin = std::min(skip.skipped(), shown.end);
  if (shown.begin == shown.end) return {0, stack.size()};
  return shown;
}

std::size_t machinery::first_visible(std::uint32_t node) {
  skip_wrappers skip(*this);
  std::size_t frames = 0;
  walk_stack(profile_, node, [&](const frame_ref& frame) {
    ++frames;
    return skip.goes_on(frame, is_wrapper(frame) || is_start(frame));
  });
  return skip.skipped() < frames ? skip.skipped() : 0;
}

}  // namespace heapledger::analyse
