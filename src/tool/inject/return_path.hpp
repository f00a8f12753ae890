// Where a function that was called from outside returns to, on the stack that it was given. While we live, we take over
// at the last step but one. When we do not, the thread goes all the way: its errno is put back, and the thread is where
// it was.
//
//   a return | keep_result | end_of_handler | frame of a last function of libc's
//   end_of_handler | frame of the thread as it goes on
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tool/inject/libc_code.hpp"
#include "tool/inject/return_frame.hpp"

namespace heapledger::inject {

class return_path {
 public:
  static std::size_t bytes(const thread_state& goes_on);

  return_path() = default;
  // At this address, a multiple of a page. `mask`: the signals that are blocked meanwhile.
  return_path(const libc_code& code, const thread_state& goes_on, std::uint64_t mask, std::uint64_t at);

  std::vector<char> content() const;
  std::uint64_t stack() const { return at_ + first_words_at; }  // at the first instruction of a function
  // To be written anew for each call, there.
  std::array<std::uint64_t, 3> first_words() const {
    return {code_.plain_return, code_.keep_result, code_.end_of_handler};
  }

  // Where we take over: a system call is about to be made, with this stack; what the function returned is there.
  std::uint64_t end() const { return stack() + sizeof(std::uint64_t) * 3; }
  std::uint64_t result_at() const { return stack() + sizeof(std::uint64_t) * 2 - kept_result_below; }

  // What the last function is to write, and where; nothing at first. It finds the value at value_at, as bytes_of_value.
  void put_back(std::uint64_t address, std::int32_t value);
  std::uint64_t value_at() const { return at_ + bytes(goes_on_) - return_frame_alignment; }
  std::int32_t bytes_of_value() const { return swapped_; }

 private:
  static constexpr std::uint64_t first_words_at = return_frame_alignment - 3 * sizeof(std::uint64_t);
  std::uint64_t last_word_at() const;

  libc_code code_;
  thread_state goes_on_;
  thread_state last_;
  std::uint64_t at_ = 0;
  std::int32_t swapped_ = 0;
};

// The same without a function before it, for a system call of the gate's, or for the change of stack.
class short_return_path {
 public:
  static std::size_t bytes(const thread_state& goes_on) { return frame_at + return_frame_bytes(goes_on); }
  static std::vector<char> content(const libc_code& code, const thread_state& goes_on, std::uint64_t at);
  static std::uint64_t stack(std::uint64_t at) { return at + frame_at - sizeof(std::uint64_t); }
  static std::uint64_t frame_pointer(std::uint64_t at) { return stack(at) - sizeof(std::uint64_t); }

 private:
  static constexpr std::uint64_t frame_at = return_frame_alignment;
};

}  // namespace heapledger::inject
