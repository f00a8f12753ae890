// Marks and snapshots that a command makes (heapledger mark, heapledger snapshot): the segment has one writer, the
// probe, so they go to a file beside it, SEGMENT.marks. It is a row of wire::marker, each followed by its
// snapshot_bytes as in wire/snapshot.hpp; hostile until read, like the segment.
#pragma once

#include <functional>
#include <string>

#include "tool/collect/segment_copy.hpp"

namespace heapledger::collect {

inline constexpr std::uint64_t outside_markers_limit = std::uint64_t{1} << 29;

std::string outside_markers_path(const std::string& segment_path);

// Empty where there is none, or it is no plain file, or not of the segment's owner.
std::string read_outside_markers(const segment_file& segment);

// The live bytes of now, and with `with_books` every account's counters. The segment's process goes on meanwhile.
// `name_of` is asked when they are known. Returns the marker as it was written. Throws input_error.
wire::marker add_outside_marker(const segment_file& segment,
                                const std::function<std::string(const wire::marker&)>& name_of, bool with_books);

}  // namespace heapledger::collect
