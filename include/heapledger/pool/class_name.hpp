// What a class is called in the source, for people: the compiler says it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace heapledger::pool_detail {

template <class T>
constexpr auto make_class_name() {
  constexpr std::string_view all = __PRETTY_FUNCTION__;  // ... [with T = event], or without `with`
  constexpr std::size_t from = all.find("T = ") + 4;
  constexpr std::string_view name = all.substr(from, all.rfind(']') - from);
  std::array<char, name.size() + 1> text{};
  for (std::size_t i = 0; i < name.size(); ++i) text[i] = name[i];
  return text;
}
template <class T>
inline constexpr auto class_name = make_class_name<T>();

}  // namespace heapledger::pool_detail
