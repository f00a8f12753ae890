// The one exception for everything that a user can put right: a file that cannot be read or written, a damaged
// profile, a wrong value. what() is one printable line: "WHERE: WHAT; WHAT TO DO". Commands print it to standard
// error after "heapledger: " and exit with cli::exit_failure.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace heapledger {

// Control characters, invalid UTF-8 and direction marks become visible escapes, \x1b and \u{202e}: a hostile name can
// neither break a line nor drive a terminal or turn a line around.
std::string printable(std::string_view text);

class input_error : public std::runtime_error {
 public:
  explicit input_error(std::string_view message);
  input_error(std::string_view where, std::string_view what, std::string_view what_to_do = {});
};

}  // namespace heapledger
