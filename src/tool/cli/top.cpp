// heapledger top: the live view of a running program, or of a profile. See docs/live.md.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <thread>

#include "tool/cli/answer.hpp"
#include "tool/cli/commands.hpp"
#include "tool/cli/load.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/values.hpp"
#include "tool/cli/which_program.hpp"
#include "tool/collect/process.hpp"
#include "tool/live/names.hpp"
#include "tool/live/plain.hpp"
#include "tool/live/screen.hpp"
#include "tool/live/source.hpp"
#include "tool/live/terminal.hpp"
#include "tool/live/view.hpp"
#include "tool/report/page.hpp"

namespace heapledger::cli {
namespace {

constexpr std::size_t usual_rows = 10;

template <class Choice, std::size_t Count>
Choice chosen(const std::string& name, const char* const (&names)[Count]) {
  for (std::size_t i = 0; i < Count; ++i)
    if (name == names[i]) return static_cast<Choice>(i);
  return Choice{};
}

live::subject chosen_view(const std::string& name) {
  std::size_t at = 0;
  while (live::views()[at].name != name) ++at;
  return static_cast<live::subject>(at);
}

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

std::unique_ptr<live::source> open_source(const top_options& options, live::symbol_names& names) {
  if (options.what.empty() || is_number(options.what)) return live::watch_program(which_program(options.what), names);
  refuse_name_of_program(options.what);
  auto loaded = load_profile(options.what, {});
  if (loaded.process.ended == ending::running) {
    const auto program = collect::find_program(static_cast<pid_t>(loaded.process.pid));
    if (program && program->segment == std::filesystem::absolute(options.what))
      return live::watch_program(*program, names);
  }
  const bool by_rate = options.by == "growth" || options.by == "churn";
  if (by_rate || options.by == "leaks")
    throw usage_error(
        by_rate ? fmt::format("top: --by {} is for a program that runs; {} is a profile", options.by, options.what)
                : fmt::format("top: --by leaks is for a program that runs; type: heapledger leaks {}",
                              shell_word(options.what)));
  return live::show_profile(std::move(loaded));
}

// Until the interval is over or the program has ended.
void pause_for(std::uint32_t interval_ms, pid_t pid) {
  const auto pidfd = collect::open_pidfd(pid);
  if (!pidfd && errno == ESRCH) return;  // it ended after the sample was taken
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  ::poll(&ended, pidfd ? 1 : 0, static_cast<int>(interval_ms));
}

int print_samples(const top_options& options, live::source& source, live::symbol_names& names) {
  live::plain_options plain;
  plain.what = chosen_view(options.per);
  plain.by = chosen<live::order>(options.by, live::order_names);
  plain.width = report::style_for(STDOUT_FILENO).width;
  const auto interval = std::chrono::milliseconds(options.interval_ms);
  auto due = std::chrono::steady_clock::now();
  for (std::uint32_t taken = 1;; ++taken) {
    const auto& sample = source.take();
    const auto rows =
        live::ranked(live::rows_of(sample, plain.what), plain.by, options.top == 0 ? usual_rows : options.top);
    const bool stacks = live::view_of(plain.what).are_stacks;
    static const profile nothing;
    if (stacks) {  // twice: the first asks for the names
      source.describe(plain.what, rows);
      names.wait();
    }
    const auto& described = stacks ? source.describe(plain.what, rows) : nothing;
    print_answer(options.json ? live::as_json(sample, source.process(), rows, described, plain)
                              : live::as_text(sample, source.process(), rows, described, plain));
    finish_answer();
    if (sample.state != live::watched::running || taken == options.count) return 0;
    due = std::max(due + interval, std::chrono::steady_clock::now());
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - std::chrono::steady_clock::now());
    pause_for(static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 0)),
              static_cast<pid_t>(source.process().pid));
  }
}

bool wants_screen(const top_options& options) {
  const char* terminal = std::getenv("TERM");
  return !options.text && !options.json && ::isatty(STDOUT_FILENO) != 0 && ::isatty(STDIN_FILENO) != 0 &&
         terminal != nullptr && *terminal != 0 && std::string_view(terminal) != "dumb";
}

}  // namespace

int top(const top_options& options) {
  live::symbol_names names;
  const auto source = open_source(options, names);
  if (wants_screen(options)) {
    live::screen view(*source, chosen<live::order>(options.by, live::order_names), chosen_view(options.per),
                      report::style_for(STDOUT_FILENO).unicode);
    if (options.top != 0) view.limit_rows(options.top);
    if (live::run_on_terminal(view, options.interval_ms, options.count, names)) {
      std::fflush(nullptr);
      std::_Exit(0);  // names may still be looked up by a thread that nothing may be destroyed under
    }
  }
  const int status = print_samples(options, *source, names);
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace heapledger::cli
