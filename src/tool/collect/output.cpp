#include "tool/collect/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "tool/collect/unique_fd.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/output_target.hpp"

namespace heapledger::collect {
namespace {

constexpr const char* default_name = "heapledger.%e.%p.hlp";
constexpr std::size_t program_limit = 64;

// A program's name as part of a file's: no directories, nothing that hides the file or confuses a shell.
std::string program_part(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1).substr(0, program_limit);
  for (char& c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) c = '_';
  return name.empty() ? "program" : name;
}

std::string insert_before_extension(const std::string& name, const std::string& part) {
  const auto slash = name.rfind('/');
  const auto begin = slash == std::string::npos ? 0 : slash + 1;
  const auto dot = name.rfind('.');
  if (dot == std::string::npos || dot <= begin) return name + part;
  return name.substr(0, dot) + part + name.substr(dot);
}

std::string folder_of(const std::string& name) {
  const auto slash = name.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : name.substr(0, slash);
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// A device or pipe.
bool is_written_through(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// Writes a little into a nameless file. Returns an errno.
int try_writing(const std::string& folder) {
  unique_fd fd(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  std::string name;
  if (!fd && (errno == EOPNOTSUPP || errno == EISDIR)) {
    name = fmt::format("{}/.heapledger-{}.tmp", folder, ::getpid());
    fd = unique_fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  }
  if (!fd) return errno;
  const std::array<char, 65536> zeros{};
  const ssize_t written = ::write(fd.get(), zeros.data(), zeros.size());
  const int error = written == static_cast<ssize_t>(zeros.size()) ? 0 : written < 0 ? errno : ENOSPC;
  if (!name.empty()) ::unlink(name.c_str());
  return error;
}

}  // namespace

std::string expand(const std::string& pattern, const output_subject& subject) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      name += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'p':
        name += std::to_string(subject.pid);
        break;
      case 'e':
        name += program_part(subject.program);
        break;
      case 'h':
        name += subject.host;
        break;
      case 't':
        name += std::to_string(subject.start_s);
        break;
      case '%':
        name += '%';
        break;
      default:
        name += {'%', pattern[i]};
    }
  }
  return name;
}

std::optional<std::string> unknown_placeholder(const std::string& pattern) {
  constexpr std::string_view known = "peht%";
  for (std::size_t at = 0; (at = pattern.find('%', at)) != std::string::npos; at += 2)
    if (at + 1 == pattern.size() || known.find(pattern[at + 1]) == std::string_view::npos) return pattern.substr(at, 2);
  return {};
}

output_names::output_names(std::string pattern, bool overwrite) : pattern_(std::move(pattern)), overwrite_(overwrite) {
  if (pattern_.empty()) pattern_ = default_name;
  if (is_directory(pattern_)) pattern_ += fmt::format("{}{}", pattern_.back() == '/' ? "" : "/", default_name);
  if (pattern_.back() == '/') throw input_error(pattern_, "no such folder", "create it, or choose another with -o");
}

void output_names::check(const output_subject& expected, const std::string& program_file) const {
  const auto name = expand(pattern_, expected);
  const auto folder = folder_of(name);
  if (!is_directory(folder)) throw input_error(folder, "no such folder for the profile", "create it, or use -o FILE");
  struct stat status {};
  if (::lstat(name.c_str(), &status) != 0 && errno == ENAMETOOLONG)
    throw input_error(name, "the name is too long", "choose a shorter one with -o");

  if (pattern_.find("%p") == std::string::npos) {
    const auto target = find_output(name).kind;
    if (target == target_kind::folder) throw input_error(name, "is a folder", "name a file with -o");
    if (target == target_kind::device) return;
    if (is_same_file(name, program_file))
      throw input_error(name, "is the program itself", "choose another name with -o");
    if (target == target_kind::file && !overwrite_)
      throw input_error(name, "exists already", "use -f to overwrite it, or another name with -o");
  }
  if (const int error = try_writing(folder); error != 0)
    throw input_error(folder, fmt::format("the profile could not be written there: {}", std::strerror(error)),
                      "use -o FILE to write it elsewhere");
}

bool output_names::is_free(const std::string& name) const {
  if (given_.contains(std::string_view(name))) return false;
  struct stat status {};
  return overwrite_ || ::lstat(name.c_str(), &status) != 0;
}

std::string output_names::name_for(const output_subject& subject) {
  auto name = expand(pattern_, subject);
  if (is_written_through(name)) return name;
  const bool says_pid = pattern_.find("%p") != std::string::npos;
  if (subject.is_root) root_may_come_ = false;
  const bool is_of_root = root_may_come_ && (!root_ || name == expand(pattern_, *root_));
  // The root may have gone on as a program that it was not expected to be.
  const bool is_taken = subject.is_root ? given_.contains(std::string_view(name)) : is_of_root || !is_free(name);
  if (!says_pid && is_taken) name = insert_before_extension(name, fmt::format(".{}", subject.pid));
  if (subject.image != 0) name = insert_before_extension(name, fmt::format("-{}", subject.image));
  auto candidate = name;
  for (unsigned i = 1; !is_free(candidate); ++i) candidate = insert_before_extension(name, fmt::format("~{}", i));
  given_.emplace(candidate);
  return candidate;
}

}  // namespace heapledger::collect
