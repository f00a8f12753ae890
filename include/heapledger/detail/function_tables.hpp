// Where the exception tables of some code are, and how far it goes: an optimised function has two parts, and a table
// for each.
#pragma once

#include <heapledger/detail/table_reader.hpp>

#include <cstdint>
#include <cstring>

namespace heapledger::detail {

// What the unwinder (libgcc, or LLVM's) says about the code at an address.
struct unwinder_bases {
  void* text;
  void* data;
  void* function;
};
extern "C" const void* heapledger_find_fde(const void* pc, unwinder_bases* bases) __asm__("_Unwind_Find_FDE");

struct function_tables {
  const void* exceptions = nullptr;  // null: there are none
  std::uintptr_t function = 0;
  std::uintptr_t bytes = 0;  // 0 where nothing is known
};

inline function_tables tables_of(std::uintptr_t pc) {
  constexpr std::uint32_t long_form = 0xffffffff;
  unwinder_bases bases{};
  const void* const entry = heapledger_find_fde(reinterpret_cast<const void*>(pc), &bases);
  if (entry == nullptr) return {};
  table_reader fde(entry);
  if (fde.read<std::uint32_t>() == long_form) return {};
  const unsigned char* const from = fde.position;
  table_reader cie(from - fde.read<std::int32_t>());
  if (cie.read<std::uint32_t>() == long_form) return {};
  cie.read<std::uint32_t>();
  const unsigned version = cie.byte();
  const char* letter = reinterpret_cast<const char*>(cie.position);
  cie.position += std::strlen(letter) + 1;
  if (*letter != 'z') return {};
  cie.uleb();
  cie.sleb();
  version == 1 ? cie.byte() : cie.uleb();  // the register of the return address
  cie.uleb();
  unsigned of_exceptions = table_reader::omitted, of_code = 0;
  while (*++letter != 0) {
    if (*letter == 'L') of_exceptions = cie.byte();
    if (*letter == 'R') of_code = cie.byte();
    if (*letter == 'P') {
      constexpr unsigned not_followed = 0x7f;
      const unsigned encoding = cie.byte();
      cie.encoded(encoding & not_followed);
    }
  }
  constexpr unsigned format = 0x0f;
  function_tables found;
  found.function = reinterpret_cast<std::uintptr_t>(bases.function);
  fde.encoded(of_code);
  found.bytes = fde.encoded(of_code & format);
  fde.uleb();
  if (of_exceptions != table_reader::omitted)
    found.exceptions = reinterpret_cast<const void*>(fde.encoded(of_exceptions));
  return found;
}

}  // namespace heapledger::detail
