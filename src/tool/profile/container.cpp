#include "tool/profile/container.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <new>

#include "tool/profile/error.hpp"

namespace heapledger::format {
namespace {

constexpr int compression_level = 6;
constexpr const char* copy_again = "copy it again from where it was made, or profile again";

void put(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

template <class Integer>
Integer get(std::string_view in, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(Integer); i-- > 0;) value = value << 8 | static_cast<unsigned char>(in[offset + i]);
  return static_cast<Integer>(value);
}

std::uint32_t crc(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string_view magic_view() {
  return {reinterpret_cast<const char*>(magic.data()), magic.size()};
}

[[noreturn]] void throw_cut_off(std::string_view name, std::uint64_t has, std::uint64_t needs) {
  throw input_error(name, fmt::format("the profile is cut off: it has {} of {} bytes", has, needs), copy_again);
}

[[noreturn]] void throw_damaged(std::string_view name, std::string_view what) {
  throw input_error(name, fmt::format("the profile is damaged: {}", what), copy_again);
}

}  // namespace

std::string pack(std::string_view payload) {
  if (payload.size() > max_payload_bytes) {
    throw damage(fmt::format("the profile has {} MiB, more than the {} MiB that can be read back", payload.size() >> 20,
                             max_payload_bytes >> 20));
  }
  std::string file(header_bytes + ZSTD_compressBound(payload.size()), '\0');
  const std::size_t body_bytes = ZSTD_compress(file.data() + header_bytes, file.size() - header_bytes, payload.data(),
                                               payload.size(), compression_level);
  if (ZSTD_isError(body_bytes) != 0) throw std::bad_alloc();
  file.resize(header_bytes + body_bytes);

  std::string head(magic_view());
  put(head, version, 4);
  put(head, 0, 4);
  put(head, payload.size(), 8);
  put(head, body_bytes, 8);
  put(head, crc(std::string_view(file).substr(header_bytes)), 4);
  put(head, crc(head), 4);
  head.copy(file.data(), header_bytes);
  return file;
}

bool has_magic(std::string_view file) {
  return file.starts_with(magic_view());
}

header read_header(std::string_view file, std::string_view name) {
  if (file.empty()) throw input_error(name, "the file is empty", "give a profile that `heapledger run` wrote");
  if (file.substr(0, magic.size()) != magic_view().substr(0, file.size())) {
    throw input_error(name, "not a heapledger profile", "give a file that `heapledger run` wrote");
  }
  if (file.size() < 16) throw_cut_off(name, file.size(), header_bytes);
  const auto file_version = get<std::uint32_t>(file, 8);
  const auto flags = get<std::uint32_t>(file, 12);
  if (file_version > version || (file_version == version && flags != 0)) {
    const auto form =
        flags == 0 ? fmt::format("{}", file_version) : fmt::format("{}, flags {:#x}", file_version, flags);
    throw input_error(name,
                      fmt::format("the profile was written by a newer heapledger (format {}, this one reads up to {})",
                                  form, version),
                      "update heapledger");
  }
  if (file.size() < header_bytes) throw_cut_off(name, file.size(), header_bytes);
  if (get<std::uint32_t>(file, 36) != crc(file.substr(0, 36)))
    throw_damaged(name, "the checksum of its header differs");
  if (file_version == 0) throw_damaged(name, "there is no format 0");
  const header result{get<std::uint64_t>(file, 16), get<std::uint64_t>(file, 24), get<std::uint32_t>(file, 32)};
  if (result.payload_bytes > max_payload_bytes || result.body_bytes > ZSTD_compressBound(max_payload_bytes)) {
    throw input_error(name, fmt::format("the profile would take more than {} MiB of memory", max_payload_bytes >> 20),
                      "it was not written by this heapledger");
  }
  return result;
}

buffer unpack(const header& header, std::string_view body, std::string_view name) {
  if (body.size() < header.body_bytes) {
    throw_cut_off(name, header_bytes + body.size(), header_bytes + header.body_bytes);
  }
  if (body.size() > header.body_bytes) {
    throw_damaged(name, fmt::format("it goes on after its end at byte {}", header_bytes + header.body_bytes));
  }
  if (crc(body) != header.body_crc) throw_damaged(name, "the checksum of its contents differs");
  if (ZSTD_getFrameContentSize(body.data(), body.size()) != header.payload_bytes ||
      ZSTD_findFrameCompressedSize(body.data(), body.size()) != body.size()) {
    throw_damaged(name, "its header and its contents differ in size");
  }
  buffer result{std::make_unique_for_overwrite<char[]>(header.payload_bytes), header.payload_bytes};
  const std::size_t size = ZSTD_decompress(result.data.get(), result.size, body.data(), body.size());
  if (size != result.size) throw_damaged(name, "its contents cannot be decompressed");
  return result;
}

}  // namespace heapledger::format
