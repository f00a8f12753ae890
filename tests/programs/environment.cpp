// The environment while commands run in a shell: environment reading | changing | waiting | forking | cleared |
// cancelled
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "books.hpp"

extern char** environ;

namespace {

constexpr unsigned calls = 40;
std::atomic<unsigned> failed;

void expect(bool holds) {
  failed += !holds;
}

void by_popen() {
  FILE* out = popen("echo through", "r");
  char line[20] = "";
  expect(out && fgets(line, sizeof line, out) && !std::strcmp(line, "through\n"));
  expect(out && pclose(out) == 0);
}

bool preload_is_seen() {
  for (char** entry = environ; entry && *entry; ++entry)
    if (!std::strncmp(*entry, "LD_PRELOAD=", 11) || !std::strncmp(*entry, "HEAPLEDGER_SESSION=", 19)) return true;
  return false;
}

// Runs `work` in a second thread for as long as two others run commands.
template <class Work>
void beside_commands(Work work) {
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) work();
  });
  std::thread other([] {
    for (unsigned i = 0; i < calls; ++i) expect(system("exit 5") == 5 << 8);
  });
  for (unsigned i = 0; i < calls; ++i) by_popen();
  other.join();
  stop = true;
  worker.join();
}

void reading() {
  beside_commands([] { expect(!getenv("NOT_THERE")); });
}

// Only what is there already: libc hands the array to the kernel without its lock, alone too.
void changing() {
  static char put[2][6] = {"PUT=0", "PUT=1"};
  static unsigned round;
  CHECK(!putenv(put[0]));
  beside_commands([] {
    const std::string value = std::to_string(++round % 100);
    expect(!setenv("KNOWN", value.c_str(), 1) && getenv("KNOWN") == value);
    expect(!putenv(put[round % 2]) && getenv("PUT") == put[round % 2] + 4);
    expect(!unsetenv("NOT_THERE") && getenv("KNOWN") == value);
  });
}

// A command that has begun, and waits for us: 3 is what it reads from, 6 what it writes to.
void waiting() {
  int to[2], from[2];
  CHECK(!pipe(to) && !pipe(from) && to[0] == 3 && from[1] == 6);
  setenv("KNOWN", "before", 1);
  setenv("GONE", "1", 1);
  std::thread waits([] { expect(system("echo begun >&6; read line <&3; exit 7") == 7 << 8); });
  char begun[8];
  CHECK(read(from[0], begun, sizeof begun) > 0);
  expect(!preload_is_seen());
  expect(signal(SIGINT, SIG_IGN) == SIG_IGN);
  setenv("KNOWN", "after", 1);
  setenv("FRESH", "1", 1);
  unsetenv("GONE");
  CHECK(write(to[1], "\n", 1) == 1);
  waits.join();
  test::put(1, "%s %s %s\n", getenv("KNOWN"), getenv("FRESH"), getenv("GONE") ? "there" : "gone");
  expect(signal(SIGINT, SIG_DFL) == SIG_DFL && system("echo $KNOWN $FRESH $GONE") == 0 && !preload_is_seen());
}

void forking() {
  beside_commands([] {
    const pid_t child = fork();
    if (child == 0) _exit(preload_is_seen());
    int status;
    expect(waitpid(child, &status, 0) == child && status == 0);
  });
}

void cleared() {
  CHECK(!clearenv());
  by_popen();
  expect(!environ && system("exit 3") == 3 << 8 && !environ);
  char only[] = "ONLY=1";
  char* own[] = {only, nullptr};
  environ = own;
  by_popen();
  expect(environ == own && own[0] == only && !own[1]);
  errno = 0;
  expect(system(nullptr) && system("kill -9 $$") == 9 && errno == 0 && environ == own);
}

// The command ends with the thread that waits for it.
void cancelled() {
  static int begun[2];
  CHECK(!pipe(begun) && begun[1] == 4);
  pthread_t thread;
  CHECK(!pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        system("echo begun >&4; exec sleep 1000");
        return nullptr;
      },
      nullptr));
  char text[8];
  CHECK(read(begun[0], text, 6) == 6);
  pthread_cancel(thread);
  void* result;
  CHECK(!pthread_join(thread, &result));
  CHECK(!close(begun[1]));
  expect(result == PTHREAD_CANCELED && read(begun[0], text, 1) == 0 && wait4(-1, nullptr, 0, nullptr) == -1);
  expect(signal(SIGINT, SIG_DFL) == SIG_DFL && system("exit 2") == 2 << 8);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const std::string mode = argv[1];
  setenv("KNOWN", "0", 1);
  if (mode == "reading")
    reading();
  else if (mode == "changing")
    changing();
  else if (mode == "waiting")
    waiting();
  else if (mode == "forking")
    forking();
  else if (mode == "cleared")
    cleared();
  else if (mode == "cancelled")
    cancelled();
  else
    CHECK(!"mode");
  test::put(1, "%s: %u failed\n", argv[1], failed.load());
}
