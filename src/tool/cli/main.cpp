#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "tool/cli/options.hpp"

namespace heapledger::cli {
namespace {

int carry_out(const invocation& invocation) {
  if (const auto* spoken_text = std::get_if<spoken>(&invocation)) {
    std::FILE* const stream = spoken_text->exit_status == 0 ? stdout : stderr;
    std::fputs(spoken_text->text.c_str(), stream);
    return spoken_text->exit_status;
  }
  if (const auto* options = std::get_if<run_options>(&invocation)) return run(*options);
  if (const auto* options = std::get_if<report_options>(&invocation)) return report(*options);
  if (const auto* options = std::get_if<export_options>(&invocation)) return export_profile(*options);
  if (const auto* options = std::get_if<html_options>(&invocation)) return html(*options);
  return doctor(std::get<doctor_options>(invocation));
}

}  // namespace
}  // namespace heapledger::cli

int main(int argc, char** argv) {
  using namespace heapledger::cli;
  try {
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return carry_out(parse(words, [](const char* name) -> const char* { return std::getenv(name); }));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heapledger: %s\n", error.what());
    return exit_failure;
  }
}
