#include "tool/cli/profiles_in.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "tool/cli/run_messages.hpp"
#include "tool/cli/which_program.hpp"
#include "tool/collect/process_watch.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

namespace fs = std::filesystem;

bool is_name_of_profile(const fs::path& path) {
  return path.extension() == ".hlp" || collect::parse_segment_name(path.filename().string());
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return shell_file((fs::path(folder) / name).string());
}

bool is_program(const std::string& path) {
  if (::access(path.c_str(), X_OK) != 0) return false;
  std::array<char, 4> bytes{};
  std::ifstream(path, std::ios::binary).read(bytes.data(), bytes.size());
  const std::string_view begin(bytes.data(), bytes.size());
  return begin ==
             "\x7f"
             "ELF" ||
         begin.starts_with("#!");
}

std::string to_execute(const std::string& path) {
  return path.find('/') == std::string::npos ? "./" + shell_word(path) : shell_word(path);
}

// The segments of a session that root began lie in a folder inside, with a name that nobody types.
std::string with_segments(const std::string& folder) {
  const auto path = fs::path(folder) / "";
  std::error_code unreadable;
  if (path.parent_path().filename().string().starts_with("heapledger-"))
    for (const auto& inner : fs::directory_iterator(path, unreadable))
      if (inner.is_directory(unreadable)) return inner.path().string();
  return folder;
}

std::string words_of_folder(const std::string& folder, const std::vector<std::string>& names) {
  if (::access(folder.c_str(), R_OK) != 0)
    return fmt::format("is a folder that cannot be read ({})", std::strerror(errno));
  if (names.empty()) return "is a folder, and no profile is in it";
  if (names.size() == 1) return "is a folder; the profile in it is " + in_folder(folder, names[0]);
  return fmt::format("is a folder; the newest of the {} profiles in it is {}", names.size(),
                     in_folder(folder, names[0]));
}

}  // namespace

std::vector<std::string> profiles_in(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code unknown;
    if (!is_name_of_profile(entry->path()) || !entry->is_regular_file(unknown)) continue;
    const auto written = entry->last_write_time(unknown);
    if (!unknown) found.emplace_back(written, entry->path().filename().string());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> names;
  for (auto& [written, name] : found) names.push_back(std::move(name));
  return names;
}

void refuse_path_of_no_profile(const std::string& path) {
  std::error_code unknown;
  const auto kind = fs::status(path, unknown).type();
  if (kind == fs::file_type::directory) {
    const auto folder = with_segments(path);
    const auto names = profiles_in(folder);
    throw input_error(path, words_of_folder(folder, names),
                      names.size() < 2 ? "" : "heapledger report FILE FILE... is a table of several");
  }
  if (kind == fs::file_type::regular && is_program(path)) {
    const auto running = words_of_running(fs::path(path).filename().string());
    throw input_error(path, "is a program, not a profile",
                      running.empty() ? fmt::format("heapledger run -- {} makes one", to_execute(path)) : running);
  }
  if (kind != fs::file_type::not_found) return;
  if (path == "-")
    throw input_error(path, "there is no such file", "/dev/stdin is a profile that comes through a pipe");
  const auto folder = fs::path(path).parent_path().string();
  const auto names = profiles_in(folder.empty() ? "." : folder);
  if (const auto running = words_of_running(path); !running.empty() || !names.empty())
    throw input_error(path, "there is no such file",
                      running.empty() ? "the newest profile in its folder is " + in_folder(folder, names[0]) : running);
}

}  // namespace heapledger::cli
