// Options of `run`, each with a value or a flag, and each with its environment twin HEAPLEDGER_<OPTION>.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/cli/command_line.hpp"
#include "tool/cli/options.hpp"

namespace heapledger::cli {

class twin_options {
 public:
  twin_options(command_line& line, const environment_lookup& environment) : line_(line), environment_(environment) {}

  // `source` is what the user wrote it for: "--depth" or "HEAPLEDGER_DEPTH".
  using use_value = std::function<void(std::string_view source, const std::string& text)>;

  void add(const std::string& names, const std::string& placeholder, const std::string& help, use_value use,
           const std::string& group = {});

  // A flag's text is "1", or how often it was given.
  void add_flag(const std::string& names, const std::string& help, use_value use);

  // Hands each value that was given to its use, once the command line is parsed.
  void take() const;

 private:
  struct twin {
    std::string name;                                  // without --
    std::unique_ptr<std::vector<std::string>> values;  // none: a flag
    use_value use;
  };

  command_line& line_;
  const environment_lookup& environment_;
  std::vector<twin> entries_;
};

}  // namespace heapledger::cli
