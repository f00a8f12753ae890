// The page: one HTML file that holds its program, its style and the data of a profile, and fetches nothing.
#pragma once

#include <string>
#include <string_view>

#include "tool/profile/profile.hpp"

namespace heapledger::html {

// The page without data, from ui/; empty where the tool was built without node and npm.
std::string_view page_shell();

// Where page_shell() is empty: what was missing.
std::string_view page_shell_missing();

std::string html_page(profile p);

}  // namespace heapledger::html
