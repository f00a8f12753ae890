// The sheet a text report is written on: knows its width, whether it may use colour and other than ASCII characters,
// and keeps every line within the width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapledger::report {

struct text_style {
  std::size_t width = 100;
  bool colour = false;
  bool unicode = false;
};

// For what is written to `fd`: COLUMNS, else the terminal's width, else 100; colour on a terminal only, unless NO_COLOR
// is set or TERM is dumb; other than ASCII characters when the locale's are UTF-8.
text_style style_for(int fd);

// COLUMNS, else the width of the terminal behind `fd`, else what is given.
std::size_t width_for(int fd, std::size_t without_terminal);

class grid;

enum class tone { plain, bold, faint, alarm };

class page {
 public:
  page(std::string& out, const text_style& style) : out_(out), style_(style) {}

  std::size_t width() const { return style_.width; }
  bool unicode() const { return style_.unicode; }

  void blank() { out_ += '\n'; }
  void heading(std::string_view text);
  // One line, cut at the width, without trailing blanks.
  void line(std::string_view text, tone tone = tone::plain);
  // Its head and its lines, fitted to the width.
  void table(grid& rows);
  // What may be typed: whole, however long.
  void command(std::string_view text);
  // Words wrapped at the width, every line indented.
  void paragraph(std::string_view text, std::size_t indent, tone tone = tone::plain);
  // A label, and words wrapped beside it.
  void entry(std::string_view label, std::string_view text, tone tone = tone::plain);

 private:
  std::string& out_;
  text_style style_;
};

}  // namespace heapledger::report
