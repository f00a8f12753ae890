#include "tool/cli/run_finish.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <utility>

#include "tool/analyse/seen_peak.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/symbolize_together.hpp"
#include "tool/collect/outside_markers.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/uncounted.hpp"
#include "tool/profile/write.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/symbolize/perf_map.hpp"

namespace heapledger::cli {
namespace {

constexpr std::uint64_t interlude_bytes = 1 << 20;
constexpr double share_of_lost_stacks_worth_a_word = 0.01;
constexpr std::size_t batch_limit = 2'000'000;  // nodes, stacks and places: some 200 MiB

// Not worth one is the short life of a child between fork and exec, most of it its parent's leftovers.
bool is_worth_a_file(const collect::process_watch& image, const profile& collected) {
  const bool is_interlude = image.now() == collect::process_watch::state::replaced && collected.process.forked;
  return !is_interlude || collected.totals().allocated_bytes >= interlude_bytes;
}

std::string program_of(const profile& collected) {
  const auto& process = collected.process;
  const auto& path = process.exe.empty() && !process.command.empty() ? process.command[0] : process.exe;
  return path.substr(path.rfind('/') + 1);
}

// What a child started before it had a life of its own is its parent's doing.
void hand_over_uncounted(const std::vector<profile>& interludes, std::vector<profile>& profiles) {
  for (const auto& interlude : interludes) {
    const auto parent = std::find_if(profiles.rbegin(), profiles.rend(), [&](const profile& one) {
      return one.process.pid == interlude.process.parent_pid;
    });
    if (parent != profiles.rend()) collect::add_uncounted(interlude.uncounted, parent->uncounted);
  }
}

void remove(const collect::process_watch& image) {
  ::unlink(image.segment_path().c_str());
  ::unlink(collect::outside_markers_path(image.segment_path()).c_str());
}

}  // namespace

std::int64_t most_mapped_bytes(const profile& p) {
  if (!p.mapped) return 0;
  std::int64_t resident = 0;
  for (const auto& site : p.mapped->sites) resident = saturating_sum(resident, site.most_resident_bytes);
  if (p.mapped->seen_ns) return resident;
  std::uint64_t rss_bytes = 0;
  for (const auto& point : p.timeline) rss_bytes = std::max(rss_bytes, point.rss_bytes);
  return static_cast<std::int64_t>(std::min({p.mapped->peak_bytes, rss_bytes, std::uint64_t{INT64_MAX}}));
}

std::size_t profile_writer::without_books() const {
  return static_cast<std::size_t>(std::count_if(refused_.begin(), refused_.end(), [this](pid_t pid) {
    return !counted_.contains(pid) && !limited_.pids.contains(pid);
  }));
}

void profile_writer::take(batch& to, const collect::process_watch& image) {
  try {
    auto collected = image.collect();
    if (collected) collect::add_uncounted(collected->uncounted, uncounted_);
    if (collected && is_worth_a_file(image, *collected)) {
      counted_.insert(image.pid());
      if (is_root(image)) collect::add_uncounted(limited_.programs, collected->uncounted);
      if (complete_) complete_(image, *collected);
      to.size += collected->nodes.size() + collected->stacks.size() + collected->locations.size();
      to.profiles.push_back(std::move(*collected));
      to.images.push_back(&image);
      return;
    }
    left_out_ += collected ? 1 : 0;
    if (collected && !collected->uncounted.empty()) to.interludes.push_back(std::move(*collected));
    if (!collected && image.has_no_segment()) refused_.insert(image.pid());
    remove(image);
  } catch (const std::exception& error) {
    failed_.push_back({image.segment_path(), error.what()});
  }
}

void profile_writer::write_batch(batch& from, progress_line* progress) {
  if (from.profiles.empty()) return;
  hand_over_uncounted(from.interludes, from.profiles);
  symbolize_options options;
  if (progress != nullptr) options.progress = [&](std::size_t done, std::size_t total) { progress->show(done, total); };
  symbolize_together(from.profiles, options);
  for (auto& each : from.profiles) symbols::name_generated_code(each);
  for (std::size_t i = 0; i < from.images.size(); ++i) {
    const auto& segment = from.images[i]->segment_path();
    if (progress != nullptr && from.images.size() > 1)
      progress->show(fmt::format("writing profile {} of {}", i + 1, from.images.size()));
    try {
      write_file(*from.images[i], from.profiles[i]);
      if (!counting_.contains(from.images[i]->pid())) remove(*from.images[i]);
    } catch (const std::exception& error) {
      failed_.push_back({segment, error.what()});
    }
  }
  from = {};
}

void profile_writer::write_file(const collect::process_watch& image, const profile& collected) {
  written_profile result;
  result.program = program_of(collected);
  result.pid = collected.process.pid;
  result.is_running = collected.process.ended == ending::running;
  result.peak_bytes = analyse::known_peak_bytes(collected);
  result.mapped_bytes = most_mapped_bytes(collected);
  result.exe = collected.process.exe;
  result.lost_stacks = report::lost_stacks_text(collected, share_of_lost_stacks_worth_a_word);
  result.lacked_room = collected.profiler.losses.contains("segment_full");
  for (const auto& error : collected.errors) result.errors += error.count;
  result.file = names_.name_for({.pid = result.pid,
                                 .program = result.program,
                                 .host = collected.process.host,
                                 .start_s = collected.process.start_realtime_ns / 1'000'000'000,
                                 .is_root = is_root(image),
                                 .image = image.image_number()});
  write_profile(collected, result.file, names_.overwrite());
  std::error_code unknown;
  result.is_kept = std::filesystem::is_regular_file(result.file, unknown);
  if (read_) read_(result, collected);
  written_.push_back(std::move(result));
}

bool profile_writer::is_root(const collect::process_watch& image) const {
  return image.pid() == root_ && image.image_number() == 0;
}

// By what it is now: whether its name is kept must not depend on when the profiles of others are written.
void profile_writer::keep_name_for_root() {
  std::error_code unreadable;
  const auto program =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", root_), unreadable).filename().string();
  if (program.empty()) return;
  const auto is_of_name = [&](const std::string& glob) { return ::fnmatch(glob.c_str(), program.c_str(), 0) == 0; };
  if (!only_.empty() && std::none_of(only_.begin(), only_.end(), is_of_name)) names_.release_root_name();
  names_.expect_root({.pid = static_cast<std::uint32_t>(root_),
                      .program = program,
                      .host = collect::host_name(),
                      .start_s = root_start_s_,
                      .is_root = true});
}

void profile_writer::write_early(std::list<collect::process_watch> images) {
  finish_early();
  keep_name_for_root();
  early_ = std::move(images);
  const auto batches = std::make_shared<std::vector<batch>>(1);
  for (const auto& image : early_) {
    take(batches->back(), image);
    if (batches->back().size > batch_limit) batches->emplace_back();
  }
  // Copied, not moved: where no thread is to be had, the library makes of it what finish_early carries out.
  const auto work = [this, batches] {
    for (auto& each : *batches) write_batch(each, nullptr);
  };
  early_work_ = std::async(std::launch::async | std::launch::deferred, work);
}

bool profile_writer::is_busy() const {
  return early_work_.valid() && early_work_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
}

void profile_writer::finish_early() {
  if (early_work_.valid()) early_work_.get();
  early_.clear();
}

void profile_writer::write_all(const std::list<collect::process_watch>& images, progress_line* progress) {
  finish_early();
  batch next;
  for (const auto& image : images)
    if (is_root(image)) take(next, image);
  if (next.profiles.empty()) names_.release_root_name();
  for (const auto& image : images) {
    if (is_root(image)) continue;
    take(next, image);
    if (next.size > batch_limit) write_batch(next, progress);
  }
  write_batch(next, progress);
}

}  // namespace heapledger::cli
