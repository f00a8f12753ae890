// Reads the columns of one table of the payload into the rows of a vector: the counterpart of table_writer. Hostile
// until read: columns must be packed, single, and of one length, and the rows must fit the memory budget.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <type_traits>

#include "tool/profile/container.hpp"
#include "tool/profile/schema.hpp"

namespace heapledger::format {

// What the decoded profile takes in memory. A small file can describe a huge one; this is where it ends.
class memory_budget {
 public:
  explicit memory_budget(std::uint64_t bytes) : left_(bytes) {}

  void take(std::uint64_t bytes) {
    if (bytes > left_) throw damage("its contents would take more memory than any real profile");
    left_ -= bytes;
  }
  void take(std::uint64_t count, std::uint64_t bytes_each) {
    if (count > max_memory_bytes) throw damage("its contents would take more memory than any real profile");
    take(count * bytes_each);
  }

 private:
  std::uint64_t left_;
};

template <class Integer>
Integer narrow(std::uint64_t value) {
  using wide = std::conditional_t<std::is_signed_v<Integer>, std::int64_t, std::uint64_t>;
  const auto number = static_cast<wide>(value);
  if (number < std::numeric_limits<Integer>::min() || number > std::numeric_limits<Integer>::max()) {
    throw damage("a number is out of range");
  }
  return static_cast<Integer>(number);
}

class table_reader {
 public:
  table_reader(protozero::pbf_reader message, memory_budget& budget) : budget_(budget) {
    while (message.next()) {
      const unsigned number = message.tag();
      if (number >= columns_.size()) {
        message.skip();
        continue;
      }
      if (message.wire_type() != protozero::pbf_wire_type::length_delimited) throw damage("a column is not packed");
      if (columns_[number].data() != nullptr) throw damage("a column occurs twice");
      columns_[number] = message.get_view();
    }
  }

  template <class Rows, class Member, class Coder>
  void column(unsigned number, Rows& rows, Member member, Coder coder) {
    if (!row_count_) row_count_ = elements(number);
    load(number, *row_count_, rows, member, coder);
  }
  template <class Rows, class Coder>
  void list(unsigned number, Rows& rows, Coder coder) {
    load(number, elements(number), rows, itself, coder);
  }

 private:
  // Each varint ends with the only one of its bytes that has the top bit clear.
  std::size_t elements(unsigned number) const {
    const auto& column = columns_[number];
    return static_cast<std::size_t>(
        std::count_if(column.data(), column.data() + column.size(), [](char c) { return (c & 0x80) == 0; }));
  }

  template <class Rows, class Member, class Coder>
  void load(unsigned number, std::size_t count, Rows& rows, Member member, Coder coder) {
    if (rows.size() != count) {
      budget_.take(count, sizeof(typename Rows::value_type));
      rows.resize(count);
    }
    const char* at = columns_[number].data();
    const char* const end = at + columns_[number].size();
    const bool absent = at == end;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t stored = absent ? 0 : protozero::decode_varint(&at, end);
      auto& value = std::invoke(member, rows[i]);
      value = narrow<std::remove_reference_t<decltype(value)>>(coder.load(i, stored));
    }
    if (at != end) throw damage("the columns of a table differ in length");
  }

  memory_budget& budget_;
  std::array<protozero::data_view, 32> columns_{};
  std::optional<std::size_t> row_count_;
};

}  // namespace heapledger::format
