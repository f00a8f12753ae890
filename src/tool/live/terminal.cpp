#include "tool/live/terminal.hpp"

#define NCURSES_NOMACROS  // erase, refresh and timeout are functions
#include <curses.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

namespace heapledger::live {
namespace {

using clock = std::chrono::steady_clock;

constexpr short heading_colour = 1;
constexpr short growing_colour = 2;
constexpr int names_pause_ms = 200;  // while names are being looked up

class curses_screen {
 public:
  explicit curses_screen(SCREEN* made) : made_(made) {
    ::set_term(made_);
    ::cbreak();
    ::noecho();
    ::nonl();
    ::keypad(stdscr, TRUE);
    ::set_escdelay(25);
    ::curs_set(0);
    if (std::getenv("NO_COLOR") == nullptr && ::has_colors()) {
      ::start_color();
      ::use_default_colors();
      ::init_pair(heading_colour, COLOR_BLACK, COLOR_GREEN);
      ::init_pair(growing_colour, COLOR_CYAN, -1);
    }
  }
  ~curses_screen() {
    ::endwin();
    ::delscreen(made_);
  }
  curses_screen(const curses_screen&) = delete;
  curses_screen& operator=(const curses_screen&) = delete;

 private:
  SCREEN* made_;
};

attr_t attributes(look how) {
  switch (how) {
    case look::plain:
      return A_NORMAL;
    case look::bold:
      return A_BOLD;
    case look::faint:
      return A_DIM;
    case look::heading:
      return ::has_colors() ? static_cast<attr_t>(COLOR_PAIR(heading_colour)) : A_REVERSE;
    case look::selected:
      return A_REVERSE;
    case look::growing:
      return ::has_colors() ? static_cast<attr_t>(COLOR_PAIR(growing_colour)) : A_NORMAL;
  }
  return A_NORMAL;
}

void put(const std::vector<screen_line>& lines) {
  ::erase();
  for (int y = 0; y < static_cast<int>(lines.size()) && y < LINES; ++y) {
    const auto& line = lines[static_cast<std::size_t>(y)];
    const attr_t how = attributes(line.how);
    if (line.how == look::heading || line.how == look::selected) {  // the whole bar
      ::attrset(how);
      ::mvhline(y, 0, ' ', COLS);
    }
    ::attrset(how);
    ::mvaddnstr(y, 0, line.text.c_str(), static_cast<int>(line.text.size()));
  }
  ::refresh();
}

std::optional<key> key_of(int code) {
  switch (code) {
    case KEY_UP:
      return key::up;
    case KEY_DOWN:
      return key::down;
    case KEY_PPAGE:
      return key::page_up;
    case KEY_NPAGE:
      return key::page_down;
    case KEY_HOME:
      return key::home;
    case KEY_END:
      return key::end;
    case KEY_LEFT:
      return key::left;
    case KEY_RIGHT:
      return key::right;
    case KEY_ENTER:
    case '\r':
    case '\n':
      return key::enter;
    case '\t':
      return key::tab;
    case 27:
      return key::escape;
    case KEY_BACKSPACE:
    case 127:
    case 8:
      return key::erase;
    default:
      return {};
  }
}

// False: leave.
bool serve(screen& view, int code) {
  if (const auto known = key_of(code)) return view.press(*known);
  if (code >= ' ' && code <= 255) return view.type(static_cast<char>(code));
  return true;  // a resize, a mouse: drawn anew
}

}  // namespace

bool run_on_terminal(screen& view, std::uint32_t interval_ms, std::uint32_t count, const symbol_names& names) {
  std::setlocale(LC_CTYPE, "");
  SCREEN* made = ::newterm(nullptr, stdout, stdin);
  if (made == nullptr) return false;
  const curses_screen running(made);
  const auto interval = std::chrono::milliseconds(interval_ms);
  auto due = clock::now() + interval;
  std::uint32_t taken = 1;
  for (;;) {
    put(view.draw(static_cast<std::size_t>(std::max(LINES, 1)), static_cast<std::size_t>(std::max(COLS, 1))));
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - clock::now()).count();
    int wait_ms = static_cast<int>(std::clamp<long>(left, 0, 3'600'000));
    if (names.is_busy()) wait_ms = std::min(wait_ms, names_pause_ms);
    ::timeout(wait_ms);
    const auto asked = clock::now();
    const int code = ::getch();
    if (code == ERR && wait_ms > names_pause_ms / 2 && clock::now() - asked < std::chrono::milliseconds(2))
      std::this_thread::sleep_for(std::chrono::milliseconds(names_pause_ms / 2));  // nobody types there any more
    if (code != ERR && !serve(view, code)) return true;
    if (clock::now() < due) continue;
    if (count != 0 && taken >= count) return true;
    if (!view.has_ended()) view.take();
    ++taken;
    due = std::max(due + interval, clock::now());
  }
}

}  // namespace heapledger::live
