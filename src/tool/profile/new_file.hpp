// A file that gets its name only when it is complete. Till then it has none, so that a signal leaves nothing behind,
// or, where the file system needs one, a temporary name beside its place. Its mode is 0666 less the umask; it is
// removed unless appear() or replace() succeeded. Throws input_error.
#pragma once

#include <string>
#include <string_view>

namespace heapledger {

class new_file {
 public:
  explicit new_file(const std::string& path);
  ~new_file();
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  void write(std::string_view bytes);
  bool appear();   // false when something has that name: it is left as it is
  void replace();  // takes the place of what has that name

 private:
  void name_for_a_moment();
  void finish(bool durable);
  [[noreturn]] void fail(int error) const;

  std::string path_;
  std::string temporary_;  // empty: it has no name
  int fd_ = -1;
  bool named_ = false;
};

// Writes to what is no regular file: a terminal, a pipe, a device.
void write_to_device(const std::string& path, std::string_view bytes);

}  // namespace heapledger
