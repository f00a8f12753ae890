// The options and arguments of one command, on top of CLI11: what is wrong is said in our words, in one line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tool/cli/commands.hpp"

namespace heapledger::cli {

struct help_wanted {
  std::string text;
};

class command_line {
 public:
  explicit command_line(const std::string& name);

  CLI::App& app() { return app_; }
  // Of every command that looks names up.
  void add_debug_options(debug_options& options);

  // Arguments beyond those that the command has names for go there, instead of being refused. (A vector of CLI11's
  // would take a file's name in brackets for a list.)
  void take_further(std::vector<std::string>& words) { further_ = &words; }

  // Whether the option `word` takes the next word as its value: "-o", "--output", "-fo", but not "--output=x".
  bool takes_next_word(const std::string& word) const;

  // Throws usage_error, or help_wanted.
  void parse(std::vector<std::string> given);

 private:
  [[noreturn]] void refuse(const std::string& word) const;
  bool takes_value(const std::string& name) const;
  std::vector<std::string> option_names() const;

  CLI::App app_;
  std::string name_;
  std::vector<std::string>* further_ = nullptr;
};

}  // namespace heapledger::cli
