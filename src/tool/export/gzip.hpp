// What is written here goes on compressed, as gzip writes it.
#pragma once

#include <zlib.h>

#include <memory>
#include <string_view>

#include "tool/export/format.hpp"

namespace heapledger::exports {

class gzip_out {
 public:
  explicit gzip_out(const sink& out);
  ~gzip_out();
  gzip_out(const gzip_out&) = delete;
  gzip_out& operator=(const gzip_out&) = delete;

  void write(std::string_view bytes) { deflate_some(bytes, Z_NO_FLUSH); }
  void finish() { deflate_some({}, Z_FINISH); }

 private:
  void deflate_some(std::string_view bytes, int flush);

  const sink& out_;
  z_stream stream_{};
};

}  // namespace heapledger::exports
