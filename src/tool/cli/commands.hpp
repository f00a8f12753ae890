// The commands, as plain functions of plain options. cli/options.hpp has the command line's syntax.
// Each returns the exit status of the process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heapledger::cli {

inline constexpr int exit_usage = 2;
inline constexpr int exit_failure = 125;  // our own failure, or a file that cannot be read
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

struct run_options {
  std::string output;  // pattern: %e program, %p pid, %h host, %t time; empty: heapledger.%e.%p.hlp
  bool force = false;  // overwrite an existing file
  std::string stacks = "dwarf";
  std::uint32_t depth = 0;          // 0: no limit
  std::uint32_t interval_ms = 100;  // 0: no timeline
  bool follow = true;
  std::vector<std::string> only;  // globs on program names; empty: every process of the tree
  bool leaks = false;
  bool check = false;  // hidden: verify every stack with a second unwinder
  bool quiet = false;
  int verbose = 0;
  std::vector<std::string> command;
};
int run(const run_options& options);

struct report_options {
  std::string file;  // empty: the answer is which one there is
  bool json = false;
  std::string by;           // live peak allocated count temporary; empty: live in JSON, what fits the ending in text
  std::uint32_t top = 0;    // 0: ten in text, every stack in JSON
  std::uint32_t depth = 0;  // frames shown per stack in text; 0: what matters
  bool full_recursion = false;           // text: do not collapse repeated frames
  std::vector<std::string> debug_paths;  // extra places for debug files
};
int report(const report_options& options);

struct export_options {
  std::string file;
  std::string format;  // one of exports::formats()
  std::string output;  // empty or "-": standard output
  bool force = false;  // overwrite an existing file
  bool quiet = false;
  std::string by;  // empty: the format's own
  std::vector<std::string> debug_paths;
};
int export_profile(const export_options& options);
struct html_options {
  std::string file;
  std::string output;  // empty: the profile's name with .html for .hlp; "-": standard output
  bool force = false;  // overwrite an existing file
  std::vector<std::string> debug_paths;
};
int html(const html_options& options);

struct doctor_options {
  std::string program;  // optional: check whether this program can be profiled
};
int doctor(const doctor_options& options);

}  // namespace heapledger::cli
