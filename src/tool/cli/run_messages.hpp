// What `run` says about its own work, on standard error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tool/cli/run_finish.hpp"
#include "tool/collect/silent_processes.hpp"

namespace heapledger::cli {

// What a program must be allowed for the probe to keep books in it, which takes a sixteenth of the addresses.
inline constexpr std::uint64_t least_file_for_books = 8 << 20, least_addresses_for_books = 96 << 20;

void say(const std::string& line);  // "heapledger: LINE", control characters made visible

// A word as a shell would need it typed.
std::string shell_word(const std::string& text);
std::string shell_file(const std::string& name);  // that no command takes for an option

// One line per profile; when there are many, one for all, the biggest named.
void say_written(std::vector<written_profile> written);
// Of programs that misused their heap.
void say_errors(const std::vector<written_profile>& written);
// That a signal killed it, as a shell would say of a program that it started itself.
void say_ending(const std::string& program, int wait_status);
// For who typed detach: the files alone, in one line where they are many, that of `pid` named.
std::vector<std::string> written_lines(const std::vector<written_profile>& written, std::uint32_t pid);
// Of programs other than `known`, whose path it is: those whose own allocations could not be seen.
void say_own_allocators(const std::vector<written_profile>& written, const std::string& known);
// Programs that ran without the probe; with `only`, those whose names match.
void say_uncounted(const std::vector<uncounted_info>& programs, const std::vector<std::string>& only = {});
// Why a program that was started left no books, after its wait status.
std::string no_probe_text(const std::string& program, int wait_status);
// Processes that are missing from what was written: also where nothing else is said.
void say_without_books(std::size_t processes, const std::string& session_directory);
// Profiles of which much is in no place, and what to do.
void say_lost_stacks(const std::vector<written_profile>& written, const std::string& session_directory);
// That they run, and are in no profile.
void say_silent(const std::vector<collect::silent_process>& processes);
void say_failed(const std::vector<failed_profile>& failed, const std::string& session_directory);

// A line on a terminal that rewrites itself; nothing elsewhere.
class progress_line {
 public:
  explicit progress_line(bool wanted);
  ~progress_line() { clear(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(std::size_t done, std::size_t total);  // of the symbols
  void show(std::string_view what);
  void clear();

 private:
  bool is_wanted_;
  std::string shown_;
};

}  // namespace heapledger::cli
