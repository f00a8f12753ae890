// The commands, as plain functions of plain options. cli/options.hpp has the command line's syntax.
// Each returns the exit status of the process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/leaks/options.hpp"

namespace heapledger::cli {

inline constexpr int exit_worse = 1;  // what diff finds
inline constexpr int exit_usage = 2;
inline constexpr int exit_failure = 125;  // our own failure, or a file that cannot be read
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

// What the leak watch may be told, by `run --leaks` and by `leaks PID`.
struct leak_watch_options {
  leaks::hunt_options hunt;
  double after_s = 0;                     // begin so long after the start: what starts up is not counted
  std::vector<std::string> suppressions;  // files
  int error_exitcode = 0;                 // the exit status when something leaks; 0: as if nothing did
  bool may_stop = true;                   // for moments, to ask for the second witness
};

struct run_options {
  std::string output;  // pattern: %e program, %p pid, %h host, %t time; empty: heapledger.%e.%p.hlp
  bool force = false;  // overwrite an existing file
  std::string stacks = "dwarf";
  std::uint32_t depth = 0;          // 0: no limit
  std::uint32_t interval_ms = 100;  // 0: no timeline
  bool follow = true;
  std::vector<std::string> only;  // globs on program names; empty: every process of the tree
  bool lifetimes = false;         // time every block
  bool leaks = false;
  bool leak_options_given = false;
  leak_watch_options leak_watch;
  std::string snapshot_signal;                // USR1 or USR2: the program takes a snapshot when it comes; empty: none
  std::uint32_t snapshot_growth_percent = 0;  // a snapshot whenever so much more is live than at the last; 0: none
  bool check = false;                         // hidden: verify every stack with a second unwinder
  bool quiet = false;
  int verbose = 0;
  std::vector<std::string> command;
};
int run(const run_options& options);

struct attach_options {
  std::string pid;
  run_options how;  // its command is empty
};
int attach(const attach_options& options);

struct detach_options {
  std::string pid;
  std::string output;  // where nobody watches any more: as of run_options
  bool force = false;
  bool quiet = false;
};
int detach(const detach_options& options);

struct debug_options {
  std::vector<std::string> folders;  // extra places for debug files
  bool debuginfod = false;           // and what servers have
};

struct report_options {
  std::string file;                 // empty: the answer is which one there is
  std::vector<std::string> others;  // further ones: a table of processes
  bool json = false;
  std::string by;           // live peak allocated count temporary; empty: live in JSON, what fits the ending in text
  std::uint32_t top = 0;    // 0: ten in text, every stack in JSON
  std::uint32_t depth = 0;  // frames shown per stack; 0: what matters in text, all in JSON
  bool full_recursion = false;            // text: do not collapse repeated frames
  std::vector<std::string> focus;         // patterns: only stacks that have one of them
  std::vector<std::string> ignore;        // and none of these
  std::vector<std::string> suppressions;  // files: never freed, and known
  std::string since;                      // snapshots: what happened from one to the other, or to the end
  std::string until;
  debug_options debug;
};
int report(const report_options& options);

struct diff_options {
  std::string old_file;
  std::string new_file;
  bool json = false;
  std::string by;                       // empty: peak
  std::uint32_t top = 0;                // 0: ten places in text, everything in JSON
  std::vector<std::string> fail_above;  // as diff::parse_gate takes them
  debug_options debug;
};
int diff_profiles(const diff_options& options);

struct html_options {
  std::string file;
  std::string before;  // an older profile: the page shows what changed since
  std::string output;  // empty: the profile's name with .html for .hlp; "-": standard output
  bool force = false;  // overwrite an existing file
  bool quiet = false;
  debug_options debug;
};
int html(const html_options& options);

struct mark_options {
  std::string pid;
  std::string name;         // empty: the time of a snapshot
  bool with_books = false;  // a snapshot
  bool quiet = false;
};
int mark(const mark_options& options);

struct ps_options {
  bool json = false;
};
int ps(const ps_options& options);

struct top_options {
  std::string what;  // a pid or a file; empty: the only program there is
  std::uint32_t interval_ms = 1000;
  std::uint32_t count = 0;    // 0: no limit
  std::uint32_t top = 0;      // 0: ten rows as text and JSON, all on a screen
  std::string by = "live";    // live growth churn peak leaks
  std::string per = "stack";  // the name of one of live::views()
  bool json = false;
  bool text = false;
};
int top(const top_options& options);
struct export_options {
  std::string file;
  std::string format;  // one of exports::formats()
  std::string output;  // empty or "-": standard output
  bool force = false;  // overwrite an existing file
  bool quiet = false;
  std::string by;  // empty: the format's own
  debug_options debug;
};
int export_profile(const export_options& options);

struct leaks_options {
  std::string target;  // a profile, or the pid of a program under heapledger
  bool json = false;
  std::uint32_t top = 0;     // of each list in text; 0: ten
  double duration_s = 0;     // 0: until the program ends, or this is interrupted
  std::string of_a_process;  // an option that was given and says nothing about a profile
  leak_watch_options watch;
  debug_options debug;
};
int leaks(const leaks_options& options);

struct watch_switch_options {
  std::string pid;
  bool on = false;  // start, or stop
  bool quiet = false;
};
int switch_watch(const watch_switch_options& options);

struct doctor_options {
  std::string program;  // optional: check whether this program can be profiled
};
int doctor(const doctor_options& options);

}  // namespace heapledger::cli
