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

// What changed is not written over the page of the profile itself.
std::string page_name(const html_options& options, const process_info& process) {
  const std::string ending = options.before.empty() ? ".html" : ".diff.html";
  if (names_process(options.file))
    return collect::expand("heapledger.%e.%p" + ending,
                           {.pid = process.pid, .program = process.exe, .host = {}, .start_s = 0});
  constexpr std::string_view profile_ending = ".hlp";
  const std::size_t left_out = options.file.ends_with(profile_ending) ? profile_ending.size() : 0;
  return options.file.substr(0, options.file.size() - left_out) + ending;
}

}  // namespace

int html(const html_options& options) {
  if (html::page_shell().empty()) {
    say(fmt::format("html: {}", html::page_shell_missing()));
    return exit_failure;
  }
  profile loaded = load_profile(options.file, options.debug);
  const std::string path = options.output.empty() ? page_name(options, loaded.process) : options.output;
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
