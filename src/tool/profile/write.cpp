#include "tool/profile/write.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tool/profile/container.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/new_file.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger {
namespace {

std::string to_bytes(const profile& profile, const std::string& path) {
  try {
    return format::pack(format::encode(profile));
  } catch (const format::damage& damage) {
    throw input_error(path, fmt::format("the profile cannot be written: {}", damage.what()),
                      "please report this as a bug of heapledger");
  }
}

[[noreturn]] void throw_exists(const std::string& path) {
  throw input_error(path, "the file exists", "choose another name with -o, or overwrite it with -f");
}

}  // namespace

void write_profile(const profile& profile, const std::string& path, bool overwrite) {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    throw input_error(path, "this is a folder", "choose a file name with -o");
  }
  if (exists && !S_ISREG(status.st_mode)) {
    write_to_device(path, to_bytes(profile, path));
    return;
  }
  if (exists && !overwrite) throw_exists(path);

  const std::string target = overwrite ? behind_links(path) : path;
  new_file file(target);
  file.write(to_bytes(profile, path));
  if (overwrite) {
    file.replace();
  } else if (!file.appear()) {
    throw_exists(path);
  }
}

}  // namespace heapledger
