// The options and arguments of one command: what is wrong is said in our words, in one line. CLI11, which takes many
// seconds to compile, is known behind this header only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tool/cli/commands.hpp"

namespace CLI {
class App;
}

namespace heapledger::cli {

struct help_wanted {
  std::string text;
};

// Names of options are "--force", or "-f,--force". Values go to their places in parse(). An option that is given twice
// has its last value, unless it is a list.
class command_line {
 public:
  // `usage` is what stands behind the name: "PID NAME".
  command_line(const std::string& name, const std::string& usage);
  ~command_line();

  // In the help, below what the command is for.
  void add_remark(const std::string& text);
  // `shown`: instead of its name in the help.
  void add_argument(const std::string& name, std::string& value, const std::string& help,
                    const std::string& shown = {});
  void add_flag(const std::string& names, bool& value, const std::string& help);
  void add_flag(const std::string& names, const std::string& help);
  void add_hidden_flag(const std::string& names, bool& value);
  void add_option(const std::string& names, const std::string& placeholder, std::string& value,
                  const std::string& help);
  void add_list(const std::string& names, const std::string& placeholder, std::vector<std::string>& values,
                const std::string& help, const std::string& group = {});
  // Of every command that looks names up.
  void add_debug_options(debug_options& options);

  // Arguments beyond those that the command has names for go there, instead of being refused. (A vector of CLI11's
  // would take a file's name in brackets for a list.)
  void take_further(std::vector<std::string>& words) { further_ = &words; }

  // Whether the option `word` takes the next word as its value: "-o", "--output", "-fo", but not "--output=x".
  bool takes_next_word(const std::string& word) const;

  // Throws usage_error, or help_wanted.
  void parse(std::vector<std::string> given);

  // After that: how often an option was given, and with what; a flag that was given no value has "true".
  std::size_t count(const std::string& name) const;
  std::vector<std::string> values(const std::string& name) const;

 private:
  [[noreturn]] void refuse(const std::string& word) const;
  bool takes_value(const std::string& name) const;
  std::vector<std::string> option_names() const;

  std::unique_ptr<CLI::App> app_;
  std::string name_;
  std::vector<std::string>* further_ = nullptr;
};

}  // namespace heapledger::cli
