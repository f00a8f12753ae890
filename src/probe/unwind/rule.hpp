// A CFI row, compiled to four bytes: all that a walk step needs at one return address. Rows that do not fit are
// `complex` and are interpreted from the tables each time.
#pragma once

#include <cstdint>

namespace heapledger::probe {

enum class rule_kind : std::uint8_t {
  none,         // nothing known (also: an empty cache entry)
  from_rsp,     // CFA = rsp + offset
  from_rbp,     // CFA = rbp + offset
  through_rbp,  // CFA = *(rbp + offset): functions that realign their stack
  complex,      // expressions, signal frames, other registers
  end,          // the outermost frame: its return address is undefined
  unknown,      // no unwind information for this address
};

struct rule {
  rule_kind kind : 3 = rule_kind::none;
  bool rbp_saved : 1 = false;      // at CFA + rbp_offset, or for through_rbp at rbp + rbp_offset
  std::int32_t rbp_words : 8 = 0;  // offsets in words of eight bytes
  std::int32_t cfa_words : 20 = 0;

  std::int64_t rbp_offset() const { return std::int64_t{rbp_words} * 8; }
  std::int64_t cfa_offset() const { return std::int64_t{cfa_words} * 8; }
  bool plain() const { return kind == rule_kind::from_rsp || kind == rule_kind::from_rbp; }
};
static_assert(sizeof(rule) == 4);

// Compiles the rule in force at `pc`; `return_site` says that pc is a return address, so that the call before it
// counts. Takes no lock and does not allocate.
rule compile_rule(std::uint64_t pc, bool return_site);

}  // namespace heapledger::probe
