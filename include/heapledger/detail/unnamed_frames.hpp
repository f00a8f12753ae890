// Frames of the program itself that its dynamic symbols do not name, and the command that does.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace heapledger::detail {

class unnamed_frames {
 public:
  void add(const void* return_address) {
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(return_address) - 1;  // in the call
    Dl_info found{};
    void* module = nullptr;
    if (dladdr1(reinterpret_cast<const void*>(address), &found, &module, RTLD_DL_LINKMAP) == 0) return;
    const auto* const map = static_cast<const link_map*>(module);
    if (found.dli_sname != nullptr || map->l_name[0] != 0) return;  // it has a name, or is a library's
    program_ = found.dli_fname;
    const std::uintptr_t in_file = address - map->l_addr;
    if (std::find(addresses_.begin(), addresses_.end(), in_file) == addresses_.end()) addresses_.push_back(in_file);
  }

  // A line of text; empty where all have names.
  std::string advice() const {
    if (addresses_.empty()) return {};
    std::string line = "  for names link with -rdynamic, or: addr2line -Cfipe " + program_;
    for (const std::uintptr_t each : addresses_) {
      char text[32];
      std::snprintf(text, sizeof text, " 0x%" PRIxPTR, each);
      line += text;
    }
    return line + "\n";
  }

 private:
  std::string program_;
  std::vector<std::uintptr_t> addresses_;
};

}  // namespace heapledger::detail
