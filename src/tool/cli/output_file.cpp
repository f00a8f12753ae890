#include "tool/cli/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "tool/cli/load.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/output_target.hpp"

namespace heapledger::cli {

output_file::output_file(const std::string& path, bool overwrite, std::initializer_list<std::string> inputs)
    : path_(path), overwrite_(overwrite) {
  if (path.empty() || path == "-") {
    path_ = "standard output";
    stream_ = stdout;
    return;
  }
  const output_target target = find_output(path);
  if (target.kind == target_kind::folder) throw_cannot_write(path, EISDIR);
  if (target.kind == target_kind::device) {
    stream_ = ::fdopen(open_device(target.path), "w");
    if (stream_ == nullptr) throw_cannot_write(path, errno);
    return;
  }
  for (const auto& input : inputs) {
    const auto split = split_snapshot(input);
    if (is_same_file(path, split ? split->file : input))
      throw input_error(path, "is the profile that is read", "choose another name with -o");
  }
  if (target.kind == target_kind::file && !overwrite) refuse_existing();
  file_ = std::make_unique<new_file>(overwrite ? target.path : path);
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
