#include "tool/leaks/segment_of.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "tool/collect/mapping.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/process_watch.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::leaks {

std::string segment_of(pid_t pid) {
  constexpr int waits = 200;
  constexpr std::size_t maps_limit = std::size_t{64} << 20;
  const auto maps = collect::read_proc_file(fmt::format("/proc/{}/maps", pid), maps_limit);
  std::string found;
  collect::for_each_mapping(maps, [&](const collect::mapping& map, std::string_view) {
    const std::string name(map.name);
    const auto parts = collect::parse_segment_name(name.substr(name.rfind('/') + 1));
    if (found.empty() && map.is_shared && parts && parts->pid == pid) found = name;
  });
  for (int wait = 0; wait < waits && !found.empty(); ++wait) {
    if (collect::segment_file::is_ready(found)) break;
    const timespec moment{0, 10'000'000};
    ::nanosleep(&moment, nullptr);
  }
  if (!found.empty()) return found;
  if (::kill(pid, 0) != 0 && errno == ESRCH) throw input_error(fmt::format("there is no process {}", pid));
  throw input_error(fmt::format("process {}", pid), "it is not under heapledger, or not yours to look at",
                    "start it with: heapledger run -- PROGRAM");
}

}  // namespace heapledger::leaks
