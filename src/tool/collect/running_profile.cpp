#include "tool/collect/running_profile.hpp"

#include <fmt/format.h>

#include "tool/collect/process.hpp"
#include "tool/collect/process_watch.hpp"
#include "tool/collect/times.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {

profile profile_of(const running_program& program) {
  process_watch watch(program.segment, program.pid, 0, false);
  watch.sample(monotonic_ns());
  // It may have ended, or gone on as another program, since it was found.
  const auto* const segment = watch.segment();
  if (segment != nullptr && watch.pid() != 0) {
    const auto image = find_image(*segment, watch.pid());
    using state = process_watch::state;
    if (image != image_state::running)
      watch.end(image == image_state::replaced ? state::replaced : state::ended, monotonic_ns(), {});
  }
  auto result = watch.collect();
  if (!result) throw input_error(fmt::format("{}", program.pid), "its books are being begun", "try again");
  return std::move(*result);
}

}  // namespace heapledger::collect
