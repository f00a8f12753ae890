// A command's help as CLI11 asks for it, in our layout: what it does, its usage, its arguments and options, wrapped at
// a width.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heapledger::cli {

class help_page : public CLI::Formatter {
 public:
  explicit help_page(std::size_t width) : width_(width) {}

  // The app's footer is its usage: CLI11's own usage line says OPTIONS and nothing of what a command takes.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*> options) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;

 private:
  std::size_t width_;
};

// A label, and words wrapped beside it from `column` on; where the label is too long for that, on the next line.
std::string help_entry(std::string_view label, std::string_view words, std::size_t column, std::size_t width);

}  // namespace heapledger::cli
