#include "tool/inject/tail_calls.hpp"

#include <algorithm>
#include <cstring>

#include "tool/inject/memory.hpp"

namespace heapledger::inject {
namespace {

constexpr std::size_t most_functions = 200'000;
constexpr std::uint64_t longest_function = 1 << 14;
constexpr unsigned char near_jump = 0xe9;
constexpr std::size_t jump_bytes = 5;

// Where functions begin, by .eh_frame_hdr: four bytes that say how, the address of .eh_frame, a count, and pairs of a
// start and an entry, all relative to the header and sorted.
std::vector<std::uint64_t> function_starts(pid_t pid, std::uint64_t base, const exports& of) {
  struct header {
    unsigned char version, frame_encoding, count_encoding, table_encoding;
    std::int32_t frame;
    std::uint32_t count;
  } head{};
  const auto at = of.unwind_table();
  constexpr unsigned char udata4 = 0x03, datarel_sdata4 = 0x3b, pcrel_sdata4 = 0x1b;
  if (at == 0 || !read_memory(pid, base + at, &head, sizeof head) || head.version != 1 ||
      head.frame_encoding != pcrel_sdata4 || head.count_encoding != udata4 || head.table_encoding != datarel_sdata4 ||
      head.count > most_functions)
    return {};
  std::vector<std::int32_t> pairs(std::size_t{head.count} * 2);
  if (pairs.empty() || !read_memory(pid, base + at + sizeof head, pairs.data(), pairs.size() * sizeof pairs[0]))
    return {};
  std::vector<std::uint64_t> starts;
  for (std::size_t i = 0; i < pairs.size(); i += 2)
    starts.push_back(at + static_cast<std::uint64_t>(std::int64_t{pairs[i]}));
  std::sort(starts.begin(), starts.end());
  return starts;
}

}  // namespace

std::vector<nameless_part> find_tail_calls(pid_t pid, std::uint64_t base, const exports& of,
                                           bool (*is_wanted)(std::string_view name)) {
  std::vector<nameless_part> parts;
  const auto starts = function_starts(pid, base, of);
  std::vector<unsigned char> code;
  for (const auto& function : of.functions()) {
    if (starts.empty() || function.bytes < jump_bytes || function.bytes > longest_function || !is_wanted(function.name))
      continue;
    code.resize(function.bytes);
    if (!read_memory(pid, base + function.address, code.data(), code.size())) continue;
    for (std::size_t i = 0; i + jump_bytes <= code.size(); ++i) {
      if (code[i] != near_jump) continue;
      std::int32_t distance = 0;
      std::memcpy(&distance, &code[i + 1], sizeof distance);
      const auto target = function.address + i + jump_bytes + static_cast<std::uint64_t>(std::int64_t{distance});
      const auto found = std::lower_bound(starts.begin(), starts.end(), target);
      if (found == starts.end() || *found != target || std::next(found) == starts.end()) continue;
      if (of.names_at(target).empty()) parts.push_back({target, *std::next(found), function.name});
    }
  }
  return parts;
}

}  // namespace heapledger::inject
