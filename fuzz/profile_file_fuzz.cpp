// Any bytes as a profile file: once as they are, and once with right checksums, so that damage gets past them.
#include <zlib.h>

#include <string>

#include "tool/profile/container.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/read.hpp"

using namespace heapledger;

static void read(const std::string& file) {
  try {
    read_profile(std::as_bytes(std::span(file)), "fuzz");
  } catch (const input_error&) {
  }
}

static void put_crc(std::string& file, std::size_t at, std::size_t from, std::size_t to) {
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(file.data() + from), static_cast<uInt>(to - from));
  for (unsigned i = 0; i < 4; ++i) file[at + i] = static_cast<char>(crc >> (8 * i));
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  read(file);
  if (size < format::header_bytes) return 0;
  put_crc(file, 32, format::header_bytes, size);
  put_crc(file, 36, 0, 36);
  read(file);
  return 0;
}
