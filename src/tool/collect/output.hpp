// Where profiles go: the pattern of --output, made into names that lose nothing.
//   %p pid, %e the program's name, %h host, %t start time in seconds, %% a percent sign
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace heapledger::collect {

struct output_subject {
  std::uint32_t pid = 0;
  std::string program;  // path or name
  std::string host;
  std::int64_t start_s = 0;
  bool is_root = false;     // the process that `run` started, in its last program image
  std::uint32_t image = 0;  // 1, 2, ... for earlier images of a process that went on by exec; 0: the last
};

class output_names {
 public:
  // Throws input_error for a pattern that cannot be meant.
  output_names(std::string pattern, bool overwrite);

  // Finds out before anything starts whether a profile could be written: the folder is there, takes a file, has room;
  // and where the name is known already, that it is free, and not the program's own. Throws input_error.
  void check(const output_subject& expected, const std::string& program_file = {}) const;

  // A name that no other profile of this run has, and that no file has unless it may be overwritten. Pid and image are
  // inserted before the extension where they are needed.
  std::string name_for(const output_subject& subject);
  // The name that was asked for is kept for the root until it has it, or until it is said that it will not come. Which
  // name that is, its program decides where the pattern has %e: unknown, it is any.
  void expect_root(output_subject root) { root_ = std::move(root); }
  void release_root_name() { root_may_come_ = false; }
  bool overwrite() const { return overwrite_; }

 private:
  bool is_free(const std::string& name) const;

  std::string pattern_;
  bool overwrite_;
  bool root_may_come_ = true;
  std::optional<output_subject> root_;
  std::pmr::monotonic_buffer_resource lasting_;  // as in session
  std::pmr::set<std::pmr::string, std::less<>> given_{&lasting_};
};

// Two characters that begin with a percent sign and stand for nothing; a percent sign alone at the end.
std::optional<std::string> unknown_placeholder(const std::string& pattern);

std::string expand(const std::string& pattern, const output_subject& subject);

}  // namespace heapledger::collect
