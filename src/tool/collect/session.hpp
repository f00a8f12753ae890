// Watches a run from its first process to the end of the root: finds new segments at once, samples what runs, learns
// how each process ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tool/collect/launch.hpp"
#include "tool/collect/left_word.hpp"
#include "tool/collect/process_watch.hpp"
#include "tool/collect/unique_fd.hpp"

namespace heapledger::collect {

struct session_options {
  std::uint32_t interval_ms = 100;  // 0: no timeline
  // Segments of ended processes lie in memory. When there is more of them than this (session_directory knows how much
  // they may be), `retire` is given all of them, to make their profiles, aside: what runs is looked at on time. Where
  // it is busy with earlier ones they may become twice as much.
  std::uint64_t held_bytes_limit = 0;
  std::function<void(std::list<process_watch>)> retire;
  std::function<bool()> is_retiring;
  // Called for each running image at every sample; it paces itself.
  std::function<void(const process_watch&, std::uint64_t now_ns)> look;
};

class session {
 public:
  // Watches from now on; call it before the program starts.
  session(std::string directory, session_options options);

  // Until `root` ends. Returns its wait status.
  int watch(pid_t root, held_signals& signals);

  // The same of a process that somebody else started: until it ends, a signal asks us to end, or `is_over` says so,
  // which is asked at every sample and whenever the directory changes. False: it still runs.
  bool watch_other(pid_t root, held_signals& signals, const std::function<bool()>& is_over);
  // Without a watch: all that is there now.
  void take_in();
  // Who has begun and ended since, without another sample.
  void find_new();
  std::vector<pid_t> running() const;

  // The images that are not retired, in the order of their appearance.
  std::list<process_watch>& images() { return images_; }

  const limited_processes& limited() const { return limited_; }

 private:
  // Returns when `is_done` says so.
  void go_on(held_signals& signals, const std::function<bool()>& is_done);
  void scan();
  void drain_inotify();
  void see_file(const std::string& name);
  void place_images(bool all);  // whose segments are ready: only then it is known which process each belongs to
  void place(process_watch& image);
  void process_ended(pid_t pid, std::optional<int> wait_status);
  void end_image(process_watch& image, process_watch::state how, std::optional<int> wait_status);
  void reap_orphans();
  void end_those_gone(bool only_without_pidfd);    // after all files are seen: a process's files are older than its end
  std::uint64_t sample_all(std::uint64_t now_ns);  // returns what it took, without what is paced by itself
  void retire_ended();

  std::string directory_;
  session_options options_;
  unique_fd inotify_;
  unique_fd epoll_;
  std::list<process_watch> images_;
  std::vector<process_watch*> unplaced_;
  std::map<pid_t, process_watch*> running_;
  // What is kept of every process, apart: between what is freed it would leave holes too small for the next one's.
  std::pmr::monotonic_buffer_resource lasting_;
  std::pmr::map<pid_t, std::uint32_t> replaced_images_{&lasting_};
  std::pmr::set<std::pmr::string, std::less<>> seen_files_{&lasting_};
  limited_processes limited_;
  std::uint64_t held_bytes_ = 0;
  pid_t root_ = 0;
};

}  // namespace heapledger::collect
