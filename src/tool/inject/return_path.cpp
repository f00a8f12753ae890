#include "tool/inject/return_path.hpp"

#include <cstring>

namespace heapledger::inject {
namespace {

// Of a frame, and a word of the stack before what follows it.
std::uint64_t rounded_up(std::uint64_t bytes) {
  return (bytes + return_frame_alignment - 1) / return_frame_alignment * return_frame_alignment;
}

// swab exchanges the bytes of each pair.
std::int32_t swapped(std::int32_t value) {
  const auto word = static_cast<std::uint32_t>(value);
  return static_cast<std::int32_t>((word & 0x00ff00ff) << 8 | (word & 0xff00ff00) >> 8);
}

void put(std::vector<char>& content, std::uint64_t at, const void* from, std::size_t bytes) {
  std::memcpy(content.data() + at, from, bytes);
}

}  // namespace

std::size_t return_path::bytes(const thread_state& goes_on) {
  return 3 * return_frame_alignment + 2 * rounded_up(return_frame_bytes(goes_on));
}

return_path::return_path(const libc_code& code, const thread_state& goes_on, std::uint64_t mask, std::uint64_t at)
    : code_(code), goes_on_(goes_on), last_(goes_on), at_(at) {
  last_.mask = mask;
  last_.registers.rip = code.plain_return;
  last_.registers.rsp = last_word_at();
  last_.registers.eflags = 0x202;
}

std::uint64_t return_path::last_word_at() const {
  return end() + rounded_up(return_frame_bytes(goes_on_)) + return_frame_alignment - sizeof(std::uint64_t);
}

void return_path::put_back(std::uint64_t address, std::int32_t value) {
  if (code_.copy_swapped == 0) return;
  swapped_ = swapped(value);
  last_.registers.rip = code_.copy_swapped;
  last_.registers.rdi = value_at();
  last_.registers.rsi = address;
  last_.registers.rdx = sizeof value;
}

std::vector<char> return_path::content() const {
  std::vector<char> content(bytes(goes_on_));
  const auto words = first_words();
  const auto last = return_frame(last_, end());
  const auto frame = return_frame(goes_on_, last_word_at() + sizeof(std::uint64_t));
  put(content, value_at() - at_, &swapped_, sizeof swapped_);
  put(content, stack() - at_, words.data(), sizeof words);
  put(content, end() - at_, last.data(), last.size());
  put(content, last_word_at() - at_, &code_.end_of_handler, sizeof code_.end_of_handler);
  put(content, last_word_at() + sizeof(std::uint64_t) - at_, frame.data(), frame.size());
  return content;
}

std::vector<char> short_return_path::content(const libc_code& code, const thread_state& goes_on, std::uint64_t at) {
  std::vector<char> content(bytes(goes_on));
  const auto frame = return_frame(goes_on, at + frame_at);
  put(content, stack(at) - at, &code.end_of_handler, sizeof code.end_of_handler);
  put(content, frame_at, frame.data(), frame.size());
  return content;
}

}  // namespace heapledger::inject
