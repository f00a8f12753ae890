// All stacks as one tree of functions, inlined ones too, from the outermost inward. Scopes are its outermost nodes.
// Calls of one function from one caller are one node; the lines they stand at are the node's places. Works on any
// checked profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

enum class function_kind : std::uint8_t { named, address, scope };

struct tree_function {
  function_kind kind = function_kind::named;
  std::string name;             // as the file has it; of an address: MODULE+0x12
  std::uint32_t module = none;  // index into profile::modules
};

struct tree_line {
  std::uint32_t function = 0;
  std::uint32_t file = none;  // index into profile::strings
  std::uint32_t line = 0;     // 0: unknown
  bool inlined = false;
  bool machinery = false;  // allocation wrappers, standard libraries, what starts main and threads
  bool operator==(const tree_line&) const = default;
};

struct tree_node {
  std::uint32_t parent = 0;  // node 0 is the root, and has no function
  std::uint32_t depth = 0;
  std::uint32_t function = none;
  std::uint32_t first_place = 0;  // its places end where those of the next node begin
};

struct tree_place {
  std::uint32_t parent = 0;  // place 0 is the root's
  std::uint32_t line = none;
};

struct function_tree {
  std::vector<tree_function> functions;
  std::vector<tree_line> lines;  // those of one function stand together, in the order of functions
  std::vector<tree_node> nodes;  // depth first: parents before children, each with all its descendants behind it
  std::vector<tree_place> places;
  std::vector<std::uint32_t> stack_places;  // for each of profile::stacks, where it allocates; 0: no stack
};

inline constexpr std::size_t most_steps = std::size_t{1} << 26;

// Throws std::length_error when the stacks have more frames, common ones counted once, than `most_steps`.
function_tree build_function_tree(const profile& p);

}  // namespace heapledger::analyse
