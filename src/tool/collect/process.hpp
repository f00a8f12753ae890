// What the kernel tells about processes: whether they live, how they ended, what they use. Every question may come
// too late; then the answer is "unknown", never an error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tool/collect/mapping.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/collect/unique_fd.hpp"

namespace heapledger::collect {

std::uint64_t monotonic_ns();
std::string host_name();

// Empty where the process is gone or the kernel has no pidfds.
unique_fd open_pidfd(pid_t pid);

// The wait status (see waitpid) of a process that ended and is not our child. Asks the pidfd (Linux 6.15), and the
// zombie while there is one.
std::optional<int> wait_status_of(const unique_fd& pidfd, pid_t pid);

enum class image_state {
  running,   // the process maps the segment
  replaced,  // the process lives on, in another program image
  gone,
};
image_state find_image(const segment_file& segment);
image_state find_image(const segment_file& segment, pid_t pid);

// Whether the kernel refuses to show us the memory of this process, which lives.
bool hides_memory(pid_t pid);

// In a container or sandbox that has pids of its own, the pid that a segment names is not ours.
bool has_own_pids(const segment_file& segment);
// Our pid of such a process; 0 if there is none (any more) that maps the segment.
pid_t find_outside_pid(const segment_file& segment);

// Whether the books are those of the process with our pid `pid`: a forked child that has not begun its own maps its
// parent's.
bool is_of_process(const segment_file& segment, pid_t pid);

// Whether this mapping of some process is the segment's file.
bool maps_segment(const mapping& map, const segment_file& segment);

std::map<std::uint32_t, std::string> thread_names_of(pid_t pid);

// Processor time of all its threads, those that ended too.
std::optional<double> processor_s_of(pid_t pid);

// When it began, in clock ticks since the machine did.
std::optional<std::uint64_t> start_ticks_of(pid_t pid);

// A process whose first thread has ended by pthread_exit lives on in the others, but /proc/PID shows none of its
// memory; /proc/TID of another does.
//
// A thread that has the process's memory: the first one as long as it lives.
pid_t thread_with_memory(pid_t pid);
// Whether no thread of it is left but those that wait to be reaped. Also where there is no such process.
bool has_no_threads_left(pid_t pid);
// A file of /proc/PID that tells of memory: maps, smaps, cmdline and the like. At most `limit` bytes.
std::string read_memory_file(pid_t pid, const char* name, std::size_t limit);
inline constexpr std::size_t maps_limit = std::size_t{64} << 20;

// Those that have not been waited for; empty where there is no such process.
std::set<pid_t> threads_of(pid_t pid);

// As it is now: many servers write into it what the process is doing. Empty where it cannot be read.
std::vector<std::string> command_of(pid_t pid);
// Servers overwrite what is left of the old one with zeros, or with spaces.
void trim_title(std::vector<std::string>& command);

// A whole file of /proc, at most `limit` bytes; empty where it cannot be read.
std::string read_proc_file(const std::string& path, std::size_t limit);

}  // namespace heapledger::collect
