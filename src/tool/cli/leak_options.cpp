#include "tool/cli/leak_options.hpp"

#include <fmt/format.h>

#include "tool/cli/values.hpp"

namespace heapledger::cli {
namespace {

constexpr double shortest_s = 0.01;
constexpr double longest_s = 30 * 86400.0;

}  // namespace

void add_leak_options(const std::string& prefix, leak_watch_options& options, const add_value& add) {
  const auto name = [&](const char* word) { return "--" + prefix + word; };
  add(name("suspicious"), "S", "a block older than this is suspicious (each stack's own lifetimes tell)",
      [&](auto source, const std::string& text) {
        options.hunt.suspicious_s = seconds_value(source, text, shortest_s, longest_s);
      });
  add(name("access"), "S", "not touched for so long, it is a leak (each stack's own pauses tell)",
      [&](auto source, const std::string& text) {
        options.hunt.access_s = seconds_value(source, text, shortest_s, longest_s);
      });
  add(name("rest"), "S", fmt::format("from an access to the next look (as {} is long)", name("access")),
      [&](auto source, const std::string& text) {
        options.hunt.rest_s = seconds_value(source, text, shortest_s, longest_s);
      });
  add(name("samples"), "N", "so many watched blocks freed, at least, acquit a stack for a time (5)",
      [&](auto source, const std::string& text) { options.hunt.samples = number_value(source, text, 1, 1'000'000); });
  add(name("per-stack"), "N", "watch so many blocks of a stack at a time (30)",
      [&](auto source, const std::string& text) { options.hunt.per_stack = number_value(source, text, 1, 100'000); });
  add(name("in-all"), "N", "watch so many blocks at a time (50000)",
      [&](auto source, const std::string& text) { options.hunt.in_all = number_value(source, text, 1, 200'000); });
  add(name("after"), "S", "begin so many seconds from now: what starts up is not counted (0)",
      [&](auto source, const std::string& text) { options.after_s = seconds_value(source, text, 0, longest_s); });
  add(name("report"), "S", fmt::format("report so often; 0 at the end only ({})", options.hunt.report_s),
      [&](auto source, const std::string& text) { options.hunt.report_s = seconds_value(source, text, 0, longest_s); });
  add(name("suppressions"), "FILE", "leave out what matches its lines, as LeakSanitizer has them; may be repeated",
      [&](auto, const std::string& text) { options.suppressions.push_back(text); });
  add(name("error-exitcode"), "N", "exit with this status when something leaks (0: no difference)",
      [&](auto source, const std::string& text) {
        options.error_exitcode = static_cast<int>(number_value(source, text, 0, 255));
      });
  add(name("stop"), "YES|NO", "stop the program for moments, to see what still points to leaks (yes)",
      [&](auto source, const std::string& text) { options.may_stop = truth_value(source, text); });
}

}  // namespace heapledger::cli
