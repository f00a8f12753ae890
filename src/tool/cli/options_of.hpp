// The syntax of each command by itself. Each throws usage_error, or help_wanted.
#pragma once

#include <span>
#include <string>

#include "tool/cli/commands.hpp"
#include "tool/cli/options.hpp"

namespace heapledger::cli {

run_options parse_run(std::span<const std::string> given_words, const environment_lookup& environment);
report_options parse_report(std::span<const std::string> given_words);
export_options parse_export(std::span<const std::string> given_words);
html_options parse_html(std::span<const std::string> given_words);
doctor_options parse_doctor(std::span<const std::string> given_words);

}  // namespace heapledger::cli
