#include "tool/cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tool/cli/help.hpp"
#include "tool/cli/help_page.hpp"
#include "tool/cli/peers_words.hpp"
#include "tool/cli/suggest.hpp"
#include "tool/cli/values.hpp"

namespace heapledger::cli {
namespace {

using words = std::vector<std::string>;

std::string purpose_of(const std::string& name) {
  for (const auto& command : commands()) {
    if (command.name == name) return command.purpose;
  }
  return {};
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

// CLI11 says "--output: 1 required TEXT missing".
std::string option_of(const CLI::Error& error) {
  const std::string text = error.what();
  return text.substr(0, text.find(':'));
}

// CLI11 would take every word that follows for a value, and split one in brackets.
CLI::Option* one_each_time(CLI::Option* option) {
  return option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

command_line::command_line(const std::string& name, const std::string& usage)
    : app_(std::make_unique<CLI::App>(purpose_of(name), name)), name_(name) {
  app_->footer(name + " " + usage);
  app_->allow_extras();
  app_->set_help_flag("-h,--help", "this text");
  app_->formatter(std::make_shared<help_page>(help_width()));
  app_->get_formatter()->label("Positionals", "Arguments");
  app_->option_defaults()->take_last();
}

command_line::~command_line() = default;

void command_line::add_remark(const std::string& text) {
  app_->description(app_->get_description() + "\n" + text);
}

void command_line::add_argument(const std::string& name, std::string& value, const std::string& help,
                                const std::string& shown) {
  app_->add_option(name, value, help)->type_name("")->option_text(shown);
}

void command_line::add_flag(const std::string& names, bool& value, const std::string& help) {
  app_->add_flag(names, value, help);
}

void command_line::add_flag(const std::string& names, const std::string& help) {
  app_->add_flag(names, help);
}

void command_line::add_hidden_flag(const std::string& names, bool& value) {
  app_->add_flag(names, value)->group("");
}

void command_line::add_option(const std::string& names, const std::string& placeholder, std::string& value,
                              const std::string& help) {
  app_->add_option(names, value, help)->type_name(placeholder);
}

void command_line::add_list(const std::string& names, const std::string& placeholder, words& values,
                            const std::string& help, const std::string& group) {
  CLI::Option* option = one_each_time(app_->add_option(names, values, help)->type_name(placeholder));
  if (!group.empty()) option->group(group);
}

void command_line::add_debug_options(debug_options& options) {
  one_each_time(app_->add_option("--debug-path", options.folders, "a folder of debug files; may be repeated")
                    ->type_name("DIR")
                    ->check(CLI::Validator(CLI::ExistingDirectory).description("")));
  app_->add_flag("--debuginfod", options.debuginfod, "fetch debug files from the servers in DEBUGINFOD_URLS");
}

bool command_line::takes_next_word(const std::string& word) const {
  if (word.starts_with("--")) return word.find('=') == std::string::npos && takes_value(word);
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (takes_value(std::string("-") + word[i])) return i + 1 == word.size();
  }
  return false;
}

void command_line::parse(words given) {
  std::reverse(given.begin(), given.end());
  try {
    app_->parse(given);
  } catch (const CLI::CallForHelp&) {
    throw help_wanted{app_->help()};
  } catch (const CLI::ArgumentMismatch& error) {
    throw usage_error(fmt::format("{} needs a value", option_of(error)));
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what());
  }
  words unknown = app_->remaining();
  const auto separator = std::find(unknown.begin(), unknown.end(), "--");  // CLI11 keeps it
  const auto option = std::find_if(unknown.begin(), separator, is_option);
  if (option != separator) refuse(*option);
  if (separator != unknown.end()) unknown.erase(separator);
  if (further_ != nullptr) {
    *further_ = std::move(unknown);
  } else if (!unknown.empty()) {
    refuse(unknown.front());
  }
}

std::size_t command_line::count(const std::string& name) const {
  return app_->count(name);
}

words command_line::values(const std::string& name) const {
  return app_->get_option(name)->results();
}

void command_line::refuse(const std::string& word) const {
  if (!is_option(word)) throw usage_error(fmt::format("'{}' is one argument too many", word));
  const std::string option = word.starts_with("--") ? word.substr(0, word.find('=')) : word;
  if (const auto typed = peers_word(name_, option); !typed.empty())
    throw usage_error(fmt::format("unknown option {}; type: {}", option, typed));
  const std::string meant = nearest(option, option_names());
  throw usage_error(fmt::format(
      "unknown option {}; {}", option,
      meant.empty() ? fmt::format("heapledger {} --help lists them", name_) : fmt::format("did you mean {}?", meant)));
}

bool command_line::takes_value(const std::string& name) const {
  const CLI::Option* option = app_->get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_min() > 0;
}

words command_line::option_names() const {
  words names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace heapledger::cli
