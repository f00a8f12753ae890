// What an ELF file offers to others, and what it wants of them: functions of its dynamic symbol table, and versions.
// The file is hostile input: it is read through libelf, and nothing is assumed about it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heapledger::inject {

struct exported_function {
  std::uint64_t address = 0;  // in the file
  std::uint64_t bytes = 0;
  std::string name;
  bool is_default = true;  // of several versions the one that new programs get
};

class exports {
 public:
  explicit exports(int fd);  // stays the caller's

  std::uint64_t first_address() const { return first_address_; }  // of what is loaded first: where the module begins
  std::uint64_t unwind_table() const { return unwind_table_; }    // .eh_frame_hdr's address; 0: none
  const std::vector<exported_function>& functions() const { return functions_; }
  std::optional<std::uint64_t> find(std::string_view name) const;
  // All names of the functions that cover this address; none: it is not an exported function's.
  std::vector<std::string_view> names_at(std::uint64_t address) const;
  bool has(std::string_view name) const { return find(name).has_value(); }

  const std::set<std::string>& versions() const { return versions_; }  // that it defines
  // That it wants of the library of this name.
  const std::set<std::string>& wanted_of_libc() const { return wanted_; }

 private:
  std::uint64_t first_address_ = 0;
  std::uint64_t unwind_table_ = 0;
  std::vector<exported_function> functions_;  // by address
  std::uint64_t longest_ = 0;
  std::set<std::string> versions_;
  std::set<std::string> wanted_;
};

}  // namespace heapledger::inject
