// All addresses of one module, resolved from whatever its files hold.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/symbolize/debug_files.hpp"
#include "tool/symbolize/debug_info.hpp"
#include "tool/symbolize/mini_debug_info.hpp"
#include "tool/symbolize/symbol_table.hpp"

namespace heapledger::symbols {

class function_names;

struct resolved_frame {
  std::string_view function;  // views live as long as the call they are handed to
  std::string_view file;
  std::uint32_t line = 0;
};

class resolver {
 public:
  resolver(module_files files, const debug_places& debug);

  bool has_file() const { return files_.main || files_.debug; }
  bool has_debug_info() const { return info_ != nullptr; }
  bool has_unreadable_debug_info() const;
  bool has_symbol_table() const;  // a full one: .dynsym alone names only what is exported
  bool has_symbols() const { return !symbols_.empty(); }
  bool alternate_missing() const { return info_ != nullptr && info_->alternate_missing(); }
  bool split_missing() const { return info_ != nullptr && info_->split_missing(); }
  // The file with the code, which alone has unwind tables; null without it.
  const elf_file* code() const { return files_.main.get(); }
  // False: files were written to meanwhile, and what they said may be wrong.
  bool is_as_it_was() const;

  // `receive` is called once for each address that has a name or a line, in no particular order, with the index of the
  // address and its frames, innermost inlined function first. Addresses are sorted and distinct.
  using receiver = std::function<void(std::size_t index, std::span<const resolved_frame> frames)>;
  void resolve(std::span<const std::uint64_t> addresses, const receiver& receive) const;

 private:
  void resolve_unit(const unit& owner, std::span<const std::uint64_t> addresses, std::span<const std::size_t> indices,
                    function_names& names, const receiver& receive) const;

  module_files files_;
  std::unique_ptr<mini_debug_info> mini_;  // before the table that has names of it
  symbol_table symbols_;
  std::unique_ptr<debug_info> info_;
};

}  // namespace heapledger::symbols
