// What a reader takes from its memory budget for a profile (table_reader.hpp), without reading it: an archive for
// fields(), the twin of decoder. What is written must pass the budget of those that read.
#pragma once

#include <algorithm>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tool/profile/schema.hpp"

namespace heapledger::format {

// Beside the names, what a reader keeps of each scope to bound the paths.
inline constexpr std::uint64_t scope_path_bytes = 2 * sizeof(std::uint64_t);

class table_weigher {
 public:
  explicit table_weigher(std::uint64_t& bytes) : bytes_(bytes) {}

  template <class Rows, class Member, class Coder>
  void column(unsigned, const Rows& rows, Member, Coder) {
    list(0, rows, 0);
  }
  template <class Rows, class Coder>
  void list(unsigned, const Rows& rows, Coder) {
    if (std::find(seen_.begin(), seen_.end(), &rows) != seen_.end()) return;
    seen_.push_back(&rows);
    bytes_ += rows.size() * sizeof(typename Rows::value_type);
  }

 private:
  std::uint64_t& bytes_;
  std::vector<const void*> seen_;
};

class weigher {
 public:
  std::uint64_t bytes() const { return bytes_; }

  void operator()(unsigned, const std::integral auto&) {}
  void operator()(unsigned, ending) {}
  template <std::integral Integer>
  void operator()(unsigned, const std::optional<Integer>&) {}
  void operator()(unsigned, const std::string& text) { bytes_ += text.size(); }
  void operator()(unsigned, const std::vector<std::string>& texts) {
    for (const auto& text : texts) bytes_ += 2 * sizeof(text) + text.size();
  }
  void operator()(unsigned, const std::map<std::string, std::uint64_t>& counts) {
    for (const auto& count : counts) bytes_ += 2 * sizeof(std::pair<std::string, std::uint64_t>) + count.first.size();
  }
  template <class Message>
  void operator()(unsigned number, const std::optional<Message>& message) {
    if (message) (*this)(number, *message);
  }
  template <class Message>
  void operator()(unsigned number, const std::vector<Message>& messages) {
    bytes_ += messages.size() * 2 * sizeof(Message);
    for (const auto& message : messages) (*this)(number, message);
  }
  template <class Message>
  void operator()(unsigned, const Message& message) {
    fields(*this, message);
  }
  template <class Columns>
  void table(unsigned, Columns columns) {
    table_weigher of(bytes_);
    columns(of);
  }

  // What is spread from the flat columns over the rows.
  void spread(const profile& p, const flat_columns& flat) {
    for (const auto& place : p.locations)
      if (!place.symbols.empty()) bytes_ += 2 * sizeof(void*) + place.symbols.size() * sizeof(place.symbols[0]);
    bytes_ += (flat.scopes.size() + 1) * scope_path_bytes;
    for (const auto& stack : p.stacks) path(stack.scope);
    for (const auto& scope : p.scopes) {
      bytes_ += 2 * sizeof(scope_info);
      path(scope.path);
    }
    for (const auto& freer : p.freers) {
      bytes_ += 2 * sizeof(freer_info);
      path(freer.owner);
      path(freer.by);
    }
  }

 private:
  void path(const std::vector<std::string>& names) {
    for (const auto& name : names) bytes_ += sizeof(name) + name.size();
  }

  std::uint64_t bytes_ = 0;
};

}  // namespace heapledger::format
