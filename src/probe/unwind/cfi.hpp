// Call frame information (DWARF 5 section 6.4, with the .eh_frame additions of the LSB): which memory holds the
// caller's registers at a given address. Pure code: reads the tables it is given, allocates nothing, keeps nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::probe::cfi {

// DWARF register numbers of x86-64.
inline constexpr unsigned rbx = 3, rbp = 6, rsp = 7, r12 = 12, r15 = 15, return_address = 16, register_count = 17;

// Bytes of an expression or a program; outlives the row that refers to it (it lies in the module's own tables).
struct bytes {
  const std::uint8_t* data = nullptr;
  const std::uint8_t* end = nullptr;
};

enum class how : std::uint8_t { same, undefined, at_cfa_offset, cfa_offset, in_register, at_expression, expression };

// Small on purpose: rows are copied on whatever stack the program allocates from, signal stacks of 8 KiB included.
struct register_rule {
  how kind = how::same;
  std::uint32_t code_bytes = 0;
  std::int64_t offset = 0;  // or a register's number, or the address of the expression

  bytes code() const {
    const auto* start = reinterpret_cast<const std::uint8_t*>(offset);
    return {start, start + code_bytes};
  }
};

struct row {
  bool cfa_is_known = false;
  bool cfa_is_expression = false;
  unsigned cfa_register = 0;
  std::int64_t cfa_offset = 0;
  bytes cfa_code;
  register_rule registers[register_count];
};

struct function_entry {  // a frame description entry, with what its common information entry says
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  unsigned return_register = return_address;
  bool signal_frame = false;
  bool has_augmentation_data = false;
  std::uint8_t pointer_encoding = 0;
  bytes initial;
  bytes program;
};

// Finds the entry that covers `address` by way of the module's PT_GNU_EH_FRAME segment.
bool find(const std::uint8_t* eh_frame_header, std::uint64_t address, function_entry& entry);

// The same in a list of entries, as `entry_list` takes it.
bool find_in_section(bytes section, std::uint64_t address, function_entry& entry);

// A section whose end is not known.
inline bytes section_at(const std::uint8_t* start) {
  return {start, reinterpret_cast<const std::uint8_t*>(~std::uintptr_t{0})};
}

// The entries of a section, which ends with a null length or where it is said to end, beyond which nothing is read; or
// a single entry, if it does not begin with a common one. What describes no code is passed over.
class entry_list {
 public:
  explicit entry_list(bytes section);
  bool next(function_entry& entry);
  // What was read so far.
  bytes extent() const { return {section_.data, at_}; }

 private:
  bytes section_;
  const std::uint8_t* at_;
};

// The row in force at `address`, which lies inside the entry. False when the program is malformed or unsupported, or
// says nothing (LuaJIT's: its handler of exceptions knows the way).
bool row_at(const function_entry& entry, std::uint64_t address, row& out);

}  // namespace heapledger::probe::cfi
