#include <gtest/gtest.h>

#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

TEST(units, bytes) {
  EXPECT_EQ(bytes_text(std::int64_t{0}), "0 B");
  EXPECT_EQ(bytes_text(std::int64_t{1023}), "1023 B");
  EXPECT_EQ(bytes_text(std::int64_t{1024}), "1.0 KiB");
  EXPECT_EQ(bytes_text(std::int64_t{1024 * 1024 - 1}), "1.0 MiB");  // never "1024.0 KiB"
  EXPECT_EQ(bytes_text(std::int64_t{1024 * 1023 + 900}), "1023.9 KiB");
  EXPECT_EQ(bytes_text(std::int64_t{-1536}), "-1.5 KiB");
  EXPECT_EQ(bytes_text(std::int64_t{INT64_MIN}), "-8.0 EiB");
  EXPECT_EQ(bytes_text(std::int64_t{INT64_MAX}), "8.0 EiB");
}

TEST(units, counts) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(UINT64_MAX), "18,446,744,073,709,551,615");
  EXPECT_EQ(signed_count_text(-1000), "-1,000");
  EXPECT_EQ(signed_count_text(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(counted(1, "block", "blocks"), "1 block");
  EXPECT_EQ(counted(0, "block", "blocks"), "0 blocks");
}

TEST(units, shares_and_times) {
  EXPECT_EQ(percent_text(1, 3), " 33.3 %");
  EXPECT_EQ(percent_text(1, 1), "100.0 %");
  EXPECT_EQ(percent_text(0, 0), "  0.0 %");
  EXPECT_EQ(seconds_text(1'500'000), "1.50 ms");
  EXPECT_EQ(seconds_text(10'000'000), "0.01 s");
  EXPECT_EQ(seconds_text(59'990'000'000), "59.99 s");
  EXPECT_EQ(seconds_text(61'000'000'000), "1 min 01 s");
  EXPECT_EQ(seconds_text(7'260'000'000'000), "2 h 01 min");
  EXPECT_EQ(seconds_text(-5), "0.00 ms");
}

TEST(printable, nothing_drives_the_terminal) {
  EXPECT_EQ(terminal_text("plain \u00e4 \u20ac \U0001F600"), "plain \u00e4 \u20ac \U0001F600");
  EXPECT_EQ(terminal_text("\x1b[31m\a\n\t\x7f"), "\\x1b[31m\\x07\\x0a\\x09\\x7f");
  EXPECT_EQ(terminal_text("\u009b31m"), "\\x9b31m");  // the one-character CSI
  EXPECT_EQ(terminal_text("a\u202eb\u2028"), "a\\u{202e}b\\u{2028}");
  EXPECT_EQ(terminal_text("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(terminal_text("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(terminal_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(terminal_text(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(printable, cuts_between_characters) {
  EXPECT_EQ(columns("\u00e4\u00f6\u00fc"), 3U);
  EXPECT_EQ(cut_right("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 5), "\u00e4\u00f6...");
  EXPECT_EQ(cut_left("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 5), "...\u00f6\u00fc");
  EXPECT_EQ(cut_right("abc", 3), "abc");
  EXPECT_EQ(cut_right("abcd", 3), "...");
  EXPECT_EQ(cut_left("abcd", 2), "..");
  EXPECT_EQ(padded("\u00e4", 3), "\u00e4  ");
}

TEST(printable, quotes_for_a_shell) {
  EXPECT_EQ(shell_quoted("a/b-c.hlp"), "a/b-c.hlp");
  EXPECT_EQ(shell_quoted("my file"), "'my file'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace heapledger::report
