#include "tool/collect/environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr std::string_view preload = "LD_PRELOAD=";
constexpr std::array<std::string_view, 8> ours = {
    "HEAPLEDGER_SESSION=", "HEAPLEDGER_STACKS=", "HEAPLEDGER_DEPTH=",           "HEAPLEDGER_NO_FOLLOW=",
    "HEAPLEDGER_ONLY=",    "HEAPLEDGER_CHECK=",  "HEAPLEDGER_SNAPSHOT_SIGNAL=", "HEAPLEDGER_LIFETIMES="};

bool is_probe(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == "libheapledger.so";
}

// The libraries of an LD_PRELOAD (separated by colons or spaces) without another probe.
std::string without_probe(std::string_view list) {
  std::string kept;
  while (!list.empty()) {
    const auto library = list.substr(0, list.find_first_of(": "));
    if (!library.empty() && !is_probe(library)) kept += fmt::format("{}{}", kept.empty() ? "" : ":", library);
    list.remove_prefix(std::min(library.size() + 1, list.size()));
  }
  return kept;
}

}  // namespace

std::vector<std::string> environment_for(const probe_settings& settings, const char* const* inherited) {
  std::vector<std::string> result;
  std::string others;
  for (; inherited != nullptr && *inherited != nullptr; ++inherited) {
    const std::string_view variable = *inherited;
    if (variable.starts_with(preload)) {
      others = without_probe(variable.substr(preload.size()));
    } else if (std::none_of(ours.begin(), ours.end(), [&](auto name) { return variable.starts_with(name); })) {
      result.emplace_back(variable);
    }
  }
  result.push_back(fmt::format("{}{}{}{}", preload, settings.library, others.empty() ? "" : ":", others));
  result.push_back("HEAPLEDGER_SESSION=" + settings.session_directory);
  result.push_back("HEAPLEDGER_STACKS=" + settings.stacks);
  if (settings.depth != 0) result.push_back(fmt::format("HEAPLEDGER_DEPTH={}", settings.depth));
  if (!settings.follow) result.emplace_back("HEAPLEDGER_NO_FOLLOW=1");
  if (!settings.only.empty()) result.push_back(fmt::format("HEAPLEDGER_ONLY={}", fmt::join(settings.only, ":")));
  if (!settings.snapshot_signal.empty()) result.push_back("HEAPLEDGER_SNAPSHOT_SIGNAL=" + settings.snapshot_signal);
  if (settings.lifetimes) result.emplace_back("HEAPLEDGER_LIFETIMES=1");
  if (settings.check) result.emplace_back("HEAPLEDGER_CHECK=1");
  return result;
}

std::string find_probe() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw input_error("/proc/self/exe", error.message(), "heapledger needs /proc: mount -t proc proc /proc");
  const auto probe = self.parent_path().parent_path() / "lib/heapledger/libheapledger.so";
  if (::access(probe.c_str(), R_OK) != 0)
    throw input_error(probe.string(), "the probe cannot be read", "install heapledger with its lib/heapledger");
  return probe.string();
}

bool can_preload(const std::string& path) {
  return path.find_first_of(": $\t\n") == std::string::npos;
}

}  // namespace heapledger::collect
