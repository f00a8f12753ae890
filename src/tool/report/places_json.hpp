// What the places that held most did over time, as JSON.
#pragma once

#include <string>
#include <vector>

#include "tool/profile/profile.hpp"
#include "tool/report/json_frames.hpp"

namespace heapledger::report {

// The elements of a list, without brackets; empty where nothing is known.
std::string places_json(const profile& p, json_frames& frames, const std::vector<bool>& left_out);

}  // namespace heapledger::report
