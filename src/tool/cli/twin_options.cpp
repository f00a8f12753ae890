#include "tool/cli/twin_options.hpp"

#include <fmt/format.h>

#include <cctype>

#include "tool/cli/values.hpp"

namespace heapledger::cli {
namespace {

std::string long_name(const std::string& names) {
  return names.substr(names.find("--") + 2);
}

}  // namespace

void twin_options::add(const std::string& names, const std::string& placeholder, const std::string& help, use_value use,
                       const std::string& group) {
  auto values = std::make_unique<std::vector<std::string>>();
  line_.add_list(names, placeholder, *values, help, group);
  entries_.push_back({long_name(names), std::move(values), std::move(use)});
}

void twin_options::add_flag(const std::string& names, const std::string& help, use_value use) {
  line_.add_flag(names, help);
  entries_.push_back({long_name(names), nullptr, std::move(use)});
}

void twin_options::take() const {
  for (const auto& entry : entries_) {
    const std::string option = "--" + entry.name;
    if (const std::size_t count = line_.count(option); count != 0) {
      if (entry.values == nullptr) {
        for (const auto& value : line_.values(option)) {
          if (value != "true") throw usage_error(fmt::format("{} takes no value", option));
        }
        entry.use(option, fmt::to_string(count));
      } else {
        for (const auto& value : *entry.values) entry.use(option, value);
      }
      continue;
    }
    std::string variable = "HEAPLEDGER_" + entry.name;
    for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const char* value = environment_(variable.c_str());
    if (value != nullptr && *value != '\0') entry.use(variable, value);
  }
}

}  // namespace heapledger::cli
