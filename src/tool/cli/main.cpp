#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "tool/cli/answer.hpp"
#include "tool/cli/enough_stack.hpp"
#include "tool/cli/options.hpp"
#include "tool/cli/values.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

int carry_out(const invocation& invocation) {
  if (const auto* spoken_text = std::get_if<spoken>(&invocation)) {
    if (spoken_text->exit_status == 0) {
      print_answer(spoken_text->text);
      finish_answer();
    } else {
      std::fputs(spoken_text->text.c_str(), stderr);
    }
    return spoken_text->exit_status;
  }
  if (const auto* options = std::get_if<run_options>(&invocation)) return run(*options);
  if (const auto* options = std::get_if<attach_options>(&invocation)) return attach(*options);
  if (const auto* options = std::get_if<detach_options>(&invocation)) return detach(*options);
  if (const auto* options = std::get_if<report_options>(&invocation)) return report(*options);
  if (const auto* options = std::get_if<diff_options>(&invocation)) return diff_profiles(*options);
  if (const auto* options = std::get_if<mark_options>(&invocation)) return mark(*options);
  if (const auto* options = std::get_if<ps_options>(&invocation)) return ps(*options);
  if (const auto* options = std::get_if<top_options>(&invocation)) return top(*options);
  if (const auto* options = std::get_if<export_options>(&invocation)) return export_profile(*options);
  if (const auto* options = std::get_if<html_options>(&invocation)) return html(*options);
  if (const auto* options = std::get_if<leaks_options>(&invocation)) return leaks(*options);
  if (const auto* options = std::get_if<watch_switch_options>(&invocation)) return switch_watch(*options);
  return doctor(std::get<doctor_options>(invocation));
}

int answer(const std::vector<std::string>& words) {
  try {
    return carry_out(parse(words, [](const char* name) -> const char* { return std::getenv(name); }));
  } catch (const usage_error& error) {
    std::fprintf(stderr, "heapledger: %s\n", printable(error.what()).c_str());
    return exit_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heapledger: %s\n", error.what());
    return exit_failure;
  }
}

}  // namespace
}  // namespace heapledger::cli

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return heapledger::cli::with_enough_stack([&] { return heapledger::cli::answer(words); });
}
