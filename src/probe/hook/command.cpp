// The hooks of the functions that run a command in a shell.
//
// system() does here what libc's does, with the child's environment handed to posix_spawn: libc's takes `environ`,
// which other threads would have to be shown for as long as the command runs.
#include "probe/hook/command.hpp"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "probe/base/attributes.hpp"
#include "probe/base/lock.hpp"
#include "probe/hook/environment.hpp"
#include "probe/hook/environment_room.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/shown_environment.hpp"
#include "probe/hook/uncounted.hpp"

using namespace heapledger::probe;

namespace {

constexpr const char* shell_path = "/bin/sh";

constinit struct {
  int (*system)(const char*);
  FILE* (*popen)(const char*, const char*);
  decltype(&::posix_spawn) posix_spawn;
  decltype(&::waitpid) waitpid;
} real = {};
constinit bool next_is_libc = false;
constinit int libc_minor = 0;

// As the kernel has it, so that a handler comes back as it was.
struct disposition {
  void* handler;
  std::uint64_t flags;
  void* restorer;
  std::uint64_t mask;

  bool ignores() const { return handler == reinterpret_cast<void*>(SIG_IGN); }
};

constinit std::uint32_t commands_lock = 0;
constinit unsigned commands = 0;  // of all threads: the first ignores the keys, the last restores what they did
constinit disposition on_interrupt = {}, on_quit = {};

void exchange(int signal, const disposition& now, disposition* before) {
  sys::call(__NR_rt_sigaction, signal, sys::word(&now), sys::word(before), 8);
}

// `reset` is what the child does not ignore.
void ignore_keys(sigset_t& reset) {
  const lock_guard held(commands_lock);
  if (commands++ == 0) {
    const disposition ignored{reinterpret_cast<void*>(SIG_IGN), 0, nullptr, 0};
    exchange(SIGINT, ignored, &on_interrupt);
    exchange(SIGQUIT, ignored, &on_quit);
  }
  sigemptyset(&reset);
  if (!on_interrupt.ignores()) sigaddset(&reset, SIGINT);
  if (!on_quit.ignores()) sigaddset(&reset, SIGQUIT);
}

void restore_keys() {
  const lock_guard held(commands_lock);
  if (--commands != 0) return;
  exchange(SIGINT, on_interrupt, nullptr);
  exchange(SIGQUIT, on_quit, nullptr);
}

void end_cancelled(void* child) {
  const pid_t pid = *static_cast<pid_t*>(child);
  sys::call(__NR_kill, pid, SIGKILL);
  while (sys::call(__NR_wait4, pid, 0, 0, 0) == -EINTR) {
  }
  restore_keys();
}

int wait_for(pid_t child) {
  int status = -1;
  pthread_cleanup_push(end_cancelled, &child);
  pid_t ended;
  do ended = real.waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended != child) status = -1;
  pthread_cleanup_pop(0);
  return status;
}

execution execution_of_shell() {
  const environment_lock held;
  return {child_environment(program_environment()), {.path = shell_path}};
}

int run(const char* command, char* const* environment, const execution& shell) {
  sigset_t reset, before;
  sigemptyset(&before);
  ignore_keys(reset);
  const std::uint64_t child_signal = std::uint64_t{1} << (SIGCHLD - 1);
  sys::call(__NR_rt_sigprocmask, SIG_BLOCK, sys::word(&child_signal), sys::word(&before), 8);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before);
  posix_spawnattr_setsigdefault(&attributes, &reset);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const char* plain[] = {"sh", "-c", command, nullptr};
  const char* since_2_38[] = {"sh", "-c", "--", command, nullptr};
  pid_t child = 0;
  const int error = shell.end(real.posix_spawn(&child, shell_path, nullptr, &attributes,
                                               const_cast<char**>(libc_minor < 38 ? plain : since_2_38), environment));
  posix_spawnattr_destroy(&attributes);

  const bool no_child = libc_minor >= 41 && (error == EAGAIN || error == ENOMEM);
  const int status = error == 0 ? wait_for(child) : no_child ? -1 : W_EXITCODE(127, 0);
  restore_keys();
  sys::call(__NR_rt_sigprocmask, SIG_SETMASK, sys::word(&before), 0, 8);
  if (error != 0) errno = error;
  return status;
}

template <class Function>
bool of_libc(Function* function) {
  return is_of_libc(reinterpret_cast<const void*>(function));
}

}  // namespace

namespace heapledger::probe {

void start_commands() {
  look_up_next(real.system, "system");
  look_up_next(real.popen, "popen");
  look_up_next(real.posix_spawn, "posix_spawn");
  look_up_next(real.waitpid, "waitpid");
  next_is_libc = of_libc(real.system) && of_libc(real.posix_spawn) && of_libc(real.waitpid);
  libc_minor = std::strncmp(gnu_get_libc_version(), "2.", 2) == 0 ? atoi(gnu_get_libc_version() + 2) : 0;
}

}  // namespace heapledger::probe

HL_EXPORT int system(const char* command) {
  if (real.system == nullptr) start_commands();
  const execution shell = execution_of_shell();
  if (shell.runs_alone()) return real.system(command);
  if (!next_is_libc) {
    const shown_environment shown;
    return real.system(command);
  }
  char* const* environment = nullptr;
  environment_room own;
  {
    const environment_lock held;
    const child_environment child(program_environment());
    if (child.bytes() != 0) environment = child.build(own.take(child.bytes()) ?: alloca(child.bytes()));
  }
  if (environment == nullptr) return real.system(command);
  return command != nullptr ? run(command, environment, shell) : run("exit 0", environment, shell) == 0;
}

HL_EXPORT FILE* popen(const char* command, const char* mode) {
  if (real.popen == nullptr) start_commands();
  const execution shell = execution_of_shell();
  if (shell.runs_alone()) return real.popen(command, mode);
  const shown_environment shown;
  FILE* const stream = real.popen(command, mode);
  shell.end(stream != nullptr ? 0 : -1);
  return stream;
}
