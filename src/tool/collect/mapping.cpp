#include "tool/collect/mapping.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace heapledger::collect {
namespace {

class line_parser {
 public:
  explicit line_parser(std::string_view line) : rest_(line) {}

  template <class T>
  bool number(T& value, int base) {
    const auto result = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (result.ec != std::errc{}) return false;
    rest_.remove_prefix(static_cast<std::size_t>(result.ptr - rest_.data()));
    return true;
  }
  bool literal(char expected) {
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take(std::size_t count) {
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view after_spaces() const {
    const auto at = rest_.find_first_not_of(" \t");
    return at == std::string_view::npos ? std::string_view{} : rest_.substr(at);
  }

 private:
  std::string_view rest_;
};

// 7f0-7f1 rw-p 00000000 08:01 1234    name
std::optional<mapping> parse_mapping(std::string_view line) {
  mapping map;
  unsigned major_number = 0;
  unsigned minor_number = 0;
  std::uint64_t inode = 0;
  line_parser parser(line);
  if (!parser.number(map.start, 16) || !parser.literal('-') || !parser.number(map.end, 16) || !parser.literal(' '))
    return {};
  const auto rights = parser.take(4);
  if (rights.size() != 4 || !parser.literal(' ') || !parser.number(map.offset, 16) || !parser.literal(' ') ||
      !parser.number(major_number, 16) || !parser.literal(':') || !parser.number(minor_number, 16) ||
      !parser.literal(' ') || !parser.number(inode, 10) || map.end < map.start)
    return {};
  map.readable = rights[0] == 'r';
  map.writable = rights[1] == 'w';
  map.executable = rights[2] == 'x';
  map.is_shared = rights[3] == 's';
  map.device = makedev(major_number, minor_number);
  map.inode = static_cast<ino_t>(inode);
  map.name = parser.after_spaces();
  return map;
}

std::string_view detail_line(std::string_view details, std::string_view key) {
  while (!details.empty()) {
    const auto line = details.substr(0, details.find('\n'));
    if (line.starts_with(key)) return line.substr(key.size());
    details.remove_prefix(std::min(line.size() + 1, details.size()));
  }
  return {};
}

}  // namespace

void for_each_mapping(std::string_view text, const std::function<void(const mapping&, std::string_view)>& see) {
  std::optional<mapping> current;
  std::size_t details_begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    if (auto next = parse_mapping(text.substr(at, end - at))) {
      if (current) see(*current, text.substr(details_begin, at - details_begin));
      current = next;
      details_begin = std::min(end + 1, text.size());
    }
    at = end + 1;
  }
  if (current) see(*current, text.substr(details_begin));
}

std::uint64_t detail_bytes(std::string_view details, std::string_view key) {
  line_parser line(line_parser(detail_line(details, key)).after_spaces());
  std::uint64_t kib = 0;
  return line.number(kib, 10) && kib < (UINT64_MAX >> 10) ? kib << 10 : 0;
}

bool has_vm_flag(std::string_view details, std::string_view flag) {
  auto flags = detail_line(details, "VmFlags:");
  while (!flags.empty()) {
    const auto begin = std::min(flags.find_first_not_of(' '), flags.size());
    flags.remove_prefix(begin);
    const auto word = flags.substr(0, flags.find(' '));
    if (word == flag) return true;
    flags.remove_prefix(word.size());
  }
  return false;
}

}  // namespace heapledger::collect
