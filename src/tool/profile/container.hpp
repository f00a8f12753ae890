// The outer shell of a profile file: a fixed header, then one zstd frame that holds the payload (a protobuf message).
// Little endian. The first 16 bytes keep their meaning in every version to come, so that an old reader can say that a
// file is too new for it.
//
//    0  magic          8 bytes
//    8  version        u32     a change that an old reader must not overlook
//   12  flags          u32     0; a bit that a reader does not know means that it cannot read the file
//   16  payload_bytes  u64     size of the payload, uncompressed
//   24  body_bytes     u64     size of the zstd frame: the file ends there
//   32  body_crc       u32     CRC-32 (zlib) of the zstd frame
//   36  header_crc     u32     CRC-32 of the 36 bytes before
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace heapledger::format {

// Not text: a transfer that changes line ends, or stops at ^Z, breaks it.
inline constexpr std::array<unsigned char, 8> magic = {0x89, 'H', 'L', 'P', '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t header_bytes = 40;

// What a reader takes at most, and therefore a writer gives at most.
inline constexpr std::uint64_t max_payload_bytes = std::uint64_t{512} << 20;
inline constexpr std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;

// A file whose contents are not what they should be. what() completes the sentence "FILE: ...".
struct damage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct header {
  std::uint64_t payload_bytes = 0;
  std::uint64_t body_bytes = 0;
  std::uint32_t body_crc = 0;
};

struct buffer {
  std::unique_ptr<char[]> data;
  std::size_t size = 0;
  std::string_view view() const { return {data.get(), size}; }
};

// A whole file. Throws damage when the payload is too large for any reader.
std::string pack(std::string_view payload);

bool has_magic(std::string_view file);

// `name` stands for the file in the input_error thrown when it is no profile, cut off, damaged or too new.
header read_header(std::string_view file, std::string_view name);
buffer unpack(const header& header, std::string_view body, std::string_view name);

}  // namespace heapledger::format
