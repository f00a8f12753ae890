#include "tool/cli/doctor_checks.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tool/collect/environment.hpp"
#include "tool/collect/left_sessions.hpp"
#include "tool/collect/program_check.hpp"
#include "tool/collect/programs.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {
namespace {

using report::bytes_text;

constexpr std::uint64_t enough_shared_memory = std::uint64_t{256} << 20;

bool at_least(const char* version, int major, int minor) {
  int have_major = 0;
  int have_minor = 0;
  if (std::sscanf(version, "%d.%d", &have_major, &have_minor) != 2) return false;
  return have_major > major || (have_major == major && have_minor >= minor);
}

diagnosis examine_probe() {
  try {
    return {health::good, "probe", collect::find_probe()};
  } catch (const input_error& error) {
    return {health::problem, "probe", error.what()};
  }
}

diagnosis examine_system() {
  utsname system{};
  uname(&system);
  std::string words = fmt::format("Linux {}, glibc {}", system.release, gnu_get_libc_version());
  if (!at_least(gnu_get_libc_version(), 2, 35)) {
    return {health::problem, "system", words + "; the probe needs glibc 2.35"};
  }
  return {health::good, "system", words};
}

diagnosis examine_shared_memory() {
  constexpr const char* path = "/dev/shm";
  constexpr const char* otherwise = "the counters go to $TMPDIR or /tmp instead, which is slower on a disk";
  struct statvfs space {};
  if (access(path, W_OK) != 0 || statvfs(path, &space) != 0) {
    return {health::note, path, fmt::format("{}; {}", strerror(errno), otherwise)};
  }
  const std::uint64_t free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  if (free_bytes < enough_shared_memory) {
    return {health::note, path,
            fmt::format("only {} free; give it more (docker run --shm-size=1g; mount -o remount,size=1g /dev/shm)",
                        bytes_text(free_bytes))};
  }
  return {health::good, path, fmt::format("writable, {} free", bytes_text(free_bytes))};
}

// They take memory until somebody removes them.
void examine_left_sessions(std::vector<diagnosis>& findings) {
  std::vector<std::string> segments;
  for (const auto& program : collect::find_programs()) segments.push_back(program.segment);
  const auto left = collect::left_sessions("/dev/shm", segments);
  if (left.empty()) return;
  constexpr std::size_t most_named = 3;
  std::uint64_t bytes = 0;
  std::string names;
  for (std::size_t i = 0; i < left.size(); ++i) {
    bytes += left[i].bytes;
    if (i < most_named) names += " " + left[i].path;
  }
  if (left.size() > most_named) names += fmt::format(" (and {} more)", left.size() - most_named);
  findings.push_back(
      {health::note, "sessions",
       fmt::format("{} left behind by what was killed, {} of memory; `heapledger report` reads each file "
                   "in them, and this removes them: rm -r{}",
                   report::counted(left.size(), "is", "are"), bytes_text(bytes), names)});
}

diagnosis examine_limit(int resource, const char* subject, const char* unset, const char* consequence) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {health::good, subject, unset};
  return {health::note, subject, fmt::format("{}; {}", bytes_text(std::uint64_t{limit.rlim_cur}), consequence)};
}

diagnosis examine_overcommit() {
  std::ifstream file("/proc/sys/vm/overcommit_memory");
  int mode = 0;
  file >> mode;
  if (mode == 2) {
    return {health::note, "overcommit",
            "vm.overcommit_memory is 2: reserved memory counts, so programs near the limit get less of it under "
            "heapledger"};
  }
  return {health::good, "overcommit", fmt::format("vm.overcommit_memory is {}", mode)};
}

diagnosis examine_preload() {
  const char* value = std::getenv("LD_PRELOAD");
  if (value == nullptr || *value == '\0') return {health::good, "LD_PRELOAD", "not set"};
  return {health::note, "LD_PRELOAD", fmt::format("is set already ({}); it stays, behind the probe", value)};
}

// `run` needs none. What `attach` and the second witness of the leak watch need is a matter of this machine's settings.
diagnosis examine_ptrace() {
  constexpr const char* subject = "ptrace, perf";
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  file >> scope;
  if (geteuid() != 0 && file && scope != 0)
    return {
        health::note, subject,
        fmt::format("not needed by run; attach needs {} (kernel.yama.ptrace_scope is {})",
                    scope == 3 ? "a new start of the machine" : "sudo, or sysctl kernel.yama.ptrace_scope=0", scope)};
  return {health::good, subject,
          geteuid() == 0 ? "not needed by run; attach reaches every program"
                         : "not needed by run; attach reaches programs of this user"};
}

// "libc.so.6" of this process, and its build-id as lowercase hex.
struct libc_identity {
  std::string path;
  std::string build_id;
};

int find_libc(dl_phdr_info* info, std::size_t, void* result) {
  auto& found = *static_cast<libc_identity*>(result);
  if (std::filesystem::path(info->dlpi_name).filename().string().rfind("libc.so", 0) != 0) return 0;
  found.path = info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* const name = at + sizeof(note);
      const char* const content = name + ((note.n_namesz + 3) & ~3U);
      if (note.n_type == NT_GNU_BUILD_ID && std::strcmp(name, "GNU") == 0) {
        for (unsigned b = 0; b < note.n_descsz; ++b) {
          found.build_id += fmt::format("{:02x}", static_cast<unsigned char>(content[b]));
        }
        return 1;
      }
      at = content + ((note.n_descsz + 3) & ~3U);
    }
  }
  return 1;
}

diagnosis examine_debug_files() {
  libc_identity libc;
  dl_iterate_phdr(find_libc, &libc);
  if (libc.build_id.size() < 3) return {health::note, "libc symbols", "libc has no build-id to look for"};
  const std::string file =
      fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", libc.build_id.substr(0, 2), libc.build_id.substr(2));
  if (access(file.c_str(), R_OK) == 0) return {health::good, "libc symbols", file};
  return {health::note, "libc symbols",
          "no debug file for libc: its frames have names, but no lines (Debian: apt install libc6-dbg)"};
}

}  // namespace

std::vector<diagnosis> examine_machine() {
  std::vector<diagnosis> findings = {
      examine_system(),
      examine_probe(),
      examine_shared_memory(),
      examine_limit(RLIMIT_AS, "ulimit -v", "unlimited",
                    "the probe's tables count too; raise it (ulimit -v unlimited) if memory runs out"),
      examine_limit(RLIMIT_FSIZE, "ulimit -f", "unlimited",
                    "a table that cannot grow loses events; raise it (ulimit -f unlimited)"),
      examine_overcommit(),
      examine_preload(),
      examine_ptrace(),
      examine_debug_files()};
  examine_left_sessions(findings);
  return findings;
}

std::vector<diagnosis> examine_program(const std::string& program) {
  const program_check check = check_program(program);
  const std::string name = program.substr(program.rfind('/') + 1);
  std::vector<diagnosis> result;
  bool problems = false;
  for (const auto& finding : check.findings) {
    const bool is_note = finding.weight == severity::note;
    problems = problems || !is_note;
    result.push_back({is_note ? health::note : health::problem, name, finding.words});
  }
  if (!problems) result.push_back({health::good, name, fmt::format("{} can be profiled", check.path)});
  return result;
}

}  // namespace heapledger::cli
