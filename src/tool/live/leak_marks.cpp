#include "tool/live/leak_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "tool/report/units.hpp"

namespace heapledger::live {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;

std::vector<wire::watch_suspect> read_suspects(const collect::segment_file& file) {
  std::uint32_t count = 0;
  constexpr auto at = offsetof(wire::segment_header, watch_asked) + offsetof(wire::watch_request, suspect_count);
  if (!file.read_at(at, &count, sizeof count)) return {};
  const auto& region = file.header().watch_suspects;
  std::vector<wire::watch_suspect> suspects(
      std::min<std::uint64_t>({count, region.capacity, wire::watch_suspect_capacity}));
  if (!file.read_at(region.offset, suspects.data(), suspects.size() * sizeof suspects[0])) return {};
  return suspects;
}

const char* name_of(leak_verdict says) {
  return says == leak_verdict::leak ? "leak" : says == leak_verdict::retention ? "retention" : "suspect";
}

}  // namespace

void add_leak_marks(sample& to, const collect::segment_file& file, const collect::segment_copy& books,
                    const collect::scope_reader& scopes) {
  using place = std::pair<std::uint32_t, std::uint32_t>;  // kind of scope, node: what a row stands for
  std::map<place, leak_mark> marks;
  for (const auto& suspect : read_suspects(file)) {
    const auto word = static_cast<std::uint32_t>(suspect.verdict);
    if (word == 0 || word > static_cast<std::uint32_t>(wire::watch_verdict::leak)) continue;
    const leak_mark said{static_cast<leak_verdict>(word - 1), std::min(suspect.lost_bytes, most_bytes),
                         std::min(suspect.lost_bytes_per_hour, most_bytes)};
    if (said.says == leak_verdict::leak) {
      ++to.leaks.places;
      to.leaks.bytes += said.bytes;
      to.leaks.bytes_per_hour += said.bytes_per_hour;
    }
    if (suspect.account >= books.account_keys.size()) continue;  // of a pool
    const auto& key = books.account_keys[suspect.account];
    auto& mark = marks.try_emplace({scopes.kind_of(key), key.node}, leak_mark{said.says, 0, 0}).first->second;
    mark.says = std::max(mark.says, said.says);
    mark.bytes += said.bytes;
    mark.bytes_per_hour += said.bytes_per_hour;
  }
  if (marks.empty()) return;
  for (auto& row : to.stacks) {
    if (row.id >= books.account_keys.size()) continue;
    const auto& key = books.account_keys[row.id];
    if (const auto found = marks.find({scopes.kind_of(key), key.node}); found != marks.end()) row.leak = found->second;
  }
}

std::string mark_text(const row& of) {
  if (!of.leak) return {};
  if (of.leak->says != leak_verdict::leak) return fmt::format("{}: ", name_of(of.leak->says));
  return fmt::format("LEAK {}/h: ", report::bytes_text(static_cast<std::int64_t>(of.leak->bytes_per_hour)));
}

std::string leaks_summary(const sample& of) {
  if (of.leaks.places == 0) return {};
  return fmt::format(", {} of about {}", report::counted(of.leaks.places, "leak", "leaks"),
                     report::bytes_text(static_cast<std::int64_t>(std::min(of.leaks.bytes, most_bytes))));
}

std::string mark_json(const row& of) {
  if (!of.leak) return {};
  return fmt::format(R"(,"leak":{{"verdict":"{}","bytes":{},"bytes_per_hour":{}}})", name_of(of.leak->says),
                     of.leak->bytes, of.leak->bytes_per_hour);
}

std::string leaks_json(const sample& of) {
  if (of.leaks.places == 0) return {};
  return fmt::format(R"(,"leaks":{{"places":{},"bytes":{},"bytes_per_hour":{}}})", of.leaks.places, of.leaks.bytes,
                     of.leaks.bytes_per_hour);
}

}  // namespace heapledger::live
