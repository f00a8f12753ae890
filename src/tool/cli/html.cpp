#include "tool/html/html.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "tool/cli/commands.hpp"
#include "tool/cli/load.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/new_file.hpp"

namespace heapledger::cli {
namespace {

std::string page_name(const std::string& profile) {
  constexpr std::string_view ending = ".hlp";
  const std::size_t kept = profile.size() - (profile.ends_with(ending) ? ending.size() : 0);
  return profile.substr(0, kept) + ".html";
}

void print(const std::string& page) {
  if (std::fwrite(page.data(), 1, page.size(), stdout) != page.size() || std::fflush(stdout) != 0) {
    throw std::runtime_error(fmt::format("cannot write the page: {}", std::strerror(errno)));
  }
}

[[noreturn]] void refuse_existing(const std::string& path) {
  throw input_error(path, "the file exists", "choose another name with -o, or overwrite it with -f");
}

void write_page(const std::string& page, const std::string& path, bool overwrite) {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) throw input_error(path, "this is a folder", "choose a file name with -o");
  if (exists && !S_ISREG(status.st_mode)) return write_to_device(path, page);
  if (exists && !overwrite) refuse_existing(path);
  new_file file(exists ? std::filesystem::canonical(path).string() : path);
  file.write(page);
  if (overwrite) return file.replace();
  if (!file.appear()) refuse_existing(path);
}

}  // namespace

int html(const html_options& options) {
  if (html::page_shell().empty()) {
    say(fmt::format("html: {}", html::page_shell_missing()));
    return exit_failure;
  }
  std::string page = html::html_page(load_profile(options.file, options.debug_paths));
  if (options.output == "-") {
    print(page);
    return 0;
  }
  const std::string path = options.output.empty() ? page_name(options.file) : options.output;
  write_page(page, path, options.force);
  say(fmt::format("wrote {} ({:.1f} MB); open it in a browser", path, static_cast<double>(page.size()) / 1e6));
  return 0;
}

}  // namespace heapledger::cli
