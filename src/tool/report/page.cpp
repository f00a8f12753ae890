#include "tool/report/page.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "tool/report/grid.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t narrowest = 80;
constexpr std::size_t widest = 160;  // longer lines are hard to read
constexpr std::size_t width_without_terminal = 100;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

const char* escape(tone tone) {
  switch (tone) {
    case tone::bold:
      return "\x1b[1m";
    case tone::faint:
      return "\x1b[2m";
    case tone::alarm:
      return "\x1b[1;31m";
    case tone::plain:
      break;
  }
  return "";
}

}  // namespace

std::size_t width_for(int fd, std::size_t without_terminal) {
  winsize size{};
  const int asked = std::atoi(std::string(environment("COLUMNS")).c_str());
  if (asked > 0) return static_cast<std::size_t>(asked);
  return isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : without_terminal;
}

text_style style_for(int fd) {
  text_style style;
  style.width = std::clamp(width_for(fd, width_without_terminal), narrowest, widest);
  style.colour = isatty(fd) == 1 && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  style.unicode = locale_is_utf8();
  return style;
}

void page::heading(std::string_view text) {
  blank();
  line(text, tone::bold);
}

void page::line(std::string_view text, tone tone) {
  std::string shown = cut_right(text, style_.width);
  shown.erase(shown.find_last_not_of(' ') + 1);
  if (style_.colour && tone != tone::plain && !shown.empty()) {
    out_ += escape(tone);
    out_ += shown;
    out_ += "\x1b[0m";
  } else {
    out_ += shown;
  }
  out_ += '\n';
}

void page::table(grid& rows) {
  rows.fit(style_.width);
  line(rows.head(), tone::faint);
  for (std::size_t i = 0; i < rows.size(); ++i) line(rows.line(i));
}

void page::command(std::string_view text) {
  out_ += "  ";
  out_ += text;
  out_ += '\n';
}

void page::paragraph(std::string_view text, std::size_t indent, tone tone) {
  entry(std::string(indent, ' '), text, tone);
}

void page::entry(std::string_view label, std::string_view text, tone tone) {
  const std::size_t indent = columns(label);
  std::string current(label);
  bool has_words = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (has_words && columns(current) + 1 + columns(word) > style_.width) {
      line(current, tone);
      current.assign(indent, ' ');
      has_words = false;
    }
    if (has_words) current += ' ';
    current += word;
    has_words = true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  line(current, tone);
}

}  // namespace heapledger::report
