#include "tool/profile/read.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "tool/profile/container.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class input_file {
 public:
  explicit input_file(const std::string& path) : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
    if (fd_ < 0) throw input_error(path, fmt::format("cannot be opened ({})", std::strerror(errno)));
  }
  ~input_file() { close(fd_); }
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;

  // Reads up to `limit` bytes, less only at the end of the file. Takes memory for what comes, not for what is asked.
  std::string read_up_to(std::uint64_t limit) {
    constexpr std::uint64_t step_bytes = 1 << 20;
    std::string bytes;
    while (bytes.size() < limit) {
      const std::size_t before = bytes.size();
      bytes.resize(before + static_cast<std::size_t>(std::min(step_bytes, limit - before)));
      const ssize_t got = ::read(fd_, bytes.data() + before, bytes.size() - before);
      if (got < 0 && errno != EINTR) throw input_error(path_, fmt::format("cannot be read ({})", std::strerror(errno)));
      bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (got == 0) break;
    }
    return bytes;
  }

 private:
  const std::string& path_;
  int fd_;
};

profile read_body(const format::header& header, std::string_view body, std::string_view name) {
  try {
    return format::decode(format::unpack(header, body, name).view());
  } catch (const format::damage& damage) {
    throw input_error(name, fmt::format("the profile is damaged: {}", damage.what()),
                      "copy it again from where it was made, or profile again");
  } catch (const std::bad_alloc&) {
    throw input_error(name, "there is not enough memory to read the profile", "read it on a larger machine");
  }
}

}  // namespace

bool looks_like_profile(std::span<const std::byte> first_bytes) {
  return format::has_magic(as_text(first_bytes));
}

profile read_profile(std::span<const std::byte> file, std::string_view name) {
  const std::string_view text = as_text(file);
  const format::header header = format::read_header(text, name);
  return read_body(header, text.substr(format::header_bytes), name);
}

profile read_profile(const std::string& path) {
  input_file file(path);
  const format::header header = format::read_header(file.read_up_to(format::header_bytes), path);
  return read_body(header, file.read_up_to(header.body_bytes + 1), path);
}

}  // namespace heapledger
