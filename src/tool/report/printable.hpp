// Text from a profile made safe for a terminal, and measured. Names in a profile are hostile: an escape sequence in a
// file name must not reach the terminal, nor may a text direction mark turn a line around.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapledger::report {

// Control characters, invalid UTF-8 and direction marks become visible escapes: \x1b, \u{202e}.
std::string terminal_text(std::string_view text);

// Columns of a terminal_text: Chinese, Japanese and Korean take two for each character, combining marks none.
std::size_t columns(std::string_view text);

// At most `width` columns; what is cut is marked with "...".
std::string cut_right(std::string_view text, std::size_t width);
std::string cut_left(std::string_view text, std::size_t width);

// Followed by blanks up to `width` columns.
std::string padded(std::string_view text, std::size_t width);

// As a word for a shell, safe for a terminal too: what would not be is written as $'\033', which bash, zsh and ksh
// know.
std::string shell_quoted(std::string_view word);
// A file's name as such a word, that no command takes for an option.
std::string shell_file(std::string_view name);

}  // namespace heapledger::report
