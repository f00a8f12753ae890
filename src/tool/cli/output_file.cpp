#include "tool/cli/output_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "tool/profile/error.hpp"

namespace heapledger::cli {

output_file::output_file(const std::string& path, bool overwrite) : path_(path), overwrite_(overwrite) {
  struct stat status {};
  if (path.empty() || path == "-") {
    path_ = "standard output";
    stream_ = stdout;
  } else if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) {
    if (!overwrite && access(path.c_str(), F_OK) == 0) refuse_existing();
    file_ = std::make_unique<new_file>(overwrite ? behind_links(path) : path);
  } else {
    stream_ = S_ISDIR(status.st_mode) ? nullptr : std::fopen(path.c_str(), "we");
    if (S_ISDIR(status.st_mode)) errno = EISDIR;
    if (stream_ == nullptr) {
      throw input_error(path, fmt::format("cannot be written ({})", std::strerror(errno)),
                        "choose another place with -o");
    }
  }
}

output_file::~output_file() {
  if (stream_ != nullptr && stream_ != stdout) std::fclose(stream_);
}

void output_file::refuse_existing() const {
  throw input_error(path_, "exists", "choose another name with -o, or overwrite it with -f");
}

bool output_file::is_terminal() const {
  return stream_ != nullptr && isatty(fileno(stream_)) == 1;
}

void output_file::write(std::string_view bytes) {
  if (file_) {
    file_->write(bytes);
  } else if (std::fwrite(bytes.data(), 1, bytes.size(), stream_) != bytes.size()) {
    throw std::runtime_error(fmt::format("cannot write to {}: {}", printable(path_), std::strerror(errno)));
  }
}

void output_file::finish() {
  if (file_) {
    if (overwrite_) {
      file_->replace();
    } else if (!file_->appear()) {
      refuse_existing();
    }
  } else if (std::fflush(stream_) != 0) {
    throw std::runtime_error(fmt::format("cannot write to {}: {}", printable(path_), std::strerror(errno)));
  }
}

}  // namespace heapledger::cli
