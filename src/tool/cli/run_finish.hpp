// The end of a run: every watched process image becomes a symbolized profile file. What cannot be written stays a
// segment, and is remembered as a failure.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <future>
#include <list>
#include <memory_resource>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tool/collect/left_word.hpp"
#include "tool/collect/output.hpp"
#include "tool/collect/process_watch.hpp"
#include "tool/profile/profile.hpp"
#include "tool/profile/saturating.hpp"

namespace heapledger::cli {

struct written_profile {
  std::string file;
  std::string program;
  std::uint32_t pid = 0;
  bool is_running = false;
  std::int64_t peak_bytes = 0;
  std::int64_t mapped_bytes = 0;  // beside malloc's: the most that was resident
  std::string exe;                // a path on this machine
  bool is_kept = true;            // not given to a device or pipe
  std::string lost_stacks = {};   // how much has none, and why; empty: all have
  bool lacked_room = false;       // of the file system, for its tables
  std::uint64_t errors = 0;       // double frees and their like

  std::int64_t most_bytes() const { return saturating_sum(peak_bytes, mapped_bytes); }
};

// What the process mapped itself, at most. Where nobody looked how much of it is resident, as much as could be.
std::int64_t most_mapped_bytes(const profile& p);

struct failed_profile {
  std::string segment;
  std::string why;
};

class progress_line;

class profile_writer {
 public:
  profile_writer(collect::output_names& names, pid_t root)
      : names_(names), root_(root), root_start_s_(std::time(nullptr)) {}

  // Adds to each profile what was learned of its process meanwhile.
  using completion = std::function<void(const collect::process_watch&, profile&)>;
  void complete_by(completion complete) { complete_ = std::move(complete); }
  // Is shown each profile as it was written, with symbols.
  using reader = std::function<void(const written_profile&, const profile&)>;
  void read_by(reader read) { read_ = std::move(read); }

  // Programs of these names alone have profiles: the root may be none of them. Globs; none: all have.
  void count_only(std::vector<std::string> names) { only_ = std::move(names); }

  // Those that ended, while the root still runs: in a thread, since names of a large program take seconds. Waits for
  // those before.
  void write_early(std::list<collect::process_watch> images);
  bool is_busy() const;
  // The root first, so that it gets the name that was asked for; then the others, many at a time.
  void write_all(const std::list<collect::process_watch>& images, progress_line* progress);

  // Processes that count on: their segments stay.
  void keep_segments_of(std::set<pid_t> counting) { counting_ = std::move(counting); }

  // Those that limits of their own kept from having books: they lack no room.
  void know_limited(const collect::limited_processes& those) { limited_ = those; }
  const collect::limited_processes& limited() const { return limited_; }

  const std::vector<written_profile>& written() const { return written_; }
  const std::vector<failed_profile>& failed() const { return failed_; }
  std::size_t left_out() const { return left_out_; }  // images that hold nothing worth a file
  std::size_t without_books() const;                  // processes that found no room for a segment
  const std::vector<uncounted_info>& uncounted() const { return uncounted_; }  // of all processes

 private:
  struct batch {
    std::vector<const collect::process_watch*> images;
    std::vector<profile> profiles;
    std::vector<profile> interludes;  // of children that executed programs which are not counted
    std::size_t size = 0;             // a measure of memory
  };

  void finish_early();
  bool is_root(const collect::process_watch& image) const;
  void keep_name_for_root();
  void take(batch& to, const collect::process_watch& image);
  void write_batch(batch& from, progress_line* progress);
  void write_file(const collect::process_watch& image, const profile& collected);

  collect::output_names& names_;
  pid_t root_;
  std::int64_t root_start_s_;
  std::vector<std::string> only_;
  completion complete_;
  reader read_;
  std::vector<written_profile> written_;
  std::vector<failed_profile> failed_;
  std::size_t left_out_ = 0;
  std::vector<uncounted_info> uncounted_;
  collect::limited_processes limited_;
  std::pmr::monotonic_buffer_resource lasting_;  // as in session
  std::pmr::set<pid_t> counted_{&lasting_};
  std::set<pid_t> counting_;
  std::set<pid_t> refused_;  // a child between fork and exec may be, and go on as a program that is not
  std::list<collect::process_watch> early_;
  std::future<void> early_work_;  // while it is not done, what is above is its alone; the last: its end is waited for
};

}  // namespace heapledger::cli
