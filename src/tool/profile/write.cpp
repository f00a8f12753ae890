#include "tool/profile/write.hpp"

#include <fmt/format.h>

#include "tool/profile/container.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/new_file.hpp"
#include "tool/profile/output_target.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger {
namespace {

[[noreturn]] void throw_exists(const std::string& path) {
  throw input_error(path, "the file exists", "choose another name with -o, or overwrite it with -f");
}

}  // namespace

std::string profile_bytes(const profile& profile, const std::string& name) {
  try {
    return format::pack(format::encode(profile));
  } catch (const format::damage& damage) {
    throw input_error(name, fmt::format("the profile cannot be written: {}", damage.what()),
                      "please report this as a bug of heapledger");
  }
}

void write_profile(const profile& profile, const std::string& path, bool overwrite) {
  const output_target target = find_output(path);
  if (target.kind == target_kind::folder) {
    throw input_error(path, "this is a folder", "choose a file name with -o");
  }
  if (target.kind == target_kind::device) {
    write_to_device(target.path, profile_bytes(profile, path));
    return;
  }
  if (target.kind == target_kind::file && !overwrite) throw_exists(path);

  // To replace a link would leave the file that it names as it was, under a name that nobody looks at.
  new_file file(overwrite ? target.path : path);
  file.write(profile_bytes(profile, path));
  if (overwrite) {
    file.replace();
  } else if (!file.appear()) {
    throw_exists(path);
  }
}

}  // namespace heapledger
