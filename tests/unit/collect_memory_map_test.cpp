#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include "segment_builder.hpp"
#include "tool/collect/memory_map.hpp"
#include "tool/collect/process.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

std::string mapping_text(std::string_view range, std::string_view rights, std::string_view device, std::uint64_t inode,
                         std::string_view name, int rss_kib, std::string_view flags = "rd wr mr mw me ac sd") {
  return fmt::format("{} {} 00000000 {} {}      {}\nSize:      4096 kB\nRss:     {} kB\nPss:    1 kB\nVmFlags: {}\n",
                     range, rights, device, inode, name, rss_kib, flags);
}

class memory_map_test : public ::testing::Test {
 protected:
  memory_file file_{segment_builder().bytes()};
  segment_file segment_{file_.path()};

  resident_parts sorted(const std::string& smaps, const std::vector<std::uint64_t>& stack_pointers = {}) {
    return sort_mappings(smaps, segment_, stack_pointers);
  }
};

TEST_F(memory_map_test, every_mapping_goes_to_one_part) {
  const auto device = fmt::format("{:02x}:{:02x}", major(segment_.device()), minor(segment_.device()));
  const auto parts = sorted(
      mapping_text("400000-401000", "r-xp", "08:01", 5, "/usr/bin/program with spaces", 1) +
      mapping_text("500000-501000", "rw-p", "00:00", 0, "[heap]", 2) +
      mapping_text("7f0000000000-7f0000100000", "rw-p", "00:00", 0, "", 4) +
      mapping_text("7f0000200000-7f0000300000", "rw-p", "00:00", 0, "[anon:heapledger stacks]", 8) +
      mapping_text("7f0000300000-7f0000301000", "rw-s", device, segment_.inode(), "/dev/shm/x/1-0.hls (deleted)", 16) +
      mapping_text("7f0000400000-7f0000401000", "r-xp", "08:01", 6, "/opt/lib/heapledger/libheapledger.so", 32) +
      mapping_text("7f0000500000-7f0000501000", "rw-s", "00:01", 0, "", 64) +
      mapping_text("7f0000600000-7f0000601000", "r-xp", "00:00", 0, "[vdso]", 128) +
      mapping_text("7ffc00000000-7ffc00100000", "rw-p", "00:00", 0, "[stack]", 256));
  EXPECT_EQ(parts.files, 1 << 10);
  EXPECT_EQ(parts.heap, (2 + 4) << 10);
  EXPECT_EQ(parts.probe_memory, 8 << 10);
  EXPECT_EQ(parts.segment, 16 << 10);
  EXPECT_EQ(parts.probe_library, 32 << 10);
  EXPECT_EQ(parts.other, (64 + 128) << 10);
  EXPECT_EQ(parts.stacks, 256 << 10);
  EXPECT_EQ(parts.rss, 511 << 10);
  EXPECT_TRUE(parts.has_segment);
}

TEST_F(memory_map_test, where_the_kernel_names_no_memory_the_probes_own_is_known_by_its_flags) {
  const std::string unnamed =
      mapping_text("7f0000000000-7f0000001000", "rw-p", "00:00", 0, "", 1, "rd wr mr mw me nr sd") +
      mapping_text("7f0000001000-7f0000002000", "rw-p", "00:00", 0, "", 2, "rd wr mr mw me dd sd") +
      mapping_text("7f0000002000-7f0000003000", "rw-p", "00:00", 0, "", 4, "rd wr mr mw me ac nr dd") +
      mapping_text("7f0000003000-7f0000004000", "rw-p", "00:00", 0, "[anon:cage]", 8, "rd wr mr mw me ac nr dd");
  EXPECT_EQ(sorted(unnamed).probe_memory, 4 << 10);
  EXPECT_EQ(sorted(unnamed).heap, (1 + 2 + 8) << 10);
  const auto parts =
      sorted(unnamed + mapping_text("7f0000200000-7f0000300000", "rw-p", "00:00", 0, "[anon:heapledger]", 16));
  EXPECT_EQ(parts.probe_memory, 16 << 10);
  EXPECT_EQ(parts.heap, 15 << 10);
}

