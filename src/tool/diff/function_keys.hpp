// What a function is known by in both of two profiles. Debug information does not always have the whole name: where gcc
// inlined each call of a function that no other file sees (static, of an anonymous namespace, a lambda), it has "f" of
// what is "f(int)" in a build that calls it. Then, and only then, neither parameters nor template arguments count.
// Names of generated code have folders and lines in them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::diff {

// Refers to the names in both profiles.
class function_keys {
 public:
  function_keys(const profile& before, const profile& after);

  std::string_view key_of(std::string_view function) const;

 private:
  struct spellings {
    std::vector<std::string_view> names;
    bool with_parameters = false;
    bool without = false;
  };
  void add_all(const profile& p);

  std::unordered_map<std::string, spellings> by_plain_name_;
  std::unordered_set<std::string> generated_;
  std::unordered_map<std::string_view, std::string_view> other_names_;  // of those that are known by another one
};

}  // namespace heapledger::diff
