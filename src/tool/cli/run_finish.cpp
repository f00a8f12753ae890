#include "tool/cli/run_finish.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "tool/profile/write.hpp"
#include "tool/symbolize/symbolize.hpp"

namespace heapledger::cli {
namespace {

constexpr std::uint64_t interlude_bytes = 1 << 20;
constexpr std::size_t most_workers = 8;

// Nothing was allocated; or the short life of a child between fork and exec, most of it its parent's leftovers.
bool is_worth_a_file(const collect::process_watch& image, const profile& collected, bool is_root) {
  const auto totals = collected.totals();
  if (image.now() == collect::process_watch::state::replaced && collected.process.forked)
    return totals.allocated_bytes >= interlude_bytes;
  return is_root || totals.allocations != 0;
}

std::string program_of(const profile& collected) {
  const auto& process = collected.process;
  const auto& path = process.exe.empty() && !process.command.empty() ? process.command[0] : process.exe;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

void profile_writer::fail(const collect::process_watch& image, std::string why) {
  const std::scoped_lock lock(mutex_);
  failed_.push_back({image.segment_path(), std::move(why)});
}

void profile_writer::write(const collect::process_watch& image) {
  try {
    auto collected = image.collect();
    if (collected && is_worth_a_file(image, *collected, image.pid() == root_)) {
      write_collected(image, *collected);
    } else {
      const std::scoped_lock lock(mutex_);
      if (collected) ++left_out_;
    }
    ::unlink(image.segment_path().c_str());
  } catch (const std::exception& error) {
    fail(image, error.what());
  }
}

void profile_writer::write_collected(const collect::process_watch& image, profile& collected) {
  symbolize_options options;
  if (progress_)
    options.progress = [this](std::size_t done, std::size_t total) {
      const std::scoped_lock lock(mutex_);
      progress_(done, total);
    };
  symbolize(collected, options);

  written_profile result;
  result.program = program_of(collected);
  result.pid = collected.process.pid;
  result.is_root = image.pid() == root_ && image.image_number() == 0;
  result.is_running = collected.process.ended == ending::running;
  result.peak_bytes = collected.totals().peak_bytes;
  {
    const std::scoped_lock lock(mutex_);
    result.file = names_.name_for({.pid = result.pid,
                                   .program = result.program,
                                   .host = collected.process.host,
                                   .start_s = collected.process.start_realtime_ns / 1'000'000'000,
                                   .is_root = result.is_root,
                                   .image = image.image_number()});
  }
  write_profile(collected, result.file, names_.overwrite());
  const std::scoped_lock lock(mutex_);
  written_.push_back(std::move(result));
}

void profile_writer::write_all(const std::list<collect::process_watch>& images, progress_function progress) {
  progress_ = std::move(progress);
  std::vector<const collect::process_watch*> others;
  for (const auto& image : images) {
    if (image.pid() == root_ && image.image_number() == 0) {
      write(image);
    } else {
      others.push_back(&image);
    }
  }
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < others.size(); i = next++) write(*others[i]);
  };
  std::vector<std::jthread> workers;
  const auto wanted = std::min({others.size(), most_workers, std::size_t{std::thread::hardware_concurrency()}});
  while (workers.size() + 1 < wanted) workers.emplace_back(work);
  work();
}

}  // namespace heapledger::cli