TEST_F(memory_map_test, thread_stacks_are_known_by_guard_and_flag_or_by_their_stack_pointer) {
  const std::string flagged = mapping_text("7f0000001000-7f0000801000", "rw-p", "00:00", 0, "", 8, "rd wr nh");
  const auto below = [](const char* range) { return mapping_text(range, "---p", "00:00", 0, "", 0); };
  EXPECT_EQ(sorted(below("7f0000000000-7f0000001000") + flagged).stacks, 8 << 10);
  EXPECT_EQ(sorted(below("7effffffe000-7f0000000000") + flagged).stacks, 0) << "not next to it";
  EXPECT_EQ(sorted(below("7effffff0000-7f0000001000") + flagged).stacks, 0) << "too large for a guard";
  const std::string plain = mapping_text("7f0000001000-7f0000801000", "rw-p", "00:00", 0, "", 8);
  EXPECT_EQ(sorted(plain).stacks, 0);
  EXPECT_EQ(sorted(plain, {0x7f0000700000}).stacks, 8 << 10);
  EXPECT_EQ(sorted(plain, {0x7f0000801000}).stacks, 0);
}

TEST_F(memory_map_test, the_parts_add_up_to_the_resident_memory) {
  resident_parts parts{.rss = 1000,
                       .heap = 600,
                       .stacks = 100,
                       .files = 200,
                       .segment = 30,
                       .probe_memory = 20,
                       .probe_library = 10,
                       .other = 40,
                       .written_file_pages = 0,
                       .written_library_pages = 0,
                       .has_segment = true};
  wire::segment_header header{};
  header.tag_bytes_each = 8;
  header.large_blocks = 1;
  const quick_totals totals{.allocations = 10, .frees = 5, .allocated_bytes = 700, .freed_bytes = 300};
  const auto map = to_memory_map(parts, header, totals, 5);
  EXPECT_EQ(map.tag_bytes, 32);
  EXPECT_EQ(map.profiler_bytes, 60);
  EXPECT_EQ(map.allocator_bytes, 600 - 400 - 32);
  EXPECT_EQ(map.live_bytes + map.tag_bytes + map.profiler_bytes + map.allocator_bytes + map.file_bytes +
                map.stack_bytes + map.other_bytes,
            map.rss_bytes);
}

constexpr std::uint64_t nothing_mapped[wire::mapping_kind_count] = {};

TEST_F(memory_map_test, totals_bring_the_parts_up_to_date) {
  const resident_parts before{.rss = 1000,
                              .heap = 300,
                              .stacks = 100,
                              .files = 400,
                              .segment = 60,
                              .probe_memory = 40,
                              .probe_library = 90,
                              .other = 10,
                              .written_file_pages = 50,
                              .written_library_pages = 20,
                              .has_segment = true};
  const auto sum = [](const resident_parts& p) {
    return p.heap + p.stacks + p.files + p.segment + p.probe_memory + p.probe_library + p.other;
  };
  const resident_totals same{.rss = 1000, .anonymous = 510, .file = 420, .shared_memory = 70};
  const auto unchanged = brought_up_to(same, before, 60, nothing_mapped);
  EXPECT_EQ(unchanged.heap, before.heap);
  EXPECT_EQ(unchanged.files, before.files);
  EXPECT_EQ(unchanged.other, before.other);
  const resident_totals grown{.rss = 5000, .anonymous = 4510, .file = 410, .shared_memory = 80};
  const auto now = brought_up_to(grown, before, 70, nothing_mapped);
  EXPECT_EQ(now.heap, 4300);
  EXPECT_EQ(now.files, 390);
  EXPECT_EQ(now.segment, 70);
  EXPECT_EQ(sum(now), 5000);
  const resident_totals on_disk{.rss = 1000, .anonymous = 510, .file = 490, .shared_memory = 0};
  const auto disk = brought_up_to(on_disk, before, 60, nothing_mapped);
  EXPECT_EQ(disk.segment, 60);
  EXPECT_EQ(sum(disk), 1000);
}

TEST_F(memory_map_test, of_what_was_mapped_no_more_is_left_than_is_mapped) {
  const resident_parts before{.rss = 1000, .heap = 200, .files = 50, .mapped = {600, 100, 50}, .has_segment = true};
  const resident_totals same{.rss = 1000, .anonymous = 800, .file = 150, .shared_memory = 50};
  const std::uint64_t all[] = {10000, 10000, 10000};
  const auto unchanged = brought_up_to(same, before, 0, all);
  EXPECT_EQ(unchanged.heap, 200);
  EXPECT_EQ(unchanged.files, 50);
  EXPECT_EQ(unchanged.other, 0);
  const resident_totals less{.rss = 400, .anonymous = 250, .file = 150, .shared_memory = 0};
  const std::uint64_t some[] = {40, UINT64_MAX, 0};
  const auto now = brought_up_to(less, before, 0, some);
  EXPECT_EQ(now.heap, 210);
  EXPECT_EQ(now.mapped[0], 40);
  EXPECT_EQ(now.mapped[1], 100);
  EXPECT_EQ(now.files, 50);
  EXPECT_EQ(now.other, 0);
}

