// What a name to be written to stands for, behind all symbolic links. In a folder that everybody may write to (/tmp) a
// link, pipe or device may have been put there by somebody else, to have a file of ours overwritten or read: such a one
// is refused, as Linux refuses to follow it where fs.protected_symlinks is set. Throws input_error.
#pragma once

#include <string>

namespace heapledger {

enum class target_kind { absent, file, folder, device };  // device: whatever is written through, pipes too

struct output_target {
  std::string path;
  target_kind kind = target_kind::absent;
};

output_target find_output(const std::string& path);

// Whether both lead to one regular file, by whatever names and links.
bool is_same_file(const std::string& path, const std::string& other);

// The part of a path up to its last '/', which is none in the working directory.
std::string folder_prefix(const std::string& path);

// For writing, never a regular file: one that took the device's place meanwhile is left alone.
int open_device(const std::string& path);

[[noreturn]] void throw_cannot_write(const std::string& path, int error);

}  // namespace heapledger
