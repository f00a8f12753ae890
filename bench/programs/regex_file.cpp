// Food for the compiler, a C++20 file of ordinary habits: regular expressions, ranges, maps, variants, futures.
// It is only compiled, never run.
#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <regex>
#include <span>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace log_reader {

using value = std::variant<std::monostate, long, double, std::string>;

struct entry {
  std::string host;
  std::string path;
  int status = 0;
  std::map<std::string, value> fields;
};

template <class Char>
std::optional<entry> parse(std::basic_string_view<Char> line) {
  static const std::basic_regex<Char> pattern(
      R"x(^(\S+) \S+ \S+ \[([^\]]+)\] "(GET|POST|PUT|DELETE) ([^ "]+)[^"]*" (\d{3}) (\d+|-)(.*)$)x",
      std::regex::ECMAScript | std::regex::optimize);
  static const std::basic_regex<Char> field(R"x(\s(\w+)=("([^"]*)"|(-?\d+)\b|(-?\d*\.\d+)))x");
  std::match_results<typename std::basic_string_view<Char>::const_iterator> match;
  if (!std::regex_match(line.begin(), line.end(), match, pattern)) {
    return std::nullopt;
  }
  entry result{match[1].str(), match[4].str(), std::stoi(match[5].str()), {}};
  const auto rest = match[7].str();
  for (std::sregex_iterator it(rest.begin(), rest.end(), field), end; it != end; ++it) {
    auto& slot = result.fields[(*it)[1].str()];
    if ((*it)[3].matched) {
      slot = (*it)[3].str();
    } else if ((*it)[4].matched) {
      slot = std::stol((*it)[4].str());
    } else {
      slot = std::stod((*it)[5].str());
    }
  }
  return result;
}

struct printer {
  std::ostream& out;
  void operator()(std::monostate) const { out << '-'; }
  void operator()(const std::string& text) const { out << std::regex_replace(text, std::regex("[^ -~]"), "?"); }
  template <class Number>
  void operator()(Number number) const {
    out << number;
  }
};

template <class Key, class Projection>
auto group(std::span<const entry> entries, Projection projection) {
  std::unordered_map<Key, std::vector<const entry*>> groups;
  for (const auto& each : entries) {
    groups[std::invoke(projection, each)].push_back(&each);
  }
  std::vector<std::pair<Key, std::size_t>> sizes;
  std::ranges::transform(groups, std::back_inserter(sizes),
                         [](const auto& pair) { return std::pair(pair.first, pair.second.size()); });
  std::ranges::sort(sizes, std::greater<>{}, &std::pair<Key, std::size_t>::second);
  return sizes;
}

std::string glob_to_regex(std::string_view glob) {
  std::string out;
  for (const char c : glob) {
    static const std::regex special(R"x([.^$|()\[\]{}+\\])x");
    out += c == '*' ? ".*" : c == '?' ? "." : std::regex_replace(std::string(1, c), special, R"x(\$&)x");
  }
  return out;
}

}  // namespace log_reader

int main(int argc, char** argv) {
  using namespace log_reader;
  std::vector<entry> entries;
  for (std::string line; std::getline(std::cin, line);) {
    if (auto parsed = parse<char>(line)) {
      entries.push_back(std::move(*parsed));
    }
  }
  const std::vector<std::string> globs(argv + 1, argv + argc);
  auto wanted = globs | std::views::transform(glob_to_regex) |
                std::views::transform([](const std::string& text) { return std::regex(text); });
  auto matches = [&](const entry& each) {
    return std::ranges::any_of(wanted, [&](const std::regex& regex) { return std::regex_search(each.path, regex); });
  };
  std::vector<std::future<std::string>> parts;
  for (auto&& each : entries | std::views::filter(matches) | std::views::take(1000)) {
    parts.push_back(std::async(std::launch::async, [&each] {
      std::ostringstream out;
      for (const auto& [name, content] : each.fields) {
        out << name << '=';
        std::visit(printer{out}, content);
      }
      return out.str();
    }));
  }
  for (auto& part : parts) {
    std::cout << part.get() << '\n';
  }
  for (const auto& [status, count] : group<int>(entries, &entry::status)) {
    std::cout << status << ' ' << count << '\n';
  }
  for (const auto& [host, count] : group<std::string>(entries, &entry::host)) {
    std::cout << host << ' ' << count << '\n';
  }
}
