// A mangled Rust v0 name while it is read, and the text that is made of it. Once something does not fit, `ok()` is
// false for good: everything reads as nothing, and nothing more is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heapledger::symbols {

struct rust_identifier {
  std::string_view text;
  bool punycode = false;
  std::uint64_t disambiguator = 0;
};

class rust_v0_text {
 public:
  explicit rust_v0_text(std::string_view mangled) : text_(mangled) {}

  bool ok() const { return ok_; }
  void fail() { ok_ = false; }
  bool at_end() const { return position_ >= text_.size(); }
  std::size_t position() const { return position_; }
  void move_to(std::size_t position) { position_ = position; }

  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  char next();
  bool take(char c);
  std::uint64_t base62();
  std::uint64_t optional_base62(char tag);  // 0 when the tag is not there
  rust_identifier identifier();
  rust_identifier disambiguated_identifier();
  std::string_view hex_digits();  // up to '_'

  bool silent() const { return silent_; }
  bool set_silent(bool silent);  // the value before
  void print(std::string_view text);
  void print(char c) { print(std::string_view(&c, 1)); }
  void print(const rust_identifier& name);
  void print_number(std::uint64_t value) { print(std::to_string(value)); }
  const std::string& printed() const { return out_; }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
  std::string out_;
  bool ok_ = true;
  bool silent_ = false;
};

}  // namespace heapledger::symbols
