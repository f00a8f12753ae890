#include "tool/cli/load.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>

#if __has_include("tool/profile/read.hpp")
#include "tool/profile/read.hpp"
#define HEAPLEDGER_HAS_READER
#endif
#if __has_include("tool/collect/segment.hpp")
#include "tool/collect/segment.hpp"
#define HEAPLEDGER_HAS_COLLECTOR
#endif
#if __has_include("tool/symbolize/symbolize.hpp")
#include "tool/symbolize/symbolize.hpp"
#define HEAPLEDGER_HAS_SYMBOLIZER
#endif

namespace heapledger::cli {
namespace {

[[maybe_unused]] std::string first_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  std::array<char, 8> bytes{};
  file.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(file.gcount())};
}

profile read_any([[maybe_unused]] const std::string& path) {
#ifdef HEAPLEDGER_HAS_COLLECTOR
  if (collect::looks_like_segment(first_bytes(path))) return collect::collect_segment(path);
#endif
#ifdef HEAPLEDGER_HAS_READER
  return read_profile(path);
#else
  throw std::runtime_error("this build cannot read profiles yet");
#endif
}

}  // namespace

profile load_profile(const std::string& path, [[maybe_unused]] const std::vector<std::string>& debug_paths) {
  profile loaded = read_any(path);
#ifdef HEAPLEDGER_HAS_SYMBOLIZER
  if (!loaded.symbolized || !debug_paths.empty()) {
    symbolize_options options;
    options.debug_paths = debug_paths;
    symbolize(loaded, options);
  }
#endif
  return loaded;
}

}  // namespace heapledger::cli
