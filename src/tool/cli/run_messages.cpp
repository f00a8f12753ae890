#include "tool/cli/run_messages.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <set>

#include "tool/collect/program_check.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/overview.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/uncounted_text.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {
namespace {

constexpr std::size_t most_lines = 10;
constexpr std::size_t most_failures = 10;
constexpr std::size_t named_biggest = 3;

void print(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

std::string mib(std::int64_t bytes) {
  return bytes < (1 << 20) ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024)
                           : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// What the order goes by: of a compiler, say, malloc has the least.
std::string most_text(const written_profile& profile) {
  const auto peak = "peak " + mib(profile.peak_bytes);
  return profile.mapped_bytes == 0 ? peak : fmt::format("{} and {} mapped", peak, mib(profile.mapped_bytes));
}

std::string next_command(const written_profile& profile) {
  return "heapledger report " + shell_file(profile.file);
}

// Nothing where that is not a pattern for all.
std::string table_command(const std::vector<written_profile>& written, const std::string& folder) {
  const bool together = std::all_of(written.begin(), written.end(), [&](const auto& profile) {
    const auto slash = profile.file.rfind('/');
    return profile.file.ends_with(".hlp") &&
           (slash == std::string::npos ? folder == "." : profile.file.substr(0, slash) == folder);
  });
  if (!together) return {};
  return fmt::format("; a table of all: heapledger report {}*.hlp", folder == "." ? "" : shell_word(folder) + "/");
}

// As the probe does: * and ? alone stand for something.
bool matches(std::string_view glob, std::string_view name) {
  if (glob.empty()) return name.empty();
  if (glob[0] == '*') return matches(glob.substr(1), name) || (!name.empty() && matches(glob, name.substr(1)));
  return !name.empty() && (glob[0] == '?' || glob[0] == name[0]) && matches(glob.substr(1), name.substr(1));
}

std::string folders_of(const std::vector<written_profile>& written) {
  std::vector<std::string> folders;
  for (const auto& profile : written) {
    const auto slash = profile.file.rfind('/');
    folders.push_back(slash == std::string::npos ? "." : profile.file.substr(0, slash));
  }
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders.size() == 1 ? folders.front() : fmt::format("{} folders", folders.size());
}

void say_running(const std::vector<written_profile>& written) {
  const auto is_running = [](const auto& profile) { return profile.is_running; };
  const auto running = static_cast<std::size_t>(std::count_if(written.begin(), written.end(), is_running));
  if (running > most_lines)
    return say(fmt::format("{} processes still run: their profiles hold what they did until now", running));
  for (const auto& profile : written)
    if (profile.is_running)
      say(fmt::format("{} (pid {}) still runs: its profile holds what it did until now", profile.program, profile.pid));
}

}  // namespace

// Standard error may be closed or full: what cannot be said is left unsaid.
void say(const std::string& line) {
  print("heapledger: " + printable(line) + "\n");
}

std::string shell_word(const std::string& text) {
  return report::shell_quoted(text);
}

std::string shell_file(const std::string& name) {
  return report::shell_file(name);
}

void say_written(std::vector<written_profile> written) {
  if (written.empty()) return;
  std::stable_sort(written.begin(), written.end(),
                   [](const auto& a, const auto& b) { return a.most_bytes() > b.most_bytes(); });
  say_running(written);

  const auto kept = std::find_if(written.begin(), written.end(), [](const auto& profile) { return profile.is_kept; });
  if (kept == written.end()) {
    say(fmt::format("wrote {} to {}, where nothing is kept to report; -o FILE keeps it",
                    written.size() == 1 ? "the profile" : fmt::format("{} profiles", written.size()), written[0].file));
    return;
  }
  if (written.size() == 1) {
    say(fmt::format("wrote {}; next: {}", written[0].file, next_command(written[0])));
    return;
  }
  if (written.size() <= most_lines) {
    for (const auto& profile : written)
      say(fmt::format("wrote {} ({}, pid {}, {})", profile.file, profile.program, profile.pid, most_text(profile)));
    say(fmt::format("next: {}", next_command(written[0])));
    return;
  }
  std::string biggest;
  for (std::size_t i = 0; i < named_biggest; ++i)
    biggest +=
        fmt::format("{}{} ({}, {})", i == 0 ? "" : ", ", written[i].file, written[i].program, most_text(written[i]));
  const auto folder = folders_of(written);
  say(fmt::format("wrote {} profiles to {}; the biggest: {}; next: {}{}", written.size(), folder, biggest,
                  next_command(written[0]), table_command(written, folder)));
  const auto& program = written[0].program;
  if (std::any_of(written.begin(), written.end(), [&](const auto& one) { return one.program != program; }))
    say(fmt::format("of {} alone next time: heapledger run --only {} ...", program, shell_word(program)));
}

void say_errors(const std::vector<written_profile>& written) {
  std::size_t said = 0;
  for (const auto& profile : written)
    if (profile.errors != 0 && profile.is_kept && ++said <= most_lines)
      say(fmt::format("{} in {} (pid {}): the report begins with {}",
                      report::counted(profile.errors, "memory error", "memory errors"), profile.program, profile.pid,
                      profile.errors == 1 ? "it" : "them"));
}

void say_ending(const std::string& program, int wait_status) {
  if (!WIFSIGNALED(wait_status)) return;
  process_info process;
  process.ended = ending::signaled;
  process.signal = WTERMSIG(wait_status);
  if (process.signal == SIGINT || process.signal == SIGPIPE) return;  // the user's doing, and of no interest
  say(fmt::format("{} {}", program, report::ending_text(process)));
}

std::vector<std::string> written_lines(const std::vector<written_profile>& written, std::uint32_t pid) {
  std::vector<std::string> lines;
  if (written.size() <= most_lines) {
    for (const auto& profile : written) lines.push_back("wrote " + profile.file);
    return lines;
  }
  auto text = fmt::format("wrote {} profiles to {}", written.size(), folders_of(written));
  for (const auto& profile : written)
    if (profile.pid == pid) text += fmt::format("; that of {} (pid {}): {}", profile.program, pid, profile.file);
  return {text};
}

void say_own_allocators(const std::vector<written_profile>& written, const std::string& known) {
  std::set<std::string> looked_at = {known};
  for (const auto& profile : written) {
    if (!profile.exe.starts_with('/') || !looked_at.insert(profile.exe).second) continue;
    for (const auto& finding : check_program(profile.exe).findings)
      if (finding.what == obstacle::own_allocator) say(fmt::format("{}: {}", profile.program, finding.words));
  }
}

std::string no_probe_text(const std::string& program, int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("no profile: {} was killed by signal {} before the probe was loaded", program,
                       WTERMSIG(wait_status));
  return fmt::format("no profile: {} did not load the probe; `heapledger doctor {}` may tell why", program,
                     shell_word(program));
}

void say_uncounted(const std::vector<uncounted_info>& programs, const std::vector<std::string>& only) {
  std::vector<uncounted_info> wanted;
  std::copy_if(programs.begin(), programs.end(), std::back_inserter(wanted), [&](const uncounted_info& program) {
    const auto name = program.path.substr(program.path.rfind('/') + 1);
    const auto fits = [&](const std::string& glob) { return matches(glob, name); };
    return only.empty() || std::any_of(only.begin(), only.end(), fits);
  });
  if (!wanted.empty()) say(fmt::format("not counted: {}", report::uncounted_text(wanted)));
}

namespace {

std::string how_to_make_room(const std::string& session_directory) {
  return session_directory.starts_with("/dev/shm/")
             ? "give it more (docker run --shm-size=1g; mount -o remount,size=1g /dev/shm)"
             : "make room there";
}

}  // namespace

void say_lost_stacks(const std::vector<written_profile>& written, const std::string& session_directory) {
  std::size_t others = 0;
  const written_profile* first = nullptr;
  for (const auto& profile : written) {
    if (profile.lost_stacks.empty()) continue;
    others += first != nullptr ? 1 : 0;
    if (first == nullptr || profile.most_bytes() > first->most_bytes()) first = &profile;
  }
  if (first == nullptr) return;
  say(fmt::format("{}: {}; {}{}", first->file, first->lost_stacks,
                  first->lacked_room ? how_to_make_room(session_directory) : "record with --depth",
                  others == 0 ? ""
                              : fmt::format("; stacks are missing in {}, too",
                                            report::counted(others, "other profile", "other profiles"))));
}

void say_without_books(std::size_t processes, const std::string& session_directory) {
  if (processes == 0) return;
  const auto number = processes == 1 ? std::string("one process") : fmt::format("{} processes", processes);
  if (::access(session_directory.c_str(), F_OK) != 0)
    return say(
        fmt::format("not counted: {}, whose books were in {}, which somebody has removed", number, session_directory));
  const bool is_in_shm = session_directory.starts_with("/dev/shm/");
  say(fmt::format("not counted: {}, for want of room in {}; {}, or count fewer programs with --only", number,
                  is_in_shm ? "/dev/shm" : session_directory, how_to_make_room(session_directory)));
}

void say_silent(const std::vector<collect::silent_process>& processes) {
  if (processes.empty()) return;
  std::string named;
  for (std::size_t i = 0; i < std::min(processes.size(), named_biggest); ++i)
    named += fmt::format("{}{} (pid {})", i == 0 ? "" : ", ", processes[i].program, processes[i].pid);
  if (processes.size() > named_biggest) named += fmt::format(" and {} more", processes.size() - named_biggest);
  const bool is_one = processes.size() == 1;
  say(
      fmt::format("{} still {} and {} allocated nothing since {} forked: in no profile; a service is profiled in its "
                  "foreground mode",
                  named, is_one ? "runs" : "run", is_one ? "has" : "have", is_one ? "it was" : "they were"));
}

void say_failed(const std::vector<failed_profile>& failed, const std::string& session_directory) {
  for (std::size_t i = 0; i < std::min(failed.size(), most_failures); ++i)
    say(fmt::format("{}; what was counted is kept, read it with: heapledger report {}", failed[i].why,
                    shell_word(failed[i].segment)));
  if (failed.size() > most_failures)
    say(fmt::format("{} more profiles failed; their segments are kept in {}", failed.size() - most_failures,
                    session_directory));
}

progress_line::progress_line(bool wanted) : is_wanted_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void progress_line::show(std::size_t done, std::size_t total) {
  if (total != 0) show(fmt::format("finding symbols, {} %", done * 100 / total));
}

void progress_line::show(std::string_view what) {
  auto text = fmt::format("heapledger: {}", printable(what));
  if (!is_wanted_ || text == shown_) return;
  shown_ = std::move(text);
  print(fmt::format("\r{}\033[K", shown_));
}

void progress_line::clear() {
  if (!shown_.empty()) print("\r\033[K");
  shown_.clear();
}

}  // namespace heapledger::cli
