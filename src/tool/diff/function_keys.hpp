// What a function is known by in both of two profiles. Debug information does not always have the whole name: where gcc
// inlined each call of a function that no other file sees (static, of an anonymous namespace, a lambda), it has "f" of
// what is "f(int)" in a build that calls it. Then, and only then, neither parameters nor template arguments count.
// Names of generated code have folders and lines in them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tool/profile/profile.hpp"

namespace heapledger::diff {

struct function_key {
  std::string_view key;
  std::string_view shown;  // in either profile; of overloads that are one, without parameters
};

// Refers to the names in both profiles.
class function_keys {
 public:
  function_keys(const profile& before, const profile& after);

  function_key of(std::string_view function) const;

 private:
  struct spellings {
    std::unordered_set<std::string_view> with_parameters;
    std::unordered_set<std::string_view> without;
  };
  void add_all(const profile& p);

  std::unordered_map<std::string, spellings> by_plain_name_;
  std::unordered_set<std::string> generated_;
  std::unordered_map<std::string_view, function_key> other_names_;  // of those that are known by another one
};

}  // namespace heapledger::diff
