#include "tool/html/html.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "tool/cli/commands.hpp"
#include "tool/cli/load.hpp"
#include "tool/cli/output_file.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/which_program.hpp"
#include "tool/collect/output.hpp"

namespace heapledger::cli {
namespace {

std::string page_name(const std::string& profile, const process_info& process) {
  if (names_process(profile))
    return collect::expand("heapledger.%e.%p.html",
                           {.pid = process.pid, .program = process.exe, .host = {}, .start_s = 0});
  constexpr std::string_view ending = ".hlp";
  const std::size_t kept = profile.size() - (profile.ends_with(ending) ? ending.size() : 0);
  return profile.substr(0, kept) + ".html";
}

}  // namespace

int html(const html_options& options) {
  if (html::page_shell().empty()) {
    say(fmt::format("html: {}", html::page_shell_missing()));
    return exit_failure;
  }
  profile loaded = load_profile(options.file, options.debug);
  const std::string path = options.output.empty() ? page_name(options.file, loaded.process) : options.output;
  output_file file(path, options.force, {options.file, options.before});
  const std::string page = options.before.empty()
                               ? html::html_page(std::move(loaded))
                               : html::html_page(load_profile(options.before, options.debug), std::move(loaded));
  file.write(page);
  file.finish();
  if (path != "-" && !options.quiet) {
    say(fmt::format("wrote {} ({:.1f} MB); open it in a browser", path, static_cast<double>(page.size()) / 1e6));
  }
  return 0;
}

}  // namespace heapledger::cli
