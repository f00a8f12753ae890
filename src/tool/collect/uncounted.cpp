#include "tool/collect/uncounted.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace heapledger::collect {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(wire::uncounted_reason::count)> reasons = {
    "", "static", "sanitizer", "other-libc", "other-machine", "privileged", "out-of-reach"};
constexpr std::uint64_t most_times = std::uint64_t{1} << 40;  // no system starts as many processes

void add(uncounted_info program, std::vector<uncounted_info>& to) {
  if (program.times == 0 || program.times > most_times) return;
  const auto known = std::find_if(to.begin(), to.end(), [&](const uncounted_info& one) {
    return one.path == program.path && one.reason == program.reason;
  });
  if (known == to.end()) {
    to.push_back(std::move(program));
  } else {
    known->times = std::min(known->times + program.times, most_times);
  }
}

}  // namespace

void add_uncounted(const wire::segment_header& header, std::vector<uncounted_info>& to) {
  for (const auto& entry : header.uncounted) {
    const auto reason = static_cast<std::size_t>(entry.reason);
    if (entry.ready == 0 || reason == 0 || reason >= reasons.size() || entry.path[0] == 0) continue;
    add({.path = std::string(entry.path, ::strnlen(entry.path, sizeof entry.path)),
         .reason = reasons[reason],
         .times = entry.times},
        to);
  }
  add({.path = {}, .reason = {}, .times = header.uncounted_others}, to);
}

void add_uncounted(const std::vector<uncounted_info>& programs, std::vector<uncounted_info>& to) {
  for (const auto& program : programs) add(program, to);
}

}  // namespace heapledger::collect
