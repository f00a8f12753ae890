// Text on its way to a sink, in pieces.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "tool/export/format.hpp"

namespace heapledger::exports {

class text_out {
 public:
  explicit text_out(const sink& out) : out_(out) {}

  void put(std::string_view text) {
    text_ += text;
    if (text_.size() >= piece_bytes) flush();
  }
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    if (text_.size() >= piece_bytes) flush();
  }
  void flush() {
    if (!text_.empty()) out_(text_);
    text_.clear();
  }

 private:
  static constexpr std::size_t piece_bytes = 256 * 1024;
  const sink& out_;
  std::string text_;
};

}  // namespace heapledger::exports
