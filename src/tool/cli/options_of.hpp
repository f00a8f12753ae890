// The syntax of each command by itself. Each throws usage_error, or help_wanted.
#pragma once

#include <span>
#include <string>

#include "tool/cli/commands.hpp"
#include "tool/cli/options.hpp"

namespace heapledger::cli {

run_options parse_run(std::span<const std::string> given_words, const environment_lookup& environment);
attach_options parse_attach(std::span<const std::string> given_words, const environment_lookup& environment);
detach_options parse_detach(std::span<const std::string> given_words);
report_options parse_report(std::span<const std::string> given_words);
diff_options parse_diff(std::span<const std::string> given_words);
mark_options parse_mark(std::span<const std::string> given_words);
ps_options parse_ps(std::span<const std::string> given_words);
mark_options parse_snapshot(std::span<const std::string> given_words);
watch_switch_options parse_start(std::span<const std::string> given_words);
watch_switch_options parse_stop(std::span<const std::string> given_words);
top_options parse_top(std::span<const std::string> given_words);
export_options parse_export(std::span<const std::string> given_words);
html_options parse_html(std::span<const std::string> given_words);
leaks_options parse_leaks(std::span<const std::string> given_words);
doctor_options parse_doctor(std::span<const std::string> given_words);

}  // namespace heapledger::cli
