#include "tool/symbolize/mini_debug_info.hpp"

#include <lzma.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "tool/symbolize/inflation.hpp"

namespace heapledger::symbols {
namespace {

constexpr std::size_t first_bytes = std::size_t{256} << 10;
constexpr std::size_t most_bytes = std::size_t{128} << 20;                // a million functions
constexpr std::uint64_t most_dictionary_bytes = std::uint64_t{80} << 20;  // xz -9 takes 65 MiB

std::optional<std::vector<char>> expand(std::span<const std::uint8_t> packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, most_dictionary_bytes, 0) != LZMA_OK) return std::nullopt;
  std::vector<char> out;
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  auto status = LZMA_OK;
  while (status == LZMA_OK && out.size() < most_bytes) {
    const auto done = static_cast<std::size_t>(stream.total_out);
    out.resize(std::clamp(done * 2, first_bytes, most_bytes));
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data()) + done;
    stream.avail_out = out.size() - done;
    status = lzma_code(&stream, LZMA_FINISH);
  }
  out.resize(static_cast<std::size_t>(stream.total_out));
  lzma_end(&stream);
  if (status != LZMA_STREAM_END) return std::nullopt;
  return out;
}

}  // namespace

std::unique_ptr<mini_debug_info> mini_debug_info::open(const elf_file& file) {
  const auto packed = file.bytes_of(".gnu_debugdata");
  if (packed.empty()) return nullptr;
  auto image = expand(packed);
  if (!image) return nullptr;
  std::unique_ptr<mini_debug_info> result(new mini_debug_info);
  result->image_ = std::move(*image);
  result->elf_.reset(elf_memory(result->image_.data(), result->image_.size()));
  Elf* const elf = result->elf_.get();
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || inflates_beyond_reason(elf, result->image_.size()))
    return nullptr;
  return result;
}

}  // namespace heapledger::symbols
