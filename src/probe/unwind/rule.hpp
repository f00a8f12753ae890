// A CFI row, compiled to eight bytes: all that a walk step needs at one return address. Rows that do not fit are
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
  rule_kind kind = rule_kind::none;
  bool rbp_saved = false;  // at CFA + rbp_offset, or for through_rbp at rbp + rbp_offset
  std::int16_t rbp_offset = 0;
  std::int32_t cfa_offset = 0;

  // Does the step use the value that rbp has in the callee's frame? If not, two states that differ in rbp alone walk
  // the same way.
  bool needs_rbp() const { return kind != rule_kind::from_rsp || !rbp_saved; }
};
static_assert(sizeof(rule) == 8);

// Compiles the rule in force at `pc`; `return_site` says that pc is a return address, so that the call before it
// counts. Takes no lock and does not allocate.
rule compile_rule(std::uint64_t pc, bool return_site);

}  // namespace heapledger::probe
