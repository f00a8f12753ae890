// One program image under the probe: its segment, and what only a watcher from outside learns while it runs. A process
// that goes on by exec has one of these for each image.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/collect/memory_map.hpp"
#include "tool/collect/scope_timeline.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/collect/stack_timeline.hpp"
#include "tool/collect/timeline.hpp"
#include "tool/collect/totals.hpp"
#include "tool/collect/unique_fd.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

class process_watch {
 public:
  enum class state { running, ended, replaced };  // replaced: the process went on as another image

  // The file name must be one of `parse_segment_name`.
  process_watch(std::string segment_path, pid_t pid, std::uint64_t serial, bool has_timeline);

  const std::string& segment_path() const { return path_; }
  // Ours of it. The one in the file's name until the segment is open; 0 if it has pids of its own and was gone by then.
  pid_t pid() const { return pid_; }
  std::uint64_t serial() const { return serial_; }  // of one process, later images have higher ones
  const unique_fd& pidfd() const { return pidfd_; }
  state now() const { return state_; }
  std::uint64_t resident_bytes() const { return resident_bytes_; }  // of the segment, as of the end
  std::int64_t live_bytes() const { return live_bytes_; }           // at the last sample
  const segment_file* segment() const { return segment_.get(); }    // null before it is made, and after the end

  // Opens the segment when its writer has made it. Costs nothing once it is open.
  void try_open();
  // Totals, resident memory, the memory map and thread names, as far as they are due.
  void sample(std::uint64_t now_ns);
  // 0 for the last image of a process; 1, 2, ... for those it had before.
  std::uint32_t image_number() const { return image_number_; }
  void set_image_number(std::uint32_t number) { image_number_ = number; }
  // Time spent so far on what is paced by its own cost.
  std::uint64_t sorting_time_ns() const { return memory_.sorting_time_ns(); }
  // `wait_status` as far as it is known. The segment stays on disk; descriptors are closed, but that of a segment which
  // somebody has removed meanwhile (a user who cleans up, logind where the user has gone): it is still all there.
  void end(state how, std::uint64_t now_ns, std::optional<int> wait_status);

  // The probe takes its file away again where there is no room for it.
  bool has_no_segment() const;
  // Nothing if the segment was never made. Throws input_error for a damaged one.
  std::optional<segment_copy> copy() const;
  std::optional<profile> collect() const;

 private:
  void sample_names(std::uint64_t now_ns);
  void sample_title();
  void name_threads(profile& to) const;
  void finish_process(profile& to, const wire::segment_header& header) const;

  std::string path_;
  pid_t pid_;
  std::uint64_t serial_;
  std::uint32_t image_number_ = 0;
  bool has_timeline_;
  unique_fd pidfd_;
  std::unique_ptr<segment_file> segment_;
  std::optional<totals_reader> totals_;
  bool is_this_image_ = false;  // the process maps the segment: what /proc says is about it
  bool has_own_pids_ = false;
  state state_ = state::running;
  std::optional<int> wait_status_;
  std::uint64_t end_ns_ = 0;
  std::uint64_t resident_bytes_ = 0;
  std::int64_t live_bytes_ = 0;
  timeline timeline_;
  scope_timeline scopes_;
  stack_timeline stacks_;
  memory_sampler memory_;
  std::map<std::uint32_t, std::string> thread_names_;
  std::vector<std::string> title_;  // of a forked child: what its command line says, or empty
  std::uint64_t names_due_ns_ = 0;
  std::uint64_t names_pause_ns_ = 0;
};

struct segment_name {
  pid_t pid;
  std::uint64_t serial;
};
std::optional<segment_name> parse_segment_name(std::string_view file_name);  // <pid>-<serial>.hls

}  // namespace heapledger::collect
