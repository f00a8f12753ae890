#include <gtest/gtest.h>
#include <wchar.h>
#include <wctype.h>

#include <clocale>

#include "tool/report/code_width.hpp"
#include "tool/report/command_text.hpp"
#include "tool/report/marker_table.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

TEST(command_text, is_what_a_shell_takes_and_no_padding) {
  EXPECT_EQ(command_text({"sh", "-c", "a b", ""}, "/bin/sh"), "sh -c 'a b' ''");
  EXPECT_EQ(command_text({"postgres: walwriter ", "", "", "", ""}, "/usr/bin/postgres"), "'postgres: walwriter '");
  EXPECT_EQ(command_text({}, "/bin/x"), "/bin/x");
  EXPECT_EQ(command_text({}, ""), "(a program without a name)");
}

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

TEST(printable, wide_characters_take_two_columns) {
  EXPECT_EQ(columns("\u8a18\u61b6"), 4U);
  EXPECT_EQ(columns("e\u0301"), 1U);
  EXPECT_EQ(cut_right("\u8a18\u61b6\u9818\u57df", 7), "\u8a18\u61b6...");
  EXPECT_EQ(cut_right("\u8a18\u61b6\u9818\u57df", 6), "\u8a18...");  // half a character is none
  EXPECT_EQ(cut_left("\u8a18\u61b6\u9818\u57df", 6), "...\u57df");
  EXPECT_EQ(cut_left("abcde\u0301fgh", 6), "...fgh");
  EXPECT_EQ(padded("\u8a18", 4), "\u8a18  ");
  EXPECT_EQ(columns("\xe8\xa8"), 1U);
}

// The C library's table is another one. Its newer versions differ in single signs; letters do not change.
TEST(printable, widths_are_those_of_the_c_library) {
  const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(utf8, nullptr);
  const locale_t before = uselocale(utf8);
  std::size_t compared = 0;
  for (wchar_t c = 0x20; c < 0x2fa1e; ++c) {
    if (iswalpha(c) == 0 || wcwidth(c) < 0) continue;
    const bool is_mark =
        c >= 0x1160 && c <= 0x11ff;  // the inner letters of Hangul, which join in a terminal of theirs only
    if (is_mark || wcwidth(c) == 0) continue;
    EXPECT_EQ(code_width(static_cast<std::uint32_t>(c)), static_cast<std::size_t>(wcwidth(c)))
        << static_cast<std::uint32_t>(c);
    ++compared;
  }
  for (wchar_t c = 0x300; c <= 0x36f; ++c) EXPECT_EQ(code_width(static_cast<std::uint32_t>(c)), 0U);
  uselocale(before);
  freelocale(utf8);
  EXPECT_GT(compared, 100'000U);
}

TEST(marker_line, names_stand_below_their_moments) {
  profile p;
  p.process.duration_ns = 1000;
  const auto mark = [&](std::int64_t at, const char* name) {
    p.markers.push_back({.name = name, .time_ns = at, .live_bytes = 0, .live_blocks = 0, .snapshot = {}});
  };
  EXPECT_EQ(marker_line(p, 40, false), "");
  mark(0, "start");
  mark(250, "a long name of a moment");
  mark(500, "x");
  mark(510, "on top of x");
  mark(1000, "end");
  EXPECT_EQ(marker_line(p, 40, false), "^start    ^a lon... ^               end^");
  EXPECT_EQ(marker_line(p, 0, false), "");
  p.process.duration_ns = 0;
  EXPECT_EQ(marker_line(p, 40, false), "");
}

TEST(printable, quotes_for_a_shell) {
  EXPECT_EQ(shell_quoted("a/b-c.hlp"), "a/b-c.hlp");
  EXPECT_EQ(shell_quoted("my file"), "'my file'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("x~1.hlp"), "x~1.hlp");
  EXPECT_EQ(shell_quoted("~x"), "'~x'");
  EXPECT_EQ(shell_quoted("a\n\x1b[31m'\\\xff"), R"($'a\012\033[31m\'\\\377')");
  EXPECT_EQ(shell_quoted("\u202ex"), R"($'\342\200\256x')");
  EXPECT_EQ(shell_quoted("\u00e4"), "'\u00e4'");
  EXPECT_EQ(shell_file("-x.hlp"), "./-x.hlp");
  EXPECT_EQ(shell_file("a/-x.hlp"), "a/-x.hlp");
}

}  // namespace
}  // namespace heapledger::report
