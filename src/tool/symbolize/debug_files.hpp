// Which files on this machine speak for a module of the profile: its own, and a debug file split off from it.
// A build-id decides. Only where the profile has none is a file believed by its name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tool/symbolize/debug_places.hpp"
#include "tool/symbolize/elf_file.hpp"

namespace heapledger::symbols {

struct module_files {
  std::unique_ptr<elf_file> main;   // empty: missing, or another build
  std::unique_ptr<elf_file> debug;  // empty: none needed (main has debug information), or none found
  std::string other_build_id;       // of the file that has the module's name but is another build
};

module_files find_module_files(const std::string& module_path, const std::string& build_id, const debug_places& debug);

// The file that dwz moved common parts to: named relative to the debug file, or by its own build-id.
std::unique_ptr<elf_file> find_alternate_file(const std::string& debug_file, const std::string& name,
                                              const std::string& build_id, const debug_places& debug);

}  // namespace heapledger::symbols
