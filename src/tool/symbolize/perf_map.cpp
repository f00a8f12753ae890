#include "tool/symbolize/perf_map.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>

#include "tool/collect/unique_fd.hpp"
#include "tool/symbolize/demangle.hpp"
#include "tool/symbolize/frame_interner.hpp"

namespace heapledger::symbols {
namespace {

constexpr std::size_t map_limit_bytes = std::size_t{512} << 20;
constexpr std::size_t line_limit_bytes = std::size_t{16} << 10;

// From its front, with what stands before the next one; nothing where there is no number.
bool take_hexadecimal(std::string_view& line, std::uint64_t& value) {
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  const auto blanks = line.find_first_not_of(' ');
  if (blanks == 0 || blanks == std::string_view::npos) return false;
  line.remove_prefix(blanks);
  return true;
}

struct piece_of_code {
  std::uint64_t start = 0, bytes = 0;
  std::string_view name;
};

bool read_line(std::string_view line, piece_of_code& piece) {
  if (!take_hexadecimal(line, piece.start) || !take_hexadecimal(line, piece.bytes)) return false;
  piece.name = line;
  return true;
}

// On whose word a name is shown.
bool is_believed(int file, const process_info& process) {
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return false;
  const auto user = ::geteuid();
  constexpr std::int64_t clock_step_s = 1;
  return (user == 0 || found.st_uid == 0 || found.st_uid == user) &&
         found.st_mtim.tv_sec + clock_step_s >= process.start_realtime_ns / 1'000'000'000;
}

bool is_of_this_host(const process_info& process) {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && process.host == name;
}

}  // namespace

std::vector<std::string> names_in_perf_map(std::istream& map, std::span<const std::uint64_t> addresses) {
  std::vector<std::string> names(addresses.size());
  std::string line(line_limit_bytes, '\0');
  std::size_t read = 0;
  while (read < map_limit_bytes && !map.eof()) {
    map.getline(line.data(), static_cast<std::streamsize>(line.size()));
    const auto bytes = static_cast<std::size_t>(map.gcount());
    read += bytes;
    if (map.bad() || bytes == 0) break;
    const bool is_cut = map.fail();
    if (is_cut) {
      map.clear();
      map.ignore(static_cast<std::streamsize>(map_limit_bytes - read), '\n');
      read += static_cast<std::size_t>(map.gcount());
      continue;
    }
    piece_of_code piece;
    if (!read_line(std::string_view(line.data(), bytes - (map.eof() ? 0 : 1)), piece)) continue;
    const auto first = std::lower_bound(addresses.begin(), addresses.end(), piece.start);
    for (auto at = first; at != addresses.end() && *at - piece.start < piece.bytes; ++at)
      names[static_cast<std::size_t>(at - addresses.begin())] = piece.name;
  }
  return names;
}

void name_generated_code(profile& target) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> places;
  for (std::uint32_t i = 0; i < target.locations.size(); ++i) {
    const auto& place = target.locations[i];
    if (place.module == none && place.symbols.empty()) places.emplace_back(place.address, i);
  }
  if (places.empty() || !is_of_this_host(target.process)) return;
  const auto path = fmt::format("/tmp/perf-{}.map", target.process.pid);
  const collect::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
  if (!file || !is_believed(file.get(), target.process)) return;
  std::ifstream map(fmt::format("/proc/self/fd/{}", file.get()));
  std::sort(places.begin(), places.end());
  std::vector<std::uint64_t> addresses;
  for (const auto& [address, index] : places) addresses.push_back(address);
  const auto names = names_in_perf_map(map, addresses);
  frame_interner frames(target);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const std::string function = is_mangled(names[i]) ? demangle(names[i]) : names[i];
    target.locations[places[i].second].symbols.push_back(frames.frame({.function = function, .file = {}}));
  }
}

}  // namespace heapledger::symbols
