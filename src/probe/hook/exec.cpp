// The hooks of the functions that execute programs: each passes the child our variables, and is otherwise the next
// one's.
//
// A child of vfork may call them: they use the stack or a room of the thread's, and functions that were looked up when
// the probe was loaded.
#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include "probe/base/attributes.hpp"
#include "probe/hook/command.hpp"
#include "probe/hook/environment.hpp"
#include "probe/hook/environment_room.hpp"
#include "probe/hook/exec.hpp"
#include "probe/hook/fork.hpp"
#include "probe/hook/limits.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/path_search.hpp"
#include "probe/hook/setenv.hpp"
#include "probe/hook/uncounted.hpp"

using namespace heapledger::probe;

namespace {

constinit struct {
  decltype(&::execve) execve;
  decltype(&::execvpe) execvpe;
  decltype(&::fexecve) fexecve;
  decltype(&::execveat) execveat;
  decltype(&::posix_spawn) posix_spawn;
  decltype(&::posix_spawnp) posix_spawnp;
  decltype(&::posix_spawn) pidfd_spawn;  // of glibc 2.39 and later
  decltype(&::posix_spawnp) pidfd_spawnp;
} real = {};

bool resets_ids(const posix_spawnattr_t* attributes) {
  short flags = 0;
  return attributes != nullptr && posix_spawnattr_getflags(attributes, &flags) == 0 &&
         (flags & POSIX_SPAWN_RESETIDS) != 0;
}

}  // namespace

namespace heapledger::probe {

void start_exec() {
  look_up_next(real.execve, "execve");
  look_up_next(real.execvpe, "execvpe");
  look_up_next(real.fexecve, "fexecve");
  look_up_next(real.execveat, "execveat");
  look_up_next(real.posix_spawn, "posix_spawn");
  look_up_next(real.posix_spawnp, "posix_spawnp");
  real.pidfd_spawn = reinterpret_cast<decltype(real.pidfd_spawn)>(next_definition_if_any("pidfd_spawn"));
  real.pidfd_spawnp = reinterpret_cast<decltype(real.pidfd_spawnp)>(next_definition_if_any("pidfd_spawnp"));
  start_commands();
  start_setenv();
  start_fork();
}

}  // namespace heapledger::probe

// alloca's room must be the hook's own, so this cannot be a function.
#define HL_CHILD(executed, environment, ...)               \
  if (real.execve == nullptr) start_exec();                \
  const child_environment child(environment);              \
  const execution executed(child, child_file __VA_ARGS__); \
  environment_room own;                                    \
  if (child.bytes() != 0 && !executed.runs_alone())        \
  environment = child.build(own.take(child.bytes()) ?: alloca(child.bytes()))

HL_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) {
  HL_CHILD(executed, environment, {.path = path});
  const execution_limits limits({.path = path});
  return executed.end(real.execve(path, arguments, environment));
}
HL_EXPORT int execv(const char* path, char* const* arguments) {
  return execve(path, arguments, environ);
}
HL_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) {
  const searched_program found(file);
  HL_CHILD(executed, environment, {.path = found.path()});
  const execution_limits limits({.path = found.path()});
  return executed.end(real.execvpe(file, arguments, environment));
}
HL_EXPORT int execvp(const char* file, char* const* arguments) {
  return execvpe(file, arguments, environ);
}
HL_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) {
  HL_CHILD(executed, environment, {.folder = file, .path = "", .flags = AT_EMPTY_PATH});
  const execution_limits limits({.folder = file, .path = "", .flags = AT_EMPTY_PATH});
  return executed.end(real.fexecve(file, arguments, environment));
}
HL_EXPORT int execveat(int folder, const char* path, char* const* arguments, char* const* environment, int flags) {
  HL_CHILD(executed, environment, {.folder = folder, .path = path, .flags = flags});
  const execution_limits limits({.folder = folder, .path = path, .flags = flags});
  return executed.end(real.execveat(folder, path, arguments, environment, flags));
}
HL_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  HL_CHILD(executed, environment, {.path = path, .resets_ids = resets_ids(attributes)});
  return executed.end(real.posix_spawn(pid, path, actions, attributes, arguments, environment));
}
HL_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  const searched_program found(file);
  HL_CHILD(executed, environment, {.path = found.path(), .resets_ids = resets_ids(attributes)});
  return executed.end(real.posix_spawnp(pid, file, actions, attributes, arguments, environment));
}

HL_EXPORT int pidfd_spawn(int* pidfd, const char* path, const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  HL_CHILD(executed, environment, {.path = path, .resets_ids = resets_ids(attributes)});
  if (real.pidfd_spawn == nullptr) return executed.end(ENOSYS);  // as where the kernel cannot
  return executed.end(real.pidfd_spawn(pidfd, path, actions, attributes, arguments, environment));
}
HL_EXPORT int pidfd_spawnp(int* pidfd, const char* file, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  const searched_program found(file);
  HL_CHILD(executed, environment, {.path = found.path(), .resets_ids = resets_ids(attributes)});
  if (real.pidfd_spawnp == nullptr) return executed.end(ENOSYS);
  return executed.end(real.pidfd_spawnp(pidfd, file, actions, attributes, arguments, environment));
}

// The arguments of the variadic forms as an array, and `list` just past their null.
#define HL_GATHER(list, first, arguments)                                      \
  va_start(list, first);                                                       \
  std::size_t count = 1;                                                       \
  while (va_arg(list, char*) != nullptr) ++count;                              \
  va_end(list);                                                                \
  auto** arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  va_start(list, first);                                                       \
  arguments[0] = const_cast<char*>(first);                                     \
  for (std::size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*);

HL_EXPORT int execl(const char* path, const char* first, ...) {
  va_list list;
  HL_GATHER(list, first, arguments)
  va_end(list);
  return execve(path, arguments, environ);
}
HL_EXPORT int execlp(const char* file, const char* first, ...) {
  va_list list;
  HL_GATHER(list, first, arguments)
  va_end(list);
  return execvpe(file, arguments, environ);
}
HL_EXPORT int execle(const char* path, const char* first, ...) {
  va_list list;
  HL_GATHER(list, first, arguments)
  char* const* environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, arguments, environment);
}
