#include "tool/cli/help_page.hpp"

#include <fmt/format.h>

#include "tool/report/page.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::cli {
namespace {

constexpr std::size_t options_column = 30;

// "-o, --output FILE"; an option without a short name stands below the long ones.
std::string label_of(const CLI::Option& option) {
  std::string text = "  ";
  if (option.get_positional())
    return text + (option.get_option_text().empty() ? option.get_name(true) : option.get_option_text());
  for (const auto& name : option.get_snames()) text += fmt::format("-{}", name);
  if (!option.get_lnames().empty()) text += option.get_snames().empty() ? "    " : ", ";
  for (const auto& name : option.get_lnames()) text += fmt::format("--{}", name);
  if (!option.get_type_name().empty()) text += " " + option.get_type_name();
  return text;
}

}  // namespace

std::string help_entry(std::string_view label, std::string_view words, std::size_t column, std::size_t width) {
  std::string text;
  report::page page(text, {.width = width, .colour = false, .unicode = false});
  constexpr std::size_t narrowest_words = 30, below = 6;
  const bool is_narrow = column + narrowest_words > width;
  if (!label.empty() && (is_narrow || report::columns(label) + 2 > column)) {
    page.line(label);
    page.paragraph(words, is_narrow ? below : column);
  } else {
    page.entry(report::padded(label, column), words);
  }
  return text;
}

std::string help_page::make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const {
  std::string text;
  const std::string description = app->get_description();
  for (const auto& line : CLI::detail::split(description, '\n')) text += help_entry("", line, 0, width_);
  text += fmt::format("Usage: heapledger {}\n", app->get_footer());
  text += make_positionals(app) + make_groups(app, mode);
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "\n";
}

std::string help_page::make_group(std::string group, bool is_positional,
                                  std::vector<const CLI::Option*> options) const {
  std::string text = fmt::format("\n{}:\n", group);
  for (const auto* option : options) text += make_option(option, is_positional);
  return text;
}

std::string help_page::make_option(const CLI::Option* option, bool) const {
  return help_entry(label_of(*option), option->get_description(), options_column, width_);
}

}  // namespace heapledger::cli
