#include "tool/cli/run_leaks.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "tool/cli/run_messages.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/watch_wish.hpp"
#include "tool/leaks/witness.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/saturating.hpp"
#include "tool/report/leaks_text.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {
namespace {

constexpr std::uint64_t witness_pause_ns = 2'000'000'000;
constexpr std::uint64_t witness_cost_share = 200;

}  // namespace

run_leak_watch::run_leak_watch(const leak_watch_options& options, bool from_the_start)
    : options_(options),
      from_the_start_(from_the_start),
      known_(read_suppressions(options.suppressions)),
      report_ns_(static_cast<std::uint64_t>(options.hunt.report_s * 1e9)) {}

void run_leak_watch::begin(watched& here, const collect::process_watch& image, std::uint64_t begin_ns,
                           leaks::earlier_blocks earlier) const {
  // A file in the session's folder may be named after any process: none is stopped and asked that does not use it.
  const auto& segment = *image.segment();
  const auto now = image.pid() != 0 ? collect::find_image(segment, image.pid()) : collect::image_state::gone;
  if (now == collect::image_state::gone && collect::hides_memory(image.pid()))
    throw input_error(fmt::format("process {}", image.pid()),
                      "the kernel hides its memory from us, as programs may ask (PR_SET_DUMPABLE)",
                      "run heapledger as root");
  here.has_ended = now == collect::image_state::gone;  // just now: that is no trouble
  if (here.has_ended) return;
  if (now != collect::image_state::running || !collect::is_of_process(segment, image.pid()))
    throw input_error(segment.path(), fmt::format("process {} does not use this segment", image.pid()));
  here.watch.reset();  // it holds the lock
  here.watch = std::make_unique<leaks::watcher>(image.segment_path(), collect::links::refused, image.pid(),
                                                options_.hunt, begin_ns, earlier);
  here.is_stopped = false;
  here.witness_due_ns = here.report_due_ns = 0;
  here.asked_blocks = 0;
}

void run_leak_watch::heed_user(watched& here, const collect::process_watch& image) const {
  const auto now = collect::read_wish(*image.segment());
  if (now.wish == here.wish) return;
  here.wish = now.wish;
  if (now.wants_watch()) {
    here.trouble.clear();
    begin(here, image, collect::monotonic_ns(), leaks::earlier_blocks::left_alone);
  } else {
    if (!here.watch || here.is_stopped) return;  // not heeded: who says stop is told that nobody watches
    here.is_stopped = true;
    if (here.trouble.empty()) end(here);
  }
  collect::heed_wish(*image.segment(), here.wish);
}

void run_leak_watch::end(watched& here) const {
  try {
    if (options_.may_stop) leaks::ask_witness(*here.watch);
    here.watch->stop();
  } catch (const std::exception& error) {
    here.trouble = error.what();
  }
}

void run_leak_watch::look(const collect::process_watch& image, std::uint64_t now_ns) {
  if (image.segment() == nullptr) return;
  const bool is_known = watched_.count(image.segment_path()) != 0;
  if (!is_known && !from_the_start_ && !collect::read_wish(*image.segment()).is_new()) return;
  auto& here = watched_[image.segment_path()];
  if (here.has_ended) return;
  try {
    if (!is_known && from_the_start_)
      begin(here, image, options_.after_s > 0 ? now_ns + static_cast<std::uint64_t>(options_.after_s * 1e9) : 0,
            leaks::earlier_blocks::taken_up);
    heed_user(here, image);
    if (!here.watch || here.is_stopped || !here.trouble.empty()) return;
    here.has_ended = !here.watch->look(collect::monotonic_ns());
    if (!here.has_ended) ask_and_tell(here);
  } catch (const std::exception& error) {
    here.trouble = error.what();
  }
}

