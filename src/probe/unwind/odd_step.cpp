#include "probe/unwind/step.hpp"

namespace heapledger::probe {
namespace {

bool far_frame_readable(std::uint64_t cfa, const frame_state& from) {
  return cfa > from.rsp && (cfa & 7) == 0 && readable(cfa - 16);
}

step_end return_from(std::uint64_t cfa, std::uint64_t rbp_base, rule how, const frame_state& from, step_reads& reads,
                     frame_state& next) {
  next.pc = reads.read(cfa - 8);
  next.rsp = cfa;
  next.rbp = how.rbp_saved() ? reads.read(rbp_base + how.rbp_offset()) : from.rbp;
  return next.pc >= lowest_code ? step_end::stepped : step_end::outermost;
}

}  // namespace

step_end take_step(rule how, const frame_state& from, step_reads& reads, frame_state& next) {
  switch (how.kind()) {
    case rule_kind::from_rsp:
    case rule_kind::far_from_rsp:
      if (how.cfa_offset() <= 0) return step_end::bounds;  // the walk would never end
      return return_from(from.rsp + how.cfa_offset(), from.rsp + how.cfa_offset(), how, from, reads, next);
    case rule_kind::from_rbp: {
      const std::uint64_t cfa = from.rbp + how.cfa_offset();
      const bool near = cfa - from.rsp - 8 <= unchecked_frame_bytes && (cfa & 7) == 0;
      if (!near && !far_frame_readable(cfa, from)) return step_end::bounds;
      return return_from(cfa, cfa, how, from, reads, next);
    }
    case rule_kind::through_rbp: {
      if (from.rbp - from.rsp > unchecked_frame_bytes || (from.rbp & 7) != 0) return step_end::bounds;
      const std::uint64_t cfa = reads.read(from.rbp + how.cfa_offset());
      if (cfa - from.rsp - 8 > unchecked_frame_bytes && (cfa <= from.rsp || !readable(cfa - 8)))
        return step_end::bounds;
      return return_from(cfa, from.rbp, how, from, reads, next);
    }
    case rule_kind::complex:
      return complex_step(from, reads, next);
    case rule_kind::end:
      return step_end::outermost;
    default:
      return step_end::no_rule;
  }
}

}  // namespace heapledger::probe
