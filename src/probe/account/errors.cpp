#include "probe/account/errors.hpp"

#include "probe/base/lock.hpp"

namespace heapledger::probe {
namespace {
constinit std::uint32_t errors_lock = 0;
}

void reset_errors() {
  errors_lock = 0;
}

void report_error(wire::error_kind kind, std::uint32_t account) {
  lock_guard held(errors_lock);
  wire::segment_header& header = *segment.header;
  for (std::uint32_t i = 0; i < header.error_count; ++i)
    if (segment.errors[i].kind == kind && segment.errors[i].account == account) {
      ++segment.errors[i].count;
      return;
    }
  const std::uint32_t fresh = header.error_count;
  if (!commit(segment.errors, fresh + 1)) return count_loss(wire::loss::errors_full);
  segment.errors[fresh] = {kind, account, 1};
  __atomic_store_n(&header.error_count, fresh + 1, __ATOMIC_RELEASE);
}

}  // namespace heapledger::probe
