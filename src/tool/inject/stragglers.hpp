// Threads that somebody was killed over while he called into them, and that have not come back yet: by the place that
// we are about to borrow.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <vector>

#include "tool/inject/held_thread.hpp"
#include "tool/inject/spare_place.hpp"
#include "tool/inject/target.hpp"

namespace heapledger::inject {

using busy_threads = std::map<pid_t, std::unique_ptr<held_thread>>;  // asked to stop, and not stopped yet

bool has_straggler(const target& in, const std::vector<spare_place>& places, busy_threads& busy);

}  // namespace heapledger::inject
