// The DWARF of one file, and which of its compilation units covers an address.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tool/symbolize/debug_places.hpp"
#include "tool/symbolize/elf_file.hpp"
#include "tool/symbolize/reach_index.hpp"

namespace heapledger::symbols {

struct unit {
  Dwarf_Die lines;      // has the line table
  Dwarf_Die functions;  // the same, or its other half in a .dwo file
};

class debug_info {
 public:
  // Null when the file has no usable DWARF. `executable` limits what is believed: the linker leaves ranges of functions
  // that it dropped, at addresses that belong to nobody. The file must outlive the object.
  static std::unique_ptr<debug_info> open(const elf_file& file, const std::vector<address_range>& executable,
                                          const debug_places& debug);

  // Index of the unit that covers the address; where several do, the one with the smallest range.
  std::optional<std::size_t> find(std::uint64_t address) const;
  const unit& at(std::size_t index) const { return units_[index]; }
  bool alternate_missing() const { return alternate_missing_; }
  bool split_missing() const { return split_missing_; }  // of a unit at least, the half in a .dwo file
  bool alternate_is_as_it_was() const { return !alternate_file_ || alternate_file_->is_as_it_was(); }

 private:
  struct unit_range {
    std::uint64_t begin;
    std::uint64_t end;
    std::size_t unit;
  };
  struct close_dwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  debug_info() = default;
  void add_alternate(const elf_file& file, const debug_places& debug);
  void index_units(const elf_file& file, const std::vector<address_range>& executable);
  void add_ranges(Dwarf_Die& die, std::size_t unit, const std::vector<address_range>& executable);

  std::unique_ptr<elf_file> alternate_file_;  // before the handles that read it
  std::unique_ptr<Dwarf, close_dwarf> alternate_;
  std::unique_ptr<Dwarf, close_dwarf> dwarf_;
  bool alternate_missing_ = false;
  bool split_missing_ = false;
  std::vector<unit> units_;
  std::vector<unit_range> ranges_;  // by begin
  std::size_t ranges_seen_ = 0;
  reach_index reach_;
};

}  // namespace heapledger::symbols
