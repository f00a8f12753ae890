// A profile for other tools. Each format is one file here; all go through this table. Text from a profile is hostile:
// every format writes it as report::terminal_text (valid UTF-8, no control characters), and escapes what it must.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/analyse/measure.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::exports {

// Takes a file piece by piece: a profile of a hundred thousand stacks needs no copy of it in memory.
using sink = std::function<void(std::string_view)>;

// Sentences about what the written file says otherwise than the profile; empty where it says the same.
using notes = std::vector<std::string>;

struct format {
  std::string_view name;
  std::string_view file_ending;
  bool binary = false;         // not for a terminal
  bool takes_measure = false;  // says something else for another --by
  notes (*write)(const profile& p, std::optional<analyse::measure> by, const sink& out) = nullptr;
};

std::span<const format> formats();
const format* find_format(std::string_view name);

notes write_csv(const profile& p, std::optional<analyse::measure> by, const sink& out);
notes write_dhat(const profile& p, std::optional<analyse::measure> by, const sink& out);
notes write_folded(const profile& p, std::optional<analyse::measure> by, const sink& out);
notes write_hlp(const profile& p, std::optional<analyse::measure> by, const sink& out);
notes write_heaptrack(const profile& p, std::optional<analyse::measure> by, const sink& out);
notes write_massif(const profile& p, std::optional<analyse::measure> by, const sink& out);
notes write_pprof(const profile& p, std::optional<analyse::measure> by, const sink& out);
notes write_speedscope(const profile& p, std::optional<analyse::measure> by, const sink& out);

}  // namespace heapledger::exports
