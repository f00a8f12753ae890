// What changed between two profiles, for programs: one JSON object with the totals, and every stack that changed.
#pragma once

#include <span>

#include "tool/diff/compare.hpp"
#include "tool/report/diff_text.hpp"
#include "tool/report/json.hpp"

namespace heapledger::report {

// `options.top` cuts the stacks and the functions.
void write_diff_json(const diff::comparison& compared, std::span<const gate_result> gates, const json_options& options,
                     const json_sink& sink);

}  // namespace heapledger::report
