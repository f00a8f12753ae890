// Gives every location of a profile its functions, files and lines, from the files on this machine.
//
// Reads files and nothing else: no network, no environment, no other process, unless options.debug.fetch does. A file
// is believed only when its build-id is the one that the profile recorded. A location that nothing is known about keeps
// no symbols, and is shown as module+0xoffset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"
#include "tool/symbolize/debug_places.hpp"

namespace heapledger {

struct symbolize_options {
  debug_places debug;
  std::function<void(std::size_t done, std::size_t total)> progress;  // in locations
};

enum class module_symbols {
  complete,        // debug information: functions, files, lines
  functions_only,  // a symbol table, no debug information
  exports_only,    // dynamic symbols only: most functions have no name
  nothing,         // the file is there, and holds no symbols
  changed,         // the file on disk is another build than the one that ran
  missing,         // no such file on this machine
  virtual_module   // [vdso] and the like: no file ever
};

struct symbolized_module {
  std::uint32_t module = none;  // index into profile::modules; one entry for all loads of the same build
  module_symbols symbols = module_symbols::nothing;
  std::size_t locations = 0;
  std::size_t named = 0;       // of these, locations with a function's name
  std::size_t with_lines = 0;  // of these, locations with file and line
  std::string advice;          // one line: what to do for better symbols; empty when nothing can be done or need be
};

struct symbolize_result {
  std::size_t locations = 0;
  std::size_t named = 0;
  std::size_t with_lines = 0;
  std::vector<symbolized_module> modules;  // those with locations, most locations first
};

// A location that already has symbols keeps them unless the files here know more.
symbolize_result symbolize(profile& target, const symbolize_options& options = {});

}  // namespace heapledger
