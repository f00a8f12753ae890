#include "tool/cli/growth_snapshots.hpp"

#include <algorithm>
#include <limits>

#include "tool/cli/run_messages.hpp"
#include "tool/collect/outside_markers.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {
namespace {

constexpr std::int64_t first_due_bytes = 1 << 20;

std::string name_of(std::int64_t bytes) {
  auto name = report::bytes_text(bytes);
  std::erase(name, ' ');  // a word to type
  return name;
}

}  // namespace

void growth_snapshots::look(const collect::process_watch& image) {
  if (percent_ == 0 || image.segment() == nullptr) return;
  auto& due = due_bytes_.try_emplace(image.segment_path(), first_due_bytes).first->second;
  const auto live = image.live_bytes();
  if (live < due) return;
  try {
    collect::add_outside_marker(*image.segment(), name_of(live), true);
    due = live + std::max<std::int64_t>(live / 100 * percent_, 1);
  } catch (const input_error& error) {
    say(error.what());
    due = std::numeric_limits<std::int64_t>::max();
  }
}

}  // namespace heapledger::cli
