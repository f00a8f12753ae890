// Which installed Debian package a file belongs to, so that advice can name the package with its debug information.
#pragma once

#include <string>
#include <vector>

namespace heapledger::symbols {

// For each path the package's name, or an empty string: unknown, or no Debian system. `database` is dpkg's folder of
// file lists.
std::vector<std::string> owning_packages(const std::vector<std::string>& paths,
                                         const std::string& database = "/var/lib/dpkg/info");

// libc6 has libc6-dbg, all others NAME-dbgsym.
std::string debug_package(const std::string& package);

}  // namespace heapledger::symbols
