// Two versions of one program: built with PLANTED, read_header keeps what it should free, index_lines needs more for
// each line, and all code lies elsewhere.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#ifdef PLANTED
constexpr bool planted = true;
// Moves everything after it.
__attribute__((noinline)) int padding(int value) {
  volatile int table[64] = {};
  for (int i = 0; i < 64; ++i) table[i] = value * i;
  return table[value & 63];
}
#else
constexpr bool planted = false;
#endif

namespace parser {

std::size_t bytes_kept = 0;

__attribute__((noinline)) void read_header(const std::string& line) {
  char* copy = static_cast<char*>(std::malloc(4096));
  std::strncpy(copy, line.c_str(), 4095);
  bytes_kept += static_cast<std::size_t>(copy[0] != 0);
  if (!planted) std::free(copy);
}

__attribute__((noinline)) void index_lines(std::map<std::string, std::vector<char>>& index, const std::string& line) {
  index[line].resize(planted ? 300 : 100);
  bytes_kept += 1;  // no tail call
}

int depth_limit = planted ? 9 : 5;

__attribute__((noinline)) void descend(std::vector<std::unique_ptr<int>>& kept, int depth) {
  if (depth == depth_limit) {
    kept.push_back(std::make_unique<int>(depth));
  } else {
    descend(kept, depth + 1);
  }
  bytes_kept += 1;  // no tail call
}

}  // namespace parser

int main() {
#ifdef PLANTED
  parser::bytes_kept += static_cast<std::size_t>(padding(3));
#endif
  std::map<std::string, std::vector<char>> index;
  std::vector<std::unique_ptr<int>> kept;
  for (int i = 0; i < 100; ++i) {
    const std::string line = "a line of the input file, number " + std::to_string(i);
    parser::read_header(line);
    parser::index_lines(index, line);
  }
  parser::descend(kept, 0);
  std::printf("%zu\n", index.size());
}
