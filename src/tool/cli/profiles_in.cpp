#include "tool/cli/newest_profile.hpp"

#include <filesystem>
#include <system_error>

namespace heapledger::cli {

std::optional<std::string> newest_profile(const std::string& folder) {
  namespace fs = std::filesystem;
  std::optional<std::string> name;
  fs::file_time_type when;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code unknown;
    if (entry->path().extension() != ".hlp" || !entry->is_regular_file(unknown)) continue;
    const auto written = entry->last_write_time(unknown);
    const auto found = entry->path().filename().string();
    if (unknown || (name && (written < when || (written == when && found < *name)))) continue;
    name = found;
    when = written;
  }
  return name;
}

}  // namespace heapledger::cli
