#include "tool/cli/run_leaks.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tool/cli/run_messages.hpp"
#include "tool/collect/process.hpp"
#include "tool/leaks/witness.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/leaks_text.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {
namespace {

constexpr std::uint64_t witness_pause_ns = 2'000'000'000;
constexpr std::uint64_t witness_cost_share = 200;

}  // namespace

run_leak_watch::run_leak_watch(const leak_watch_options& options)
    : options_(options),
      known_(read_suppressions(options.suppressions)),
      report_ns_(static_cast<std::uint64_t>(options.hunt.report_s * 1e9)) {}

void run_leak_watch::look(const collect::process_watch& image, std::uint64_t now_ns) {
  auto [at, is_new] = watched_.try_emplace(image.segment_path());
  auto& here = at->second;
  if (here.has_ended || !here.trouble.empty()) return;
  try {
    if (!here.watch) {
      if (!collect::segment_file::is_ready(image.segment_path(), collect::links::refused)) return;
      here.watch = std::make_unique<leaks::watcher>(
          image.segment_path(), collect::links::refused, image.pid(), options_.hunt,
          options_.after_s > 0 ? now_ns + static_cast<std::uint64_t>(options_.after_s * 1e9) : 0);
    }
    here.has_ended = !here.watch->look(collect::monotonic_ns());
    if (!here.has_ended) ask_and_tell(here);
  } catch (const input_error& error) {
    here.trouble = error.what();
  }
}

// The witness is asked again when more blocks are found to leak, and not so often that it costs the program anything.
void run_leak_watch::ask_and_tell(watched& here) const {
  const auto now_ns = collect::monotonic_ns();
  if (options_.may_stop && now_ns >= here.witness_due_ns) {
    const auto stale = here.watch->stale_blocks().size();
    if (stale != here.asked_blocks) leaks::ask_witness(*here.watch);
    here.asked_blocks = stale;
    here.witness_due_ns = now_ns + std::max(witness_pause_ns, (collect::monotonic_ns() - now_ns) * witness_cost_share);
  }
  if (report_ns_ == 0) return;
  if (here.report_due_ns == 0) here.report_due_ns = now_ns + report_ns_;
  if (now_ns < here.report_due_ns) return;
  here.report_due_ns = now_ns + report_ns_;
  const auto p = profile_of(*here.watch, {});
  const auto shown = without_suppressed(p, known_);
  const auto text = report::leaks_text(p, shown.entries, {0, shown.suppressed, report::style_for(STDERR_FILENO), {}});
  std::fputs(text.c_str(), stderr);
}

void run_leak_watch::complete(const collect::process_watch& image, profile& of) {
  const auto found = watched_.find(image.segment_path());
  if (found == watched_.end()) return;
  auto& here = found->second;
  leak_info info;
  if (here.watch) {
    if (image.now() == collect::process_watch::state::running)
      here.watch->stop();
    else
      here.watch->look_at_end();
    info = here.watch->found();
    const collect::segment_file file(image.segment_path(), collect::links::refused);
    name_by_stacks(info, collect::copy_segment(file), of);
  }
  if (!here.trouble.empty()) info.obstacle = "The watch broke off: " + here.trouble;
  of.leaks = std::move(info);
}

void run_leak_watch::read(const written_profile& written, const profile& of) {
  const auto shown = without_suppressed(of, known_);
  places_ += shown.leaks;
  bytes_ += shown.leaked_bytes;
  if (!file_.empty() && shown.leaked_bytes <= most_bytes_) return;
  most_bytes_ = shown.leaked_bytes;
  file_ = written.file;
}

int run_leak_watch::finish(bool quiet, int program_status) const {
  if (!quiet && !file_.empty()) {
    const auto next = fmt::format("heapledger leaks {}", shell_word(file_));
    say(places_ == 0 ? fmt::format("no leak found; what was watched: {}", next)
                     : fmt::format("{} of about {}; see: {}", report::counted(places_, "leak", "leaks"),
                                   report::bytes_text(bytes_), next));
  }
  return places_ != 0 && options_.error_exitcode != 0 ? options_.error_exitcode : program_status;
}

}  // namespace heapledger::cli
