#include "probe/unwind/rule.hpp"

#include <dlfcn.h>

#include "probe/unwind/expression.hpp"
#include "probe/unwind/find_row.hpp"
#include "probe/unwind/step.hpp"

namespace heapledger::probe {
namespace {

struct parts {
  rule_kind kind = rule_kind::none;
  std::int64_t cfa_offset = 0, rbp_offset = 0;
};

bool in_words(std::int64_t offset, std::int64_t limit) {
  return offset % 8 == 0 && offset / 8 >= -limit && offset / 8 < limit;
}

bool plain(const cfi::register_rule& rule) {
  return rule.kind == cfi::how::same || rule.kind == cfi::how::undefined;
}

// `breg6 N; deref`: the CFA that GCC emits after realigning the stack.
bool through_rbp(cfi::bytes code, std::int64_t& offset) {
  cfi::reader in(code);
  constexpr std::uint8_t breg_rbp = 0x76, deref = 0x06;
  if (in.fixed<std::uint8_t>() != breg_rbp) return false;
  offset = in.signed_leb();
  return in.fixed<std::uint8_t>() == deref && in.empty() && in.good();
}

// An expression of nothing but rsp and the address itself (PLT stubs: the stack depth depends on where in the
// 16-byte stub the thread stands) is a constant at one address.
bool constant_at(cfi::bytes code, std::uint64_t pc, std::int64_t& offset) {
  std::uint64_t first, second;
  expression_registers low{pc, 0, 0}, high{pc, 1 << 20, 0};
  if (!evaluate_pure(code, low, first) || !evaluate_pure(code, high, second) || second - first != 1 << 20) return false;
  offset = static_cast<std::int64_t>(first);
  return true;
}

bool set_cfa(const cfi::row& row, std::uint64_t pc, parts& out) {
  if (row.cfa_is_expression) {
    if (through_rbp(row.cfa_code, out.cfa_offset))
      out.kind = rule_kind::through_rbp;
    else if (constant_at(row.cfa_code, pc, out.cfa_offset))
      out.kind = rule_kind::from_rsp;
    else
      return false;
    return true;
  }
  out.cfa_offset = row.cfa_offset;
  if (row.cfa_register == cfi::rsp)
    out.kind = rule_kind::from_rsp;
  else if (row.cfa_register == cfi::rbp)
    out.kind = rule_kind::from_rbp;
  else
    return false;
  return true;
}

bool set_rbp(const cfi::row& row, parts& out) {
  const cfi::register_rule& rbp = row.registers[cfi::rbp];
  std::int64_t offset = 0;
  if (plain(rbp)) return out.kind != rule_kind::through_rbp;
  if (rbp.kind == cfi::how::at_cfa_offset && out.kind != rule_kind::through_rbp) {
    offset = rbp.offset;
  } else if (rbp.kind == cfi::how::at_expression && out.kind == rule_kind::through_rbp) {
    cfi::reader in(rbp.code());
    if (in.fixed<std::uint8_t>() != 0x76) return false;
    offset = in.signed_leb();
    if (!in.empty() || !in.good()) return false;
  } else {
    return false;
  }
  if (!in_words(offset, rule::rbp_words_limit) || (offset == 0 && out.kind != rule_kind::through_rbp)) return false;
  out.rbp_offset = offset;
  return true;
}

// A return address that was put there to start a fiber, because nothing called it: a function's first byte, or, as
// Boost's, code in the middle of a function without tables.
bool begins_fiber(std::uint64_t pc) {
  cfi::function_entry entry;
  cfi::row row;
  if (find_row(pc, entry, row) == row_search::found) return entry.start == pc;
  dl_find_object module;
  return _dl_find_object(reinterpret_cast<void*>(pc), &module) == 0 && readable(pc - 8) && !follows_call(pc);
}

}  // namespace

bool follows_call(std::uint64_t address) {
  constexpr unsigned longest_call = 7;
  if (!readable(address - longest_call) || !readable(address - 1)) return false;
  const auto* const code = reinterpret_cast<const std::uint8_t*>(address);
  if (code[-5] == 0xe8) return true;
  for (int bytes = 2; bytes <= static_cast<int>(longest_call); ++bytes)
    if (code[-bytes] == 0xff && (code[1 - bytes] >> 3 & 7) == 2) return true;
  return false;
}

rule compile_rule(std::uint64_t pc, bool return_site) {
  cfi::function_entry entry;
  cfi::row row;
  const std::uint64_t address = return_site ? pc - 1 : pc;
  switch (find_row(address, entry, row)) {
    case row_search::missing:
      return return_site && begins_fiber(pc) ? rule_kind::end : rule_kind::unknown;
    case row_search::malformed:
      return rule_kind::unknown;
    case row_search::found:
      break;
  }
  const cfi::register_rule& back = row.registers[entry.return_register % cfi::register_count];
  if (back.kind == cfi::how::undefined) return rule_kind::end;
  parts out;
  const bool simple = !entry.signal_frame && entry.return_register == cfi::return_address &&
                      back.kind == cfi::how::at_cfa_offset && back.offset == -8 && set_cfa(row, pc, out) &&
                      set_rbp(row, out) && in_words(out.cfa_offset, rule::cfa_words_limit) &&
                      row.registers[cfi::rsp].kind == cfi::how::same;
  if (!simple) return rule_kind::complex;
  const bool near = out.cfa_offset >= 8 && out.cfa_offset - 8 <= static_cast<std::int64_t>(unchecked_frame_bytes);
  if (out.kind == rule_kind::from_rsp && !near) out.kind = rule_kind::far_from_rsp;
  return {out.kind, out.cfa_offset / 8, out.rbp_offset / 8};
}

}  // namespace heapledger::probe