TEST_F(memory_map_test, what_the_program_mapped_is_told_apart) {
  resident_pages nowhere(0);
  mapped_by_program mapped{{{0x7f0000000000, 0x7f0000100000, 1}, {0x7f0000500000, 0x7f0000501000, 3}}, &nowhere, {}};
  mapped.residency.resize(4);
  const auto parts = sort_mappings(mapping_text("7f0000000000-7f0000100000", "rw-p", "00:00", 0, "", 4) +
                                       mapping_text("7f0000200000-7f0000300000", "rw-p", "00:00", 0, "", 8) +
                                       mapping_text("7f0000500000-7f0000501000", "rw-s", "00:01", 0, "", 16),
                                   segment_, {}, &mapped);
  EXPECT_EQ(parts.heap, 8 << 10);
  EXPECT_EQ(parts.other, 0);
  EXPECT_EQ(parts.mapped[static_cast<std::size_t>(wire::mapping_kind::anonymous)], 4 << 10);
  EXPECT_EQ(parts.mapped[static_cast<std::size_t>(wire::mapping_kind::shared)], 16 << 10);
  EXPECT_EQ(parts.rss, 28 << 10);
  EXPECT_EQ(mapped.residency[1].now, 4 << 10);
  EXPECT_EQ(mapped.residency[3].now, 16 << 10);
}

// A file to the program, and RssShmem to the kernel.
TEST_F(memory_map_test, a_memory_file_is_shared_memory) {
  resident_pages nowhere(0);
  mapped_by_program mapped{{{0x7f0000000000, 0x7f0000100000, 0}}, &nowhere, {}};
  mapped.residency.resize(1);
  const auto before =
      sort_mappings(mapping_text("7f0000000000-7f0000100000", "rw-s", "00:01", 9, "/memfd:jit (deleted)", 4) +
                        mapping_text("7f0000200000-7f0000300000", "rw-s", "00:01", 7, "/memfd:other (deleted)", 8) +
                        mapping_text("7f0000400000-7f0000401000", "r--p", "08:01", 6, "/usr/bin/program", 16),
                    segment_, {}, &mapped);
  EXPECT_EQ(before.mapped[static_cast<std::size_t>(wire::mapping_kind::shared)], 4 << 10);
  EXPECT_EQ(std::pair(before.other, before.files), std::pair(8L << 10, 16L << 10));
  const resident_totals same{.rss = 28 << 10, .anonymous = 0, .file = 16 << 10, .shared_memory = 12 << 10};
  const auto now = brought_up_to(same, before, 0, {0, 1 << 20, 0});
  EXPECT_EQ(std::pair(now.other, now.files), std::pair(8L << 10, 16L << 10));
}

