// Several profiles in one table.
#include <gtest/gtest.h>

#include "tool/report/process_table.hpp"

namespace heapledger::report {
namespace {

process_row row(const char* file, std::uint32_t pid, std::vector<std::string> command, std::int64_t peak_bytes,
                std::int64_t mapped_bytes, std::uint64_t allocations) {
  process_row result{.file = file, .process = {}, .totals = {}, .mapped_bytes = mapped_bytes};
  result.process.pid = pid;
  result.process.exe = command.empty() ? "/usr/bin/gone" : command[0];
  result.process.command = std::move(command);
  result.process.duration_ns = 1'500'000'000;
  result.process.ended = ending::exited;
  result.process.exit_code = 0;
  result.totals.peak_bytes = peak_bytes;
  result.totals.allocations = allocations;
  result.totals.allocated_bytes = allocations * 1024;
  result.totals.frees = allocations - 1;
  result.totals.freed_bytes = result.totals.allocated_bytes - 1024;
  return result;
}

std::vector<process_row> build() {
  auto rows = std::vector{row("make.hlp", 10, {"/usr/bin/make", "-j2"}, 1 << 20, 0, 2000),
                          row("cc1plus 11.hlp", 11, {"/usr/lib/cc1plus", "-o", "a b.o"}, 2 << 20, 32 << 20, 1'000'000),
                          row("ld.hlp", 12, {}, 8 << 20, 0, 500)};
  rows[1].process.ended = ending::signaled;
  rows[1].process.exit_code.reset();
  rows[1].process.signal = 9;
  rows[2].process.ended = ending::running;
  return rows;
}

TEST(report_process_table, the_biggest_first) {
  EXPECT_EQ(process_table(build(), {.by = {}, .top = 0, .style = {}}),
            R"(3 processes allocated 979.0 MiB in 1,002,500 allocations

  program             pid     peak    mapped     live  allocations     ran     ended
  cc1plus -o 'a b.o'   11  2.0 MiB  32.0 MiB  1.0 KiB    1,000,000  1.50 s  signal 9
  /usr/bin/gone        12  8.0 MiB       0 B  1.0 KiB          500  1.50 s   running
  make -j2             10  1.0 MiB       0 B  1.0 KiB        2,000  1.50 s    exit 0

Next
  heapledger report 'cc1plus 11.hlp'
      where the memory of the first of these was
)");
}

TEST(report_process_table, the_only_one_that_could_be_read) {
  const auto text = process_table({build()[0]}, {.by = {}, .top = 0, .style = {}});
  EXPECT_TRUE(text.starts_with("1 process allocated ")) << text;
}

TEST(report_process_table, by_a_measure_and_cut) {
  auto rows = build();
  rows[1].mapped_bytes = 0;
  const auto text = process_table(rows, {.by = analyse::measure::peak, .top = 1, .style = {}});
  EXPECT_EQ(text.find("mapped"), std::string::npos);
  EXPECT_NE(text.find("\n  /usr/bin/gone "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  and 2 more; --top 3 shows all\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("make"), std::string::npos) << text;
}

TEST(report_process_table, two_may_be_compared) {
  auto rows = build();
  rows.pop_back();
  EXPECT_NE(process_table(rows, {.by = {}, .top = 0, .style = {}}).find("heapledger diff 'cc1plus 11.hlp' make.hlp"),
            std::string::npos);
}

}  // namespace
}  // namespace heapledger::report
