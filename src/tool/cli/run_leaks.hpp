// The leak watch of a run: one watcher for each process under heapledger, from its first moment on (`run --leaks`) or
// from that on which `heapledger start PID` says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "tool/cli/commands.hpp"
#include "tool/cli/leak_findings.hpp"
#include "tool/cli/run_finish.hpp"
#include "tool/collect/process_watch.hpp"
#include "tool/leaks/watcher.hpp"

namespace heapledger::cli {

class run_leak_watch {
 public:
  // Throws input_error: suppressions that cannot be read.
  run_leak_watch(const leak_watch_options& options, bool from_the_start);

  void look(const collect::process_watch& image, std::uint64_t now_ns);
  void complete(const collect::process_watch& image, profile& of);
  void read(const written_profile& written, const profile& of);
  // Says what leaks. Returns the exit status.
  int finish(bool quiet, int program_status) const;

 private:
  struct watched {
    std::unique_ptr<leaks::watcher> watch;  // none once it failed
    std::string trouble;
    std::uint32_t wish = 0;
    bool is_stopped = false;  // by the user: what was found stays
    bool has_ended = false;
    std::uint64_t witness_due_ns = 0;
    std::size_t asked_blocks = 0;
    std::uint64_t report_due_ns = 0;
  };

  void begin(watched& here, const collect::process_watch& image, std::uint64_t begin_ns,
             leaks::earlier_blocks earlier) const;
  void heed_user(watched& here, const collect::process_watch& image) const;
  void end(watched& here) const;
  void ask_and_tell(watched& here) const;
  void complete_unseen(profile& of) const;  // it ended before the first look
  static leak_info found_at_end(const watched& here, const collect::process_watch& image, const profile& of);

  leak_watch_options options_;
  bool from_the_start_;
  std::vector<leaks::suppressions> known_;
  std::uint64_t report_ns_;                 // 0: at the end only
  std::map<std::string, watched> watched_;  // by segment
  bool is_told_ = false;                    // of any process
  std::string untold_because_;              // of one
  std::size_t places_ = 0;                  // that leak, of all profiles
  std::int64_t bytes_ = 0;
  std::size_t undecided_ = 0;     // places
  std::int64_t freed_bytes_ = 0;  // at the end, of all profiles
  // That leaked, that were freed at the end, that are not decided yet.
  std::tuple<std::int64_t, std::int64_t, std::int64_t> most_bytes_{};
  std::string file_;  // the profile with the most of them
  bool is_kept_ = true;
};

}  // namespace heapledger::cli
