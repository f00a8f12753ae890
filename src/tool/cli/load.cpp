#include "tool/cli/load.hpp"

#include <array>
#include <fstream>
#include <string_view>

#include "tool/collect/segment.hpp"
#include "tool/profile/read.hpp"
#include "tool/symbolize/symbolize.hpp"

namespace heapledger::cli {
namespace {

// Nothing where the file cannot be read: the reader that comes next says why.
bool is_segment(const std::string& path) {
  std::array<char, 8> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return collect::looks_like_segment(std::string_view(bytes.data(), static_cast<std::size_t>(file.gcount())));
}

}  // namespace

profile load_profile(const std::string& path, const std::vector<std::string>& debug_paths) {
  profile loaded = is_segment(path) ? collect::collect_segment(path) : read_profile(path);
  if (!loaded.symbolized || !debug_paths.empty()) {
    symbolize_options options;
    options.debug_paths = debug_paths;
    symbolize(loaded, options);
  }
  return loaded;
}

}  // namespace heapledger::cli
