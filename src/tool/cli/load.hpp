// A profile from whatever the user names: a profile's file, the segment of a process that runs or has died, or the pid
// of one that runs; and with @NAME behind it, the profile as it was at a snapshot.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::cli {

// Where FILE, or PID, ends in what the user gave for FILE@SNAPSHOT: names of either may have an @. Nothing where it is a file's
// name.
std::optional<std::size_t> snapshot_separator(const std::string& path);

// Symbols are looked up where the file has none, and again when debug paths are given. Throws what names the file, says
// what is wrong with it and what to do, in one line.
profile load_profile(const std::string& path, const std::vector<std::string>& debug_paths);

// Index into markers. Throws input_error, and names the snapshots there are.
std::uint32_t snapshot_of(const profile& p, const std::string& path, const std::string& name);

}  // namespace heapledger::cli
