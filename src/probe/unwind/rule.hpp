// A CFI row, compiled to four bytes: all that a walk step needs at one return address. Rows that do not fit are
// `complex` and are interpreted from the tables each time.
#pragma once

#include <cstdint>

namespace heapledger::probe {

enum class rule_kind : std::uint8_t {
  none,          // nothing known (also: an empty cache entry)
  from_rsp,      // CFA = rsp + offset, at least 8 and at most unchecked_frame_bytes
  from_rbp,      // CFA = rbp + offset
  far_from_rsp,  // CFA = rsp + offset
  through_rbp,   // CFA = *(rbp + offset): functions that realign their stack
  complex,       // expressions, signal frames, other registers
  end,           // the outermost frame: its return address is undefined
  unknown,       // no unwind information for this address
};

// Frames beyond this distance are looked at before they are read: rbp may hold anything in code whose unwind
// information is wrong.
inline constexpr std::uint64_t unchecked_frame_bytes = 16 * 1024;

class rule {
 public:
  constexpr rule() = default;
  constexpr explicit rule(std::uint32_t bits) : bits_(bits) {}
  // Where the CFA is, and where rbp is saved, in words of eight bytes: rbp from the CFA, 0 if it is not saved. For
  // through_rbp both are from rbp, and rbp is always saved.
  constexpr rule(rule_kind kind, std::int64_t cfa_words = 0, std::int64_t rbp_words = 0)
      : bits_(static_cast<std::uint32_t>(cfa_words << 16 | (rbp_words << 3 & rbp_mask) |
                                         static_cast<std::int64_t>(kind))) {}
  static constexpr std::int64_t cfa_words_limit = 1 << 15, rbp_words_limit = 1 << 12;

  constexpr std::uint32_t bits() const { return bits_; }
  constexpr rule_kind kind() const { return static_cast<rule_kind>(bits_ & 7); }
  constexpr std::int64_t cfa_offset() const { return std::int64_t{static_cast<std::int32_t>(bits_) >> 16} * 8; }
  constexpr std::int16_t rbp_offset() const { return static_cast<std::int16_t>(bits_ & rbp_mask); }
  bool rbp_saved() const { return rbp_offset() != 0 || kind() == rule_kind::through_rbp; }

 private:
  static constexpr std::int64_t rbp_mask = 0xfff8;  // words times eight, as they stand
  std::uint32_t bits_ = 0;
};
static_assert(sizeof(rule) == 4);
static_assert(rule(rule_kind::from_rbp, 2, -2).rbp_offset() == -16 &&
              rule(rule_kind::from_rbp, -2, -2).cfa_offset() == -16);

// Of code that keeps frame pointers, after its first instructions.
inline constexpr rule frame_pointer_rule(rule_kind::from_rbp, 2, -2);

// Whether the bytes before an address are those of a call: relative, or by a register or memory.
bool follows_call(std::uint64_t address);

// Compiles the rule in force at `pc`; `return_site` says that pc is a return address, so that the call before it
// counts. Takes no lock and does not allocate.
rule compile_rule(std::uint64_t pc, bool return_site);

}  // namespace heapledger::probe
