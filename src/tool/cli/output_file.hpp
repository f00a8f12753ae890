// Where a command's answer goes that is a file: to the name after -o, complete or not at all; to standard output
// without one, or for "-". What is there already is not overwritten unless asked.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "tool/profile/new_file.hpp"

namespace heapledger::cli {

class output_file {
 public:
  // Throws input_error where nothing could be written, before anything is; also where it would take the place of one of
  // `inputs`, the names of profiles.
  output_file(const std::string& path, bool overwrite, std::initializer_list<std::string> inputs = {});
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  bool is_terminal() const;
  void write(std::string_view bytes);
  void finish();

 private:
  [[noreturn]] void refuse_existing() const;

  std::string path_;
  bool overwrite_;
  std::unique_ptr<new_file> file_;
  std::FILE* stream_ = nullptr;  // where it is no regular file
};

}  // namespace heapledger::cli
