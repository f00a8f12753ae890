// Where a free chunk keeps what follows it in a list: in itself. Where free chunks are filled, and nothing else may be
// written into them, in a table of its page: then a list is whole, whatever the program writes into its chunks.
#pragma once

#include "layout.hpp"

namespace heapledger::pool_detail {

template <class Layout>
struct links {
  using tool_type = typename Layout::tool_type;

  HEAPLEDGER_POOL_HOT static link* next(link* chunk) { return tool_type::next(place(chunk)); }
  HEAPLEDGER_POOL_HOT static void set_next(link* chunk, link* to) { tool_type::set_next(place(chunk), to); }

 private:
  HEAPLEDGER_POOL_HOT static link* place(link* chunk) {
    if constexpr (Layout::has_link_table) {
      return reinterpret_cast<link*>(Layout::page_start(chunk) + Layout::header_table_bytes) + Layout::index_of(chunk);
    } else {
      return chunk;
    }
  }
};

}  // namespace heapledger::pool_detail