// Two ranges of 32 pages each, of which the kernel makes one mapping.
class neighbours {
 public:
  static constexpr std::size_t page = 4096;
  neighbours()
      : memory(static_cast<char*>(
            ::mmap(nullptr, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    ::madvise(const_cast<char*>(memory), 64 * page, MADV_NOHUGEPAGE);
    mapped.residency.resize(2);
  }
  ~neighbours() { ::munmap(const_cast<char*>(memory), 64 * page); }
  neighbours(const neighbours&) = delete;
  neighbours& operator=(const neighbours&) = delete;

  void write(std::initializer_list<std::size_t> which) {
    for (const auto at : which) memory[at * page] = 1;
  }
  void write(std::size_t from, std::size_t to) {
    for (auto at = from; at < to; ++at) write({at});
  }
  std::int64_t resident(std::size_t from, std::size_t to) {
    return pages.bytes_in(start() + from * page, start() + to * page).value().resident;
  }
  std::uint64_t start() const { return reinterpret_cast<std::uint64_t>(memory); }

  volatile char* const memory;
  resident_pages pages{::getpid()};
  mapped_by_program mapped{
      {{start(), start() + 32 * page, 0}, {start() + 32 * page, start() + 64 * page, 1}}, &pages, {}};
};

std::string own_smaps() {
  return read_proc_file("/proc/self/smaps", 16 << 20);
}

TEST_F(memory_map_test, pages_tell_ranges_of_one_mapping_apart) {
  neighbours two;
  two.write({0, 1, 2, 32, 40});
  EXPECT_EQ(two.resident(0, 64), 5 * two.page);
  EXPECT_EQ(two.resident(2, 40), 2 * two.page);
  sort_mappings(own_smaps(), segment_, {}, &two.mapped);
  EXPECT_EQ(two.mapped.residency[0].now, 3 * two.page);
  EXPECT_EQ(two.mapped.residency[1].now, 2 * two.page);
  EXPECT_FALSE(two.pages.bytes_in(0, std::uint64_t{1} << 47)) << "takes too long";
}

std::size_t own_anonymous_bytes() {
  const auto text = read_proc_file("/proc/self/smaps_rollup", 1 << 16);
  return std::stoul(text.substr(text.find("\nAnonymous:") + std::strlen("\nAnonymous:"))) << 10;
}

// The kernel shows the one page of zeros there, in every process.
TEST_F(memory_map_test, pages_that_were_only_read_are_not_resident) {
  neighbours two;
  const auto before = own_anonymous_bytes();
  for (std::size_t at = 0; at < 32; ++at) EXPECT_EQ(two.memory[at * two.page], 0);
  if (own_anonymous_bytes() >= before + 32 * two.page)
    GTEST_SKIP() << "this kernel gives each page that is read memory of its own, as with pvm_no_zero_page=1";
  two.write(32, 64);
  sort_mappings(own_smaps(), segment_, {}, &two.mapped);
  EXPECT_EQ(two.mapped.residency[0].now, 0);
  EXPECT_EQ(two.mapped.residency[1].now, 32 * two.page);
}

TEST_F(memory_map_test, pages_that_came_since_smaps_was_read_make_no_number_impossible) {
  neighbours two;
  two.write({0});
  const auto smaps = own_smaps();
  two.write(0, 64);
  sort_mappings(smaps, segment_, {}, &two.mapped);
  EXPECT_EQ(two.mapped.residency[0].now, two.page / 2);
  EXPECT_EQ(two.mapped.residency[1].now, two.page / 2);
}

TEST_F(memory_map_test, reads_what_this_kernel_writes) {
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file_.fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(*static_cast<volatile char*>(mapped), 'H');
  const auto parts = sorted(read_proc_file("/proc/self/smaps", 16 << 20));
  ::munmap(mapped, 4096);
  EXPECT_TRUE(parts.has_segment);
  EXPECT_GT(parts.files, 0);
  EXPECT_GT(parts.heap, 0);
  EXPECT_GT(parts.stacks, 0);
  EXPECT_GT(resident_totals_of(::getpid())->anonymous, 0);
  EXPECT_EQ(parts.rss, parts.heap + parts.stacks + parts.files + parts.segment + parts.probe_library +
                           parts.probe_memory + parts.other);
}

// Which is how newer versions of glibc guard the stacks of threads.
TEST_F(memory_map_test, stacks_that_begin_with_a_guard_of_no_mapping_are_known) {
  utsname kernel{};
  int major_number = 0, minor_number = 0;
  ASSERT_EQ(::uname(&kernel), 0);
  ASSERT_EQ(std::sscanf(kernel.release, "%d.%d", &major_number, &minor_number), 2);
  if (std::pair(major_number, minor_number) < std::pair(6, 15)) GTEST_SKIP() << "this kernel tells of no guards";
  constexpr std::size_t bytes = 1 << 20, page = 4096;
  constexpr int install_guard = 102;
  void* const stack =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  ASSERT_NE(stack, MAP_FAILED);
  const auto start = reinterpret_cast<std::uint64_t>(stack);
  const auto known = [&] {
    const auto found = guarded_stacks_of(::getpid(), read_proc_file("/proc/self/smaps", 16 << 20));
    return std::count(found.begin(), found.end(), start) == 1;
  };
  EXPECT_FALSE(known());
  EXPECT_EQ(::madvise(stack, page, install_guard), 0);
  EXPECT_TRUE(known());
  ::munmap(stack, bytes);
}

TEST_F(memory_map_test, torn_text_is_harmless) {
  for (const char* text : {"", "\n", "7f", "7f0000000000-7f0000001000", "1-0 rw-p 0 0:0 0\nRss: 5 kB\n",
                           "0-1 rw-p 0 0:0 0\nRss: 99999999999999999999 kB\n", "0-1 rw-p 0 0:0 0\nRss:\n"})
    EXPECT_EQ(sorted(text).rss, 0) << text;
}

}  // namespace
}  // namespace heapledger::collect
