// What the user can do about a module whose symbols are not complete.
#pragma once

#include <string>

#include "tool/symbolize/symbolize.hpp"

namespace heapledger::symbols {

// One line without the module's name; empty when nothing can be done or need be. `package` is the Debian package that
// the file belongs to, `other_build_id` that of the file now on disk; each may be empty.
std::string advice_for(module_symbols state, const std::string& package, const std::string& build_id,
                       const std::string& other_build_id);

}  // namespace heapledger::symbols
