// A profile from whatever the user names: a profile's file, the segment of a process that runs or has died, or the pid
// of one that runs; and with @NAME behind it, the profile as it was at a snapshot.
#pragma once

#include <optional>
#include <string>

#include "tool/cli/commands.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::cli {

// Symbols are looked up where the file has none, and again when debug files are wanted. Throws what names the file,
// says what is wrong with it and what to do, in one line.
profile load_profile(const std::string& path, const debug_options& debug);

// FILE@NAME, where FILE is there or a pid; NAME may have an @ of its own. Nothing where the whole is a file.
struct snapshot_path {
  std::string file, name;
};
std::optional<snapshot_path> split_snapshot(const std::string& path);

// Index into markers. Throws input_error, and names the snapshots there are.
std::uint32_t snapshot_of(const profile& p, const std::string& path, const std::string& name);

}  // namespace heapledger::cli
