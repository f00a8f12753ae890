#include "tool/cli/twin_options.hpp"

#include <fmt/format.h>

#include <cctype>

#include "tool/cli/values.hpp"

namespace heapledger::cli {

CLI::Option* twin_options::add(const std::string& names, const std::string& placeholder, const std::string& help,
                               use_value use) {
  auto value = std::make_shared<std::vector<std::string>>();
  CLI::Option* option = line_.app().add_option(names, *value, help)->type_name(placeholder);
  // One value each time: CLI11 would else take every following word, and split one in brackets.
  option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  entries_.push_back({option, std::move(value), std::move(use)});
  return option;
}

void twin_options::add_flag(const std::string& names, const std::string& help, use_value use) {
  entries_.push_back({line_.app().add_flag(names, help), nullptr, std::move(use)});
}

void twin_options::take() const {
  for (const auto& entry : entries_) {
    const std::string name = entry.option->get_lnames().front();
    if (entry.option->count() != 0) {
      if (entry.values == nullptr) {
        for (const auto& result : entry.option->results()) {
          if (result != "true") throw usage_error(fmt::format("--{} takes no value", name));
        }
        entry.use("--" + name, fmt::to_string(entry.option->count()));
      } else {
        for (const auto& value : *entry.values) entry.use("--" + name, value);
      }
      continue;
    }
    std::string variable = "HEAPLEDGER_" + name;
    for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const char* value = environment_(variable.c_str());
    if (value != nullptr && *value != '\0') entry.use(variable, value);
  }
}

}  // namespace heapledger::cli
