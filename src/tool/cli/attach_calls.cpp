#include "tool/cli/attach_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>

#include "tool/cli/attach_mark.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/programs.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/inject/quiet.hpp"
#include "tool/profile/error.hpp"
#include "wire/attach.hpp"

namespace heapledger::cli {
namespace {

const inject::module* probe_in(const std::vector<inject::module>& modules) {
  const auto found =
      std::find_if(modules.begin(), modules.end(), [](const auto& each) { return each.name() == "libheapledger.so"; });
  return found == modules.end() ? nullptr : &*found;
}

std::string lines_of(const collect::probe_settings& settings) {
  std::string lines;
  for (const auto& variable : collect::environment_for(settings, nullptr))
    if (!variable.starts_with("LD_PRELOAD=")) lines += variable + "\n";
  return lines;
}

// "Max file size             1048576              unlimited            bytes"
std::uint64_t soft_limit(std::string_view limits, std::string_view name) {
  const auto at = limits.find(name);
  const auto value = at == std::string_view::npos ? at : limits.find_first_not_of(' ', at + name.size());
  std::uint64_t limit = UINT64_MAX;
  if (value != std::string_view::npos) std::from_chars(limits.data() + value, limits.data() + limits.size(), limit);
  return limit;
}

std::string why_no_place(std::string_view limits) {
  const auto file = soft_limit(limits, "Max file size"), addresses = soft_limit(limits, "Max address space");
  if (file < least_file_for_books)
    return fmt::format(
        "its files are limited to {} KiB (ulimit -f), and the books of a program need {} KiB; start it "
        "with a higher limit",
        file >> 10, least_file_for_books >> 10);
  if (addresses < least_addresses_for_books)
    return fmt::format(
        "its address space is limited to {} KiB (ulimit -v), and a program with books needs {} KiB; "
        "start it with a higher limit",
        addresses >> 10, least_addresses_for_books >> 10);
  return "it cannot make a file for its counters; set TMPDIR to a directory that its user can write to";
}

}  // namespace

void refuse_program_of_ours(pid_t pid) {
  const auto program = collect::find_program(pid);
  if (!program) return;
  const collect::segment_file segment(program->segment, collect::links::refused);
  if (segment.header().state == wire::lifecycle::detached) return;
  const auto directory = program->segment.substr(0, program->segment.rfind('/'));
  const bool was_attached = find_watcher(directory).state != attach_watcher::never;
  throw input_error(
      fmt::format("process {}", pid), "it is under heapledger already",
      was_attached
          ? fmt::format("heapledger top {0} shows it; heapledger detach {0} ends that, and writes the profile", pid)
          : fmt::format("heapledger top {0}, or heapledger leaks {0}", pid));
}

std::string refusal_of(std::int32_t result, std::string_view limits) {
  using wire::attach_result;
  switch (static_cast<attach_result>(result)) {
    case attach_result::done:
      return {};
    case attach_result::already:
      return "it was under heapledger before, from its start, with a leak watch, or eight times; start it anew";
    case attach_result::no_place:
      return why_no_place(limits);
    case attach_result::foreign_loader:
      return "its loader does not look as we know it; start it with heapledger run";
    case attach_result::no_allocator:
      return "a function of its allocator could not be found; start it with heapledger run";
    case attach_result::own_allocator:
      return "it brings a malloc of its own, whose calls cannot be seen; build it without";
    case attach_result::fixed_words:
      return "memory in which its loader has bound functions cannot be written; start it with heapledger run";
    case attach_result::not_attached:
      break;
  }
  return fmt::format("its probe is of another version (it answered {}); install heapledger anew", result);
}

inject::outcome begin_in(const inject::target& process, const collect::probe_settings& settings) {
  auto lines = lines_of(settings);
  auto library = settings.library;
  if (const auto* probe = probe_in(process.modules)) {  // it was attached to before
    library = probe->path;
    inject::await_quiet(process, library);
    lines += wire::quiet_setting;
  }
  const auto outcome = inject::call_in(
      process, {.library = library, .function = wire::attach_symbol, .argument = lines, .heeds_filters = true});
  // Whoever was faster may have come to it first.
  if (outcome.result == static_cast<std::int32_t>(wire::attach_result::already)) refuse_program_of_ours(process.pid);
  const auto limits = collect::read_proc_file(fmt::format("/proc/{}/limits", process.pid), 1 << 14);
  if (const auto refusal = refusal_of(outcome.result, limits); !refusal.empty())
    throw input_error(fmt::format("process {}", process.pid), refusal + "; it runs on unharmed");
  return outcome;
}

std::string end_in(pid_t pid) {
  try {
    const auto modules = inject::read_modules(pid);
    const auto* probe = probe_in(modules);
    if (probe == nullptr) return {};
    const auto library = probe->path;
    inject::call_in(inject::examine_target(pid, library),
                    {.library = library, .function = wire::detach_symbol, .argument = {}});
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

void end_in_all(collect::session& session, std::map<pid_t, std::string>& ended) {
  for (auto before = SIZE_MAX; before != ended.size();) {
    before = ended.size();
    session.find_new();
    for (const auto pid : session.running())
      if (!ended.contains(pid)) ended.emplace(pid, end_in(pid));
  }
}

std::set<pid_t> still_counting(const std::map<pid_t, std::string>& ended) {
  std::set<pid_t> counting;
  for (const auto& [pid, why] : ended)
    if (!why.empty() && collect::find_program(pid)) counting.insert(pid);
  return counting;
}

}  // namespace heapledger::cli
