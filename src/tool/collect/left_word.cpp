#include "tool/collect/left_word.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "tool/collect/process_watch.hpp"

namespace heapledger::collect {

std::optional<left_word> take_word(const std::string& directory, const std::string& file_name) {
  constexpr std::string_view reasons[] = {"descriptors", "address-space", "data", "file-size"};
  const auto dot = file_name.rfind('.');
  if (dot == std::string::npos) return {};
  const auto reason = file_name.substr(dot + 1);
  const auto segment = parse_segment_name(std::string_view(file_name).substr(0, dot));
  if (!segment || std::find(std::begin(reasons), std::end(reasons), reason) == std::end(reasons)) return {};
  const auto path = directory + "/" + file_name;
  char program[4096];
  const ssize_t length = ::readlink(path.c_str(), program, sizeof program);
  if (length <= 0 || ::unlink(path.c_str()) != 0) return {};
  return left_word{segment->pid, reason, std::string(program, static_cast<std::size_t>(length))};
}

}  // namespace heapledger::collect
