// The options of the leak watch, which two commands have: `leaks PID` as --suspicious, `run` as --leaks-suspicious.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tool/cli/commands.hpp"

namespace heapledger::cli {

using use_text = std::function<void(std::string_view source, const std::string& text)>;
using add_value =
    std::function<void(const std::string& name, const std::string& placeholder, const std::string& help, use_text use)>;

// `add` is called once for each; `options` must outlive what it keeps.
void add_leak_options(const std::string& prefix, leak_watch_options& options, const add_value& add);

}  // namespace heapledger::cli
