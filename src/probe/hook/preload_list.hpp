// The libraries of an LD_PRELOAD, separated by colons or spaces.
//
// Usable between vfork and exec: nothing here allocates.
#pragma once

#include <cstddef>
#include <cstring>

namespace heapledger::probe {

using library_test = bool (*)(const char* library, std::size_t length);

inline std::size_t length_of_library(const char* list) {
  return std::strcspn(list, ": ");
}

// Whether it is the probe by its file's name: another copy, as an installed one beside one in a build tree. Two in one
// process would both keep books.
inline bool is_named_as_probe(const char* library, std::size_t length) {
  constexpr char file[] = "/libheapledger.so";
  constexpr std::size_t file_length = sizeof file - 1;
  return length >= file_length && std::strncmp(library + length - file_length, file, file_length) == 0;
}

// Copies the libraries of a list but for those to leave out, as far as there is room; true if there were any of these.
inline bool copy_without(library_test left_out, const char* list, char* out, std::size_t capacity) {
  bool found = false;
  std::size_t used = 0;
  while (*list != 0) {
    const std::size_t length = length_of_library(list);
    if (left_out(list, length)) {
      found = true;
    } else if (length != 0 && used + (used != 0) + length < capacity) {
      if (used != 0) out[used++] = ':';
      std::memcpy(out + used, list, length);
      used += length;
    }
    list += length;
    if (*list != 0) ++list;
  }
  out[used] = 0;
  return found;
}

inline bool has(library_test wanted, const char* list) {
  while (*list != 0) {
    const std::size_t length = length_of_library(list);
    if (wanted(list, length)) return true;
    list += length;
    if (*list != 0) ++list;
  }
  return false;
}

}  // namespace heapledger::probe
