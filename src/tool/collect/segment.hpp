// From a segment file to a profile without symbols. The only place that turns wire structures into the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// The books and everything that the segment itself tells. `ended` is `exited` where the header says so, else `lost`;
// `duration_ns` is up to the end, or to the last moment that the segment mentions. `stack_of`, where it is wanted, gets
// by account the index of the stack that it became a part of, or `none`.
profile to_profile(const segment_copy& segment, std::vector<std::uint32_t>* stack_of = nullptr);

// Says how and when the process ended, and moves a peak that lasted to the end along.
void set_ending(profile& of, ending how, std::int64_t duration_ns);

// What the tags of so many live blocks take: large blocks carry none.
std::uint64_t tag_bytes_of(const wire::segment_header& header, std::int64_t live_blocks);

// Any segment file, its process running or long gone: what `heapledger report SEGMENT` reads. Throws input_error.
profile collect_segment(const std::string& path);

// Whether a file that begins with these bytes is a segment, of any version.
bool looks_like_segment(std::string_view first_bytes);

}  // namespace heapledger::collect
