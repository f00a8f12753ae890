#include "tool/symbolize/advice.hpp"

#include <fmt/format.h>

#include "tool/symbolize/packages.hpp"

namespace heapledger::symbols {
namespace {

constexpr std::size_t shown_digits = 12;  // of a build-id

std::string how_to_get_debug_info(const std::string& package) {
  return package.empty() ? std::string("build it with -g") : fmt::format("install {}", debug_package(package));
}

}  // namespace

std::string advice_for(module_symbols state, const std::string& package, const std::string& build_id,
                       const std::string& other_build_id) {
  switch (state) {
    case module_symbols::complete:
    case module_symbols::virtual_module:
      return {};
    case module_symbols::functions_only:
      return fmt::format("no source lines and no inlined functions: {}", how_to_get_debug_info(package));
    case module_symbols::exports_only:
      return fmt::format("only exported functions have names: {}", how_to_get_debug_info(package));
    case module_symbols::nothing:
      return fmt::format("no symbols: {}", how_to_get_debug_info(package));
    case module_symbols::changed:
      return fmt::format("the file was replaced after the program ran (build-id {}, now {}): profile again",
                         build_id.substr(0, shown_digits), other_build_id.substr(0, shown_digits));
    case module_symbols::missing:
      return build_id.empty() ? std::string("the file is not on this machine, and it had no build-id to find a copy by")
                              : std::string(
                                    "the file is not on this machine: name a folder with a copy, or its debug file, by "
                                    "--debug-path");
  }
  return {};
}

}  // namespace heapledger::symbols
