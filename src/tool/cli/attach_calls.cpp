#include "tool/cli/attach_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "tool/inject/quiet.hpp"
#include "tool/profile/error.hpp"
#include "wire/attach.hpp"

namespace heapledger::cli {
namespace {

const inject::module* probe_in(const std::vector<inject::module>& modules) {
  const auto found =
      std::find_if(modules.begin(), modules.end(), [](const auto& each) { return each.name() == "libheapledger.so"; });
  return found == modules.end() ? nullptr : &*found;
}

std::string lines_of(const collect::probe_settings& settings) {
  std::string lines;
  for (const auto& variable : collect::environment_for(settings, nullptr))
    if (!variable.starts_with("LD_PRELOAD=")) lines += variable + "\n";
  return lines;
}

}  // namespace

std::string refusal_of(std::int32_t result) {
  using wire::attach_result;
  switch (static_cast<attach_result>(result)) {
    case attach_result::done:
      return {};
    case attach_result::already:
      return "it was under heapledger before, from its start, with a leak watch, or eight times; start it anew";
    case attach_result::no_place:
      return "it cannot make a file for its counters; set TMPDIR to a directory that its user can write to";
    case attach_result::foreign_loader:
      return "its loader does not look as we know it; start it with heapledger run";
    case attach_result::no_allocator:
      return "a function of its allocator could not be found; start it with heapledger run";
    case attach_result::own_allocator:
      return "it brings a malloc of its own, whose calls cannot be seen; build it without";
    case attach_result::fixed_words:
      return "memory in which its loader has bound functions cannot be written; start it with heapledger run";
    case attach_result::not_attached:
      break;
  }
  return fmt::format("its probe is of another version (it answered {}); install heapledger anew", result);
}

inject::outcome begin_in(const inject::target& process, const collect::probe_settings& settings) {
  auto lines = lines_of(settings);
  auto library = settings.library;
  if (const auto* probe = probe_in(process.modules)) {  // it was attached to before
    library = probe->path;
    inject::await_quiet(process, library);
    lines += wire::quiet_setting;
  }
  const auto outcome =
      inject::call_in(process, {.library = library, .function = wire::attach_symbol, .argument = lines});
  if (const auto refusal = refusal_of(outcome.result); !refusal.empty())
    throw input_error(fmt::format("process {}", process.pid), refusal + "; it runs on unharmed");
  return outcome;
}

std::string end_in(pid_t pid) {
  try {
    const auto modules = inject::read_modules(pid);
    const auto* probe = probe_in(modules);
    if (probe == nullptr) return {};
    const auto library = probe->path;
    inject::call_in(inject::examine_target(pid, library),
                    {.library = library, .function = wire::detach_symbol, .argument = {}});
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace heapledger::cli
