#include "tool/cli/load.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "tool/analyse/snapshots.hpp"
#include "tool/cli/find_symbols.hpp"
#include "tool/cli/profiles_in.hpp"
#include "tool/cli/which_program.hpp"
#include "tool/collect/running_profile.hpp"
#include "tool/collect/segment.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/read.hpp"
#include "tool/report/printable.hpp"
#include "tool/symbolize/perf_map.hpp"

namespace heapledger::cli {
namespace {

// Nothing where the file cannot be read: the reader that comes next says why. No segment comes through a pipe, and what
// is read here would be missing from a profile that does.
bool is_segment(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  std::array<char, 8> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return collect::looks_like_segment(std::string_view(bytes.data(), static_cast<std::size_t>(file.gcount())));
}

profile load_file(const std::string& path, const debug_options& debug) {
  const auto running = names_process(path) ? which_program(path) : collect::running_program{};
  if (running.pid == 0) refuse_path_of_no_profile(path);
  const bool is_of_here = running.pid != 0 || is_segment(path);
  profile loaded = running.pid != 0 ? collect::profile_of(running)
                   : is_of_here     ? collect::collect_segment(path)
                                    : read_profile(path);
  if (!loaded.symbolized || !debug.folders.empty() || debug.debuginfod) find_symbols(loaded, debug, running.pid);
  if (is_of_here) symbols::name_generated_code(loaded);
  return loaded;
}

}  // namespace

std::uint32_t snapshot_of(const profile& p, const std::string& path, const std::string& name) {
  if (const auto found = analyse::find_snapshot(p, name)) return *found;
  constexpr std::size_t names_said = 10;
  std::string known;
  std::string last;
  std::size_t count = 0;
  for (const auto& marker : p.markers) {
    if (!marker.snapshot) continue;
    last = fmt::format("'{}'", report::terminal_text(marker.name));
    if (++count <= names_said) known += fmt::format("{} {}", known.empty() ? "" : ",", last);
  }
  if (count > names_said) known += fmt::format(" and {} more, up to {}", count - names_said, last);
  const bool is_mark =
      std::any_of(p.markers.begin(), p.markers.end(), [&](const auto& marker) { return marker.name == name; });
  throw input_error(path,
                    is_mark ? fmt::format("'{}' is a mark, not a snapshot", report::terminal_text(name))
                            : fmt::format("there is no snapshot '{}' in it", report::terminal_text(name)),
                    known.empty() ? "it has none: take one while the program runs, heapledger snapshot PID NAME"
                                  : "there are" + known);
}

std::optional<snapshot_path> split_snapshot(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return {};
  for (auto at = path.rfind('@'); at != std::string::npos && at != 0; at = path.rfind('@', at - 1))
    if (auto file = path.substr(0, at); ::access(file.c_str(), F_OK) == 0 || names_process(file))
      return {{file, path.substr(at + 1)}};
  return {};
}

profile load_profile(const std::string& path, const debug_options& debug) {
  const auto split = split_snapshot(path);
  if (!split) return load_file(path, debug);
  const auto whole = load_file(split->file, debug);
  return analyse::profile_at(whole, snapshot_of(whole, split->file, split->name));
}

}  // namespace heapledger::cli
