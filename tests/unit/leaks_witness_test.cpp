// The second witness, in this very process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include "leaderless_process.hpp"
#include "tool/collect/process.hpp"
#include "tool/leaks/thread_stop.hpp"
#include "tool/leaks/witness.hpp"

namespace heapledger::leaks {
namespace {

// Kernels without Yama cannot be asked to refuse: what would be said there.
TEST(leaks_witness, a_refusal_says_what_would_help) {
  const auto says = [](const std::string& all, const char* part) { return all.find(part) != std::string::npos; };
  const char* const alone = "Name:\tx\nTracerPid:\t0\n";
  EXPECT_TRUE(says(why_not_stopped(EPERM, alone, "1\n"), "heapledger start PID"));
  EXPECT_TRUE(says(why_not_stopped(EPERM, alone, "2\n"), "forbids it. Be root"));
  EXPECT_TRUE(says(why_not_stopped(EPERM, alone, "0\n"), "be its user, or root"));
  EXPECT_TRUE(says(why_not_stopped(EPERM, alone, ""), "be its user, or root"));
  EXPECT_TRUE(says(why_not_stopped(EPERM, "TracerPid:\t77\n", "1\n"), "a debugger is at it"));
  EXPECT_TRUE(says(why_not_stopped(EPERM, "TracerPid:\t", "1\n"), "heapledger start PID"));
  EXPECT_FALSE(says(why_not_stopped(ESRCH, alone, "1\n"), "yama"));
}

TEST(leaks_witness, a_word_into_a_block_or_to_its_end_points_to_it) {
  const address_range blocks[] = {{0x1000, 0x1040}, {0x2000, 0x2000}, {0x3000, 0x3010}};
  std::vector<bool> marked(3);
  const std::uint64_t others[] = {0, 0xfff, 0x1041, 0x1fff, 0x2001, 0x3011, ~std::uint64_t{0}};
  mark_targets(others, blocks, marked);
  EXPECT_EQ(marked, std::vector<bool>({false, false, false}));
  const std::uint64_t words[] = {0x1020, 0x2000, 0x3010};
  mark_targets(words, blocks, marked);
  EXPECT_EQ(marked, std::vector<bool>({true, true, true}));
}

// A child that holds one pointer and has lost another, waiting in a read.
TEST(leaks_witness, tells_the_lost_block_from_the_held_one) {
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(to_parent), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Only one of them is ever computed here; and where nothing was before, as words that other tests left in freed
    // memory may point to what was mapped then.
    auto* const fresh = reinterpret_cast<void*>(0x6e0000000000);
    auto* const room =
        static_cast<char*>(::mmap(fresh, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    static volatile std::uintptr_t held;
    held = reinterpret_cast<std::uintptr_t>(room) + 4096;
    const std::uintptr_t hidden = ~held;
    if (::write(to_parent[1], &hidden, sizeof hidden) != sizeof hidden) ::_exit(1);
    char byte = 0;
    (void)!::read(to_child[0], &byte, 1);
    ::_exit(held == 0);
  }
  std::uintptr_t hidden = 0;
  ASSERT_EQ(::read(to_parent[0], &hidden, sizeof hidden), static_cast<ssize_t>(sizeof hidden));
  const std::uint64_t lost = ~hidden + 65536;
  const watcher::stale_block blocks[] = {{1, lost, 64}, {2, ~hidden, 64}};
  const auto said = find_unreachable(child, blocks, {1, 1});
  (void)!::write(to_child[1], "x", 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child went on as if nothing had been";
  if (!said.info.obstacle.empty()) GTEST_SKIP() << said.info.obstacle;
  ASSERT_EQ(said.unreachable.size(), 2U);
  EXPECT_TRUE(said.unreachable[0]);
  EXPECT_FALSE(said.unreachable[1]);
  EXPECT_EQ(said.info.unreachable, 1U);
  EXPECT_GT(said.info.searched_bytes, 0U);
}

// A thread that waits for the child of its vfork does not stop; that child waits for us. The other thread counts.
TEST(leaks_witness, goes_on_where_a_thread_cannot_stop) {
  void* const shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& [steps, waits] = *new (shared) std::array<std::atomic<int>, 2>;
  int end[2];
  ASSERT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    std::thread([&steps = steps] {
      for (;; ::sched_yield()) ++steps;
    }).detach();
    if (::vfork() == 0) {
      waits = 1;
      char nothing;
      ::_exit(static_cast<int>(::read(end[0], &nothing, 1)));
    }
    ::_exit(0);
  }
  ::close(end[0]);
  const auto await_steps = [&steps = steps] {
    for (const int before = steps; steps < before + 50;) ::sched_yield();
  };
  while (waits == 0) ::sched_yield();
  await_steps();
  const auto said = read_registers(child);
  await_steps();  // nobody holds the others any more
  EXPECT_FALSE(said.obstacle.empty());
  EXPECT_EQ(read_registers(child).obstacle, said.obstacle) << "and nobody has them: they can be asked again";
  ::close(end[1]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child went on as if nothing had been";
  ::munmap(shared, 4096);
}

// Asked again where a busy machine was too slow to stop the threads.
template <class Ask>
std::string obstacle_of(Ask ask) {
  for (;;)
    if (const std::string met = ask(); met.find("did not stop") == std::string::npos) return met;
}

TEST(leaks_witness, goes_by_the_threads_that_are_left_where_the_first_has_ended) {
  const pid_t child = testing::leaderless_process();
  frozen_registers said;
  EXPECT_EQ(obstacle_of([&] { return (said = read_registers(child)).obstacle; }), "");
  EXPECT_FALSE(said.words.empty());
  const watcher::stale_block blocks[] = {{1, 0x7000, 64}};
  EXPECT_EQ(obstacle_of([&] {
              return find_unreachable(child, blocks, {1, 1}).info.obstacle;
            }),
            "")
      << "and their memory";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// Written byte by byte: nothing in the process but the table holds the whole pointer.
constexpr unsigned char held_bytes[] = {0x40, 0x80, 0x1d, 0x4b, 0x3c, 0x5a, 0, 0};

std::uint64_t held_pointer() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t{held_bytes[i]} << (8 * i);
  return value;
}

struct table_memory {
  const char* name;
  int flags;
  int protection = PROT_READ | PROT_WRITE;  // from when it is filled
  int advice = MADV_NORMAL;
  bool is_guarded = false;  // the page before the table, where the kernel can
  int (*open)() = [] { return -1; };
};

[[noreturn]] void keep_table(const table_memory& how, std::atomic<bool>& is_ready) {
  constexpr std::size_t bytes = 1 << 20;
  const int fd = how.open();
  if (fd >= 0) (void)!::ftruncate(fd, bytes);
  void* const map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, how.flags, fd, 0);
  if (map == MAP_FAILED) ::_exit(1);
  ::madvise(map, bytes, how.advice);
  auto* const table = static_cast<volatile unsigned char*>(map) + 64 * 4096;
  for (std::size_t i = 0; i < sizeof held_bytes; ++i) table[i] = held_bytes[i];
  constexpr int install_guard = 102;
  if (how.is_guarded) ::madvise(static_cast<char*>(map) + 63 * 4096, 4096, install_guard);
  ::mprotect(map, bytes, how.protection);
  is_ready = true;
  for (;;) ::pause();
}

TEST(leaks_witness, reads_whatever_memory_a_program_keeps_its_pointers_in) {
  const table_memory kinds[] = {
      {.name = "shared", .flags = MAP_SHARED | MAP_ANONYMOUS},
      {.name = "memfd", .flags = MAP_SHARED, .open = [] { return ::memfd_create("table", MFD_CLOEXEC); }},
      {.name = "zero", .flags = MAP_PRIVATE, .open = [] { return ::open("/dev/zero", O_RDWR | O_CLOEXEC); }},
      {.name = "not dumped", .flags = MAP_PRIVATE | MAP_ANONYMOUS, .advice = MADV_DONTDUMP},
      {.name = "guarded", .flags = MAP_PRIVATE | MAP_ANONYMOUS, .is_guarded = true},
      {.name = "read-only", .flags = MAP_PRIVATE | MAP_ANONYMOUS, .protection = PROT_READ},
      {.name = "locked", .flags = MAP_PRIVATE | MAP_ANONYMOUS, .protection = PROT_NONE},
      {.name = "locked and shared", .flags = MAP_SHARED | MAP_ANONYMOUS, .protection = PROT_NONE},
  };
  void* const shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const is_ready = new (shared) std::atomic<bool>[std::size(kinds)];
  // All before the first is asked about: what this process has written down, its later children would have, too.
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    children.push_back(::fork());
    if (children.back() == 0) keep_table(kinds[i], is_ready[i]);
  }
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    while (!is_ready[i] && ::waitpid(children[i], nullptr, WNOHANG) == 0) ::sched_yield();
    const watcher::stale_block blocks[] = {{1, held_pointer() & ~std::uint64_t{63}, 128}, {2, 0x2c6a91d35000, 64}};
    const auto said = find_unreachable(children[i], blocks, {1, 1});
    ::kill(children[i], SIGKILL);
    ::waitpid(children[i], nullptr, 0);
    if (said.info.obstacle.find("stop") != std::string::npos) continue;  // it may not be, or the machine is busy
    EXPECT_EQ(said.info.obstacle, "") << kinds[i].name;
    EXPECT_EQ(said.unreachable, std::vector<bool>({false, true})) << kinds[i].name;
  }
  ::munmap(shared, 4096);
}

// A pointer that only a watched block holds is read where nobody watches: in the view of the block's own part of the
// slots, and not behind the end of another one's.
TEST(leaks_witness, reads_watched_blocks_in_the_view_that_they_are_in) {
  constexpr std::size_t page = 4096;
  constexpr std::uint64_t slots = 0x6e2000000000, views = 0x6e3000000000, hidden = ~std::uint64_t{0x6e4000000000};
  int to_parent[2];
  ASSERT_EQ(::pipe(to_parent), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int memory = ::memfd_create("heapledger-watch", MFD_CLOEXEC);
    const auto map = [memory](std::uint64_t at, std::size_t bytes, int how, off_t offset) {
      constexpr int access = PROT_READ | PROT_WRITE;
      return static_cast<volatile std::uint64_t*>(
          ::mmap(reinterpret_cast<void*>(at), bytes, access, how | MAP_FIXED_NOREPLACE, memory, offset));
    };
    char ready = ::ftruncate(memory, 2 * page) == 0;
    map(slots, 2 * page, MAP_SHARED, 0)[page / sizeof(std::uint64_t)] = ~hidden;
    map(views, page, MAP_PRIVATE, 0);
    map(views + 8 * page, page, MAP_PRIVATE, page);
    (void)!::write(to_parent[1], &ready, 1);
    ::pause();
    ::_exit(0);
  }
  char ready = 0;
  EXPECT_EQ(::read(to_parent[0], &ready, 1), 1);
  collect::watched_slot holder;
  holder.record.state = wire::watch_slot_state::live;
  holder.record.address = slots + page;
  holder.record.bytes = 64;
  const watcher::stale_block blocks[] = {{1, ~hidden, 64}};
  witness_result said;
  const auto obstacle = obstacle_of([&] {
    said = find_unreachable(child, blocks, {slots, slots + 2 * page}, {&holder, 1});
    return said.info.obstacle;
  });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!obstacle.empty()) GTEST_SKIP() << obstacle;
  EXPECT_EQ(said.unreachable, std::vector<bool>{false});
}

TEST(leaks_witness, slots_at_the_end_of_all_addresses_are_read_once) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::pause();
    ::_exit(0);
  }
  const watcher::stale_block blocks[] = {{1, 4096, 64}};
  std::vector<collect::watched_slot> records(1000);
  for (auto& each : records) {
    each.record.state = wire::watch_slot_state::apart;
    each.record.address = UINT64_MAX - (std::uint64_t{1} << 19);
    each.record.bytes = std::uint64_t{1} << 18;
  }
  for (const address_range slots : {address_range{1, 1}, address_range{UINT64_MAX - (1 << 20), UINT64_MAX}}) {
    ::alarm(60);
    find_unreachable(child, blocks, slots, records);
    ::alarm(0);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(leaks_witness, says_what_is_in_the_way) {
  const watcher::stale_block blocks[] = {{1, 4096, 64}};
  const auto said = find_unreachable(1 << 22, blocks, {1, 1});
  EXPECT_FALSE(said.info.obstacle.empty());
  EXPECT_TRUE(said.unreachable.empty());
}

}  // namespace
}  // namespace heapledger::leaks
