// The characters of a text, which may be no UTF-8 at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heapledger {

struct utf8_character {
  std::uint32_t code_point = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

// Of a text that is not empty.
utf8_character first_utf8(std::string_view text);

}  // namespace heapledger
