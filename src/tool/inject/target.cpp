#include "tool/inject/target.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "tool/collect/elf_traits.hpp"
#include "tool/collect/process.hpp"
#include "tool/inject/candidates.hpp"
#include "tool/inject/frozen.hpp"
#include "tool/inject/memory.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::inject {
namespace {

constexpr std::size_t status_limit = 1 << 16;

std::string subject(pid_t pid) {
  return fmt::format("process {}", pid);
}

std::string_view status_value(std::string_view status, std::string_view key) {
  for (std::size_t at = 0; at < status.size();) {
    const auto end = std::min(status.find('\n', at), status.size());
    const auto line = status.substr(at, end - at);
    if (line.starts_with(key)) {
      const auto value = line.substr(key.size()).find_first_not_of(" \t");
      return value == std::string_view::npos ? std::string_view{} : line.substr(key.size() + value);
    }
    at = end + 1;
  }
  return {};
}

pid_t number_of(std::string_view text) {
  pid_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string name_of_process(pid_t pid) {
  auto name = collect::read_proc_file(fmt::format("/proc/{}/comm", pid), 64);
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

void refuse_by_status(pid_t pid, std::string_view status) {
  if (status.empty()) throw input_error(fmt::format("there is no process {}; ps -e lists those there are", pid));
  if (pid == ::getpid()) throw input_error(subject(pid), "is this heapledger itself", "name another process");
  const auto group = number_of(status_value(status, "Tgid:"));
  if (group != pid)
    throw input_error(subject(pid), fmt::format("is a thread of process {}", group),
                      fmt::format("heapledger attach {}", group));
  const auto state = status_value(status, "State:");
  if (collect::has_no_threads_left(pid)) throw input_error(subject(pid), "has ended already");
  if (state.starts_with('Z') || state.starts_with('X'))
    throw input_error(subject(pid), "goes on without its main thread, which has ended; nothing can be loaded into it",
                      "start it with heapledger run");
  if (status_value(status, "VmSize:").empty()) throw input_error(subject(pid), "is a thread of the kernel");
  if (const auto tracer = number_of(status_value(status, "TracerPid:")); tracer != 0)
    throw input_error(subject(pid), fmt::format("is being traced by process {} ({})", tracer, name_of_process(tracer)),
                      "only one can be at it; end that first");
  if (state.starts_with('T'))
    throw input_error(subject(pid), "is stopped", fmt::format("let it go on first: kill -CONT {}", pid));
  if (is_frozen(pid))
    throw input_error(subject(pid), "is frozen, with its control group",
                      "let that go on first (docker unpause, systemctl thaw)");
  if (status_value(status, "Seccomp:") == "1")
    throw input_error(subject(pid), "may not open files (seccomp, strict)", "nothing can be loaded into it");
  if (status_value(status, "x86_Thread_features:").find("shstk") != std::string_view::npos)
    throw input_error(subject(pid), "has a shadow stack, which calls from outside would break",
                      "start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off, or under heapledger run");
}

void refuse_without_rights(pid_t pid, std::string_view status) {
  const auto path = fmt::format("/proc/{}/maps", pid);
  const collect::unique_fd maps(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  if (maps && ::read(maps.get(), &byte, 1) >= 0) return;
  if (errno == ENOENT || errno == ESRCH) throw input_error(subject(pid), "has ended already");
  throw input_error(subject(pid),
                    why_not_traced(status, collect::read_proc_file("/proc/sys/kernel/yama/ptrace_scope", 16),
                                   fmt::format("heapledger attach {}", pid)));
}

// The probe would count for both, and who is named is the one that soon ends: the child of a vfork.
void refuse_borrowed_memory(pid_t pid, std::string_view status) {
  constexpr int kcmp_vm = 1;
  const auto parent = number_of(status_value(status, "PPid:"));
  if (parent == 0 || ::syscall(SYS_kcmp, parent, pid, kcmp_vm, 0, 0) != 0) return;
  throw input_error(subject(pid),
                    fmt::format("runs in the memory of its parent, process {} ({})", parent, name_of_process(parent)),
                    fmt::format("heapledger attach {}", parent));
}

void refuse_by_program(pid_t pid, target& found) {
  const collect::unique_fd exe(::open(fmt::format("/proc/{}/exe", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!exe) return;
  const auto traits = read_elf_traits(exe.get());
  if (!traits) return;
  if (!traits->native)
    throw input_error(subject(pid), fmt::format("is a {} program; this heapledger attaches to {} programs only",
                                                traits->machine, native_machine()));
  if (!traits->sanitizer.empty())
    throw input_error(subject(pid), fmt::format("was built with {}, which owns malloc", traits->sanitizer),
                      "attach to a build without it");
  found.program_has_malloc = !traits->own_allocator.empty();
}

void refuse_by_libraries(pid_t pid, const target& found) {
  for (const auto& each : found.modules) {
    const auto name = each.name();
    for (const char* runtime : {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt."})
      if (name.starts_with(runtime))
        throw input_error(subject(pid), fmt::format("has a sanitizer's runtime ({}), which owns malloc", name),
                          "attach to a build without it");
    if (name.starts_with("ld-musl") || name.starts_with("libc.musl"))
      throw input_error(subject(pid), "runs on musl; the probe needs glibc");
  }
}

// Of a path in this process's own maps.
bool same_file(const std::string& ours, const std::string& theirs) {
  struct stat a {
  }, b{};
  return ::stat(ours.c_str(), &a) == 0 && ::stat(theirs.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

void refuse_old_libc(pid_t pid, const target& found, const std::string& library) {
  const collect::unique_fd probe(::open(library.c_str(), O_RDONLY | O_CLOEXEC));
  if (!probe) throw input_error(library, "the probe cannot be read", "install heapledger with its lib/heapledger");
  const exports of_probe(probe.get());
  for (const auto& version : of_probe.wanted_of_libc())
    if (!found.libc_exports.versions().contains(version))
      throw input_error(subject(pid), fmt::format("has a glibc that is too old; the probe needs {}", version));
  for (const char* name : {"dlopen", "dlsym", "dlerror", "__errno_location", "syscall"})
    if (!found.libc_exports.has(name))
      throw input_error(subject(pid), fmt::format("has a glibc that is too old: it has no {}", name));
}

}  // namespace

std::string why_not_traced(std::string_view status, std::string_view ptrace_scope, std::string_view command) {
  if (const auto tracer = number_of(status_value(status, "TracerPid:")); tracer != 0)
    return fmt::format("is being traced by process {}; only one can be at it; end that first", tracer);
  const auto uids = status_value(status, "Uid:");
  const auto is_ours = !uids.empty() && number_of(uids) == static_cast<pid_t>(::getuid());
  if (!is_ours && ::geteuid() != 0)
    return fmt::format("belongs to another user; be that user, or root: sudo {}", command);
  if (::geteuid() == 0)
    return "may not be traced; a container needs the capability SYS_PTRACE for it (docker run --cap-add=SYS_PTRACE)";
  if (!ptrace_scope.empty() && ptrace_scope[0] >= '1' && ptrace_scope[0] <= '2')
    return fmt::format(
        "may not be traced: kernel.yama.ptrace_scope is {}; type sudo {}, or sudo sysctl kernel.yama.ptrace_scope=0",
        ptrace_scope[0], command);
  if (!ptrace_scope.empty() && ptrace_scope[0] == '3')
    return "may not be traced: kernel.yama.ptrace_scope is 3, until the machine starts anew";
  return fmt::format("may not be traced; it has privileges of its own, or asked for it: sudo {}", command);
}

bool sees_the_same(pid_t pid, const std::string& path) {
  return same_file(path, fmt::format("/proc/{}/root{}", pid, path));
}

std::uint64_t target::libc_function(std::string_view name) const {
  const auto address = libc_exports.find(name);
  return address ? modules[libc].start + *address - libc_exports.first_address() : 0;
}

namespace {

// It will be over in a moment, mostly.
class unsettled : public input_error {
 public:
  using input_error::input_error;
};

auto find_kind(const std::vector<module>& modules, library_kind kind) {
  return std::find_if(modules.begin(), modules.end(), [&](const auto& each) { return kind_of(each.name()) == kind; });
}

target examine(pid_t pid, const std::string& library, same_process identity) {
  const auto status = collect::read_proc_file(fmt::format("/proc/{}/status", pid), status_limit);
  refuse_by_status(pid, status);
  refuse_without_rights(pid, status);
  refuse_borrowed_memory(pid, status);
  target found{.pid = pid,
               .identity = std::move(identity),
               .program = {},
               .modules = read_modules(pid),
               .libc = 0,
               .libc_exports = exports(-1),
               .code = {}};
  char exe[4096];
  const ssize_t length = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), exe, sizeof exe);
  if (length > 0) found.program.assign(exe, static_cast<std::size_t>(length));
  refuse_by_program(pid, found);
  refuse_by_libraries(pid, found);
  const auto libc = find_kind(found.modules, library_kind::libc);
  if (libc == found.modules.end() && find_kind(found.modules, library_kind::loader) != found.modules.end())
    throw unsettled(fmt::format("process {}: has only just begun, and its loader is still at work; try again", pid));
  if (libc == found.modules.end())
    throw input_error(subject(pid), "is statically linked, or runs without glibc: nothing can be loaded into it",
                      "link it dynamically (without -static)");
  found.libc = static_cast<std::size_t>(libc - found.modules.begin());
  const auto file = open_module(pid, *libc);
  if (!file)
    throw input_error(subject(pid), fmt::format("its {} is not the file that it was started with", libc->name()),
                      "libc was updated since; start the program anew, or be root");
  found.libc_exports = exports(file.get());
  refuse_old_libc(pid, found, library);
  const auto code = find_libc_code(pid, found.libc_exports, libc->start, file.get());
  if (!code) throw input_error(subject(pid), "its libc does not look as we know it");
  found.code = *code;
  if (!sees_the_same(pid, library))
    throw input_error(subject(pid), fmt::format("sees other files than we do (a container): {} is not there", library),
                      "run heapledger inside that container, from a path that it has");
  return found;
}

}  // namespace

target examine_target(pid_t pid, const std::string& library) {
  constexpr int most_tries = 50;
  const bool was_there = ::kill(pid, 0) == 0 || errno == EPERM;
  for (int tries = 1;; ++tries) {
    const same_process before(pid);
    try {
      return examine(pid, library, same_process(pid));
    } catch (const input_error& error) {  // of one that ends or executes another program nothing looks as it should
      if (was_there && is_over(pid)) throw input_error(subject(pid), "has ended already");
      const bool is_unsettled = dynamic_cast<const unsettled*>(&error) != nullptr || !before.runs_the_same();
      if (!is_unsettled || tries == most_tries) throw;
    }
    const timespec moment{0, 10'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

}  // namespace heapledger::inject
