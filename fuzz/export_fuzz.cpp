// Any profile that is accepted can be exported in every format, put into a page, and compared with itself and with
// nothing.
#include <string_view>

#include "tool/diff/compare.hpp"
#include "tool/diff/rank.hpp"
#include "tool/export/format.hpp"
#include "tool/export/heaptrack_plan.hpp"
#include "tool/html/data.hpp"
#include "tool/profile/container.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/payload.hpp"

using namespace heapledger;

namespace {

// heaptrack's file grows with the counters, which cost a fuzzer nothing: only small ones are written out.
void export_all(const profile& p) {
  constexpr std::uint64_t few = 10'000;
  for (const exports::format& format : exports::formats()) {
    if (format.name == "heaptrack" && p.totals().allocations > few) continue;
    std::size_t bytes = 0;
    format.write(p, std::nullopt, [&](std::string_view piece) { bytes += piece.size(); });
    if (bytes == 0 && !p.stacks.empty() && format.name != "folded") __builtin_trap();
  }
  try {
    exports::plan_blocks(p, few);
  } catch (const input_error&) {
  }
}

void compare(const profile& before, const profile& after) {
  const diff::comparison compared(before, after);
  counters sum;
  for (const auto& change : compared.stacks()) sum += change.after;
  if (sum != after.totals()) __builtin_trap();
  for (const auto& place : diff::rank_places(compared, analyse::measure::peak)) {
    for (const std::uint32_t index : place.stacks) compared.frames_of(compared.stacks()[index]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  profile given;
  try {
    given = format::decode({reinterpret_cast<const char*>(data), size});
    format::check(given);
  } catch (const format::damage&) {
    return 0;
  }
  export_all(given);
  html::page_data(given);
  html::page_data(given, given);
  html::page_data(profile(), given);
  compare(given, given);
  compare(given, profile());
  compare(profile(), given);
  return 0;
}
