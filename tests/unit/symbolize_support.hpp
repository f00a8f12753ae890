// What the tests of the symbolizer share: the fixtures, a profile of one module, and llvm-symbolizer as the oracle.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tool/symbolize/symbolize.hpp"

namespace heapledger::test {

struct frame {
  std::string function;  // empty: unknown
  std::string file;
  std::uint32_t line = 0;
  bool operator==(const frame&) const = default;
};
using chain = std::vector<frame>;  // innermost first
std::string to_string(const chain& frames);

std::string fixture(const std::string& name);
bool has_fixture(const std::string& name);
std::string build_id_of(const std::string& path);
std::vector<std::uint64_t> text_addresses(const std::string& path);  // every byte of .text

// A profile whose only module is `path`, with one location for each address.
profile profile_of(const std::string& path, std::span<const std::uint64_t> addresses);
std::vector<chain> chains_of(const profile& symbolized);
std::vector<chain> symbolize_file(const std::string& path, std::span<const std::uint64_t> addresses);

enum class oracle_names { linkage, source };  // mangled linkage names, or what the source calls the function
std::vector<chain> ask_llvm(const std::string& path, std::span<const std::uint64_t> addresses, oracle_names names);
bool has_llvm();

// A folder that is gone after the test.
class scratch_folder {
 public:
  scratch_folder();
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string copy(const std::string& fixture_name, const std::string& to) const;  // the new path

 private:
  std::filesystem::path path_;
};

}  // namespace heapledger::test