// The witness is asked again when more blocks are found to leak, and not so often that it costs the program anything.
void run_leak_watch::ask_and_tell(watched& here) const {
  const auto now_ns = collect::monotonic_ns();
  if (options_.may_stop && now_ns >= here.witness_due_ns) {
    const auto stale = here.watch->stale_blocks().size();
    if (stale != here.asked_blocks && leaks::ask_witness(*here.watch)) here.asked_blocks = stale;
    here.witness_due_ns = now_ns + std::max(witness_pause_ns, (collect::monotonic_ns() - now_ns) * witness_cost_share);
  }
  if (report_ns_ == 0) return;
  if (here.report_due_ns == 0) here.report_due_ns = now_ns + report_ns_;
  if (now_ns < here.report_due_ns) return;
  here.report_due_ns = now_ns + report_ns_;
  const auto p = profile_of(*here.watch, options_.hunt, {});
  const auto shown = without_suppressed(p, known_);
  const auto text = report::leaks_text(p, shown.entries, {0, shown.suppressed, report::style_for(STDERR_FILENO), {}});
  std::fputs(text.c_str(), stderr);
}

leak_info run_leak_watch::found_at_end(const watched& here, const collect::process_watch& image, const profile& of) {
  if (!here.is_stopped) {  // or somebody else may be watching by now
    if (image.now() == collect::process_watch::state::running)
      here.watch->stop();
    else
      here.watch->look_at_end();
  }
  auto info = here.watch->found();
  if (const auto segment = image.copy()) name_by_stacks(info, *segment, of);
  return info;
}

void run_leak_watch::complete_unseen(profile& of) const {
  leak_info info;
  worth_of(info, of, options_.hunt);
  of.leaks = std::move(info);
}

void run_leak_watch::complete(const collect::process_watch& image, profile& of) {
  const auto found = watched_.find(image.segment_path());
  if (found == watched_.end()) return from_the_start_ ? complete_unseen(of) : void();
  auto& here = found->second;
  if (!here.watch && image.now() == collect::process_watch::state::replaced) here.trouble.clear();
  // Else the user's `stop` was the first that was heard.
  if (!here.watch && here.trouble.empty()) return from_the_start_ ? complete_unseen(of) : void();
  leak_info info;
  try {
    if (here.watch) info = found_at_end(here, image, of);
  } catch (const std::exception& error) {  // the profile is worth more than what it says of leaks
    here.trouble = error.what();
  }
  if (!here.trouble.empty()) info.obstacle = "The watch broke off: " + here.trouble;
  is_told_ = worth_of(info, of, options_.hunt) == no_leak::told || is_told_;
  of.leaks = std::move(info);
}

void run_leak_watch::read(const written_profile& written, const profile& of) {
  if (!of.leaks) return;
  if (untold_because_.empty()) untold_because_ = untold_because(*of.leaks);
  const auto shown = without_suppressed(of, known_);
  places_ += shown.leaks;
  bytes_ = saturating_sum(bytes_, shown.leaked_bytes);
  freed_bytes_ = saturating_sum(freed_bytes_, shown.freed_bytes);
  undecided_ += shown.undecided;
  const std::tuple here{shown.leaked_bytes, shown.freed_bytes, shown.undecided_bytes};
  if (!file_.empty() && here <= most_bytes_) return;
  most_bytes_ = here;
  file_ = written.file;
  is_kept_ = written.is_kept;
}

int run_leak_watch::finish(bool quiet, int program_status) const {
  const bool is_untold = !is_told_ && places_ == 0 && !untold_because_.empty();
  // A gate must not take it for no leak.
  const bool is_no_answer = is_untold && options_.error_exitcode != 0 && program_status == 0;
  if ((!quiet || is_no_answer) && !file_.empty()) {
    const auto found =
        is_untold ? "no leak found, but " + untold_because_
        : places_ != 0
            ? fmt::format("{} of about {}", report::counted(places_, "leak", "leaks"), report::bytes_text(bytes_))
        : undecided_ != 0 ? fmt::format("no leak found; {} not decided yet",
                                        report::counted(undecided_, "place that grows is", "places that grow are"))
                          : "no leak found";
    const auto freed = freed_bytes_ <= bytes_
                           ? std::string()
                           : fmt::format("; about {} grew untouched, and was freed when the program ended",
                                         report::bytes_text(freed_bytes_));
    const auto where = is_untold                         ? "; what was never freed: heapledger report --by live "
                       : places_ == 0 && undecided_ == 0 ? "; what was watched: heapledger leaks "
                                                         : "; see: heapledger leaks ";
    say(found + freed + (is_kept_ ? where + shell_file(file_) : ""));
  }
  if (is_no_answer) return exit_failure;
  return places_ != 0 && options_.error_exitcode != 0 ? options_.error_exitcode : program_status;
}

}  // namespace heapledger::cli
