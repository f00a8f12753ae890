// The end of a run: every watched process image becomes a symbolized profile file. What cannot be written stays a
// segment, and is remembered as a failure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "tool/collect/output.hpp"
#include "tool/collect/process_watch.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::cli {

struct written_profile {
  std::string file;
  std::string program;
  std::uint32_t pid = 0;
  bool is_root = false;
  bool is_running = false;
  std::int64_t peak_bytes = 0;
};

struct failed_profile {
  std::string segment;
  std::string why;
};

class profile_writer {
 public:
  profile_writer(collect::output_names& names, pid_t root) : names_(names), root_(root) {}

  void write(const collect::process_watch& image);

  // The root first, the others side by side. `progress` gets locations done and in all, one call at a time.
  using progress_function = std::function<void(std::size_t done, std::size_t total)>;
  void write_all(const std::list<collect::process_watch>& images, progress_function progress);

  const std::vector<written_profile>& written() const { return written_; }
  const std::vector<failed_profile>& failed() const { return failed_; }
  std::size_t left_out() const { return left_out_; }  // images that hold nothing worth a file

 private:
  void write_collected(const collect::process_watch& image, profile& collected);
  void fail(const collect::process_watch& image, std::string why);

  collect::output_names& names_;
  pid_t root_;
  progress_function progress_;
  std::mutex mutex_;  // everything below, the names, and calls of progress
  std::vector<written_profile> written_;
  std::vector<failed_profile> failed_;
  std::size_t left_out_ = 0;
};

}  // namespace heapledger::cli
