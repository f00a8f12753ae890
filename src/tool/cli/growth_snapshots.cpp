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

std::string name_of(const wire::marker& marker) {
  auto name = report::bytes_text(marker.live_bytes);
  std::erase(name, ' ');  // a word to type
  return name;
}

}  // namespace

void growth_snapshots::look(const collect::process_watch& image) {
  if (percent_ == 0 || image.segment() == nullptr) return;
  auto& due = due_bytes_.try_emplace(image.segment_path(), first_due_bytes).first->second;
  if (image.live_bytes() < due) return;
  try {
    const auto marker = collect::add_outside_marker(*image.segment(), name_of, true);
    const auto most = std::max(image.live_bytes(), marker.live_bytes);  // what comes and goes is no growth
    due = most + most / 100 * percent_;
  } catch (const input_error& error) {
    say(error.what());
    due = std::numeric_limits<std::int64_t>::max();
  }
}

}  // namespace heapledger::cli
