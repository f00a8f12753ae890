// Our variables in the program's environment: hidden from the program, and put back for what it executes, so that
// children are followed even where the program builds their environment itself.
//
// Usable between vfork and exec: nothing here allocates after start_environment().
#pragma once

#include <cstddef>

namespace heapledger::probe {

// Takes our variables, and ourselves out of LD_PRELOAD, out of `environ`. With `follow`, children get them back.
void start_environment(bool follow);

// The environment of a child: the program's with our variables, which are its last entries.
class child_environment {
 public:
  explicit child_environment(char* const* program);

  bool follows() const { return follows_; }                  // children are to keep books
  bool is_within_reach() const { return is_within_reach_; }  // and can load us, and have a place for them

  // How much room it needs; 0 when it is the program's own.
  std::size_t bytes() const { return own_ ? 0 : pointers() * sizeof(char*) + preload_bytes(); }
  // Builds it in `room`, which must outlive its use.
  char* const* build(void* room) const;

  // The same in two pieces, for a room of pointers that is used again while the text stays.
  std::size_t pointers() const;  // at most, with the null
  std::size_t preload_bytes() const;
  void write_preload(char* text) const;
  bool is_preload(const char* text) const;                 // whether write_preload would write this
  std::size_t build(char** entries, char* preload) const;  // how many, without the null

  // Whether build() added this very entry, LD_PRELOAD apart.
  static bool added(const char* entry);
  // The program's own LD_PRELOAD, which the child's replaces; nullptr if it has none.
  char* program_preload() const { return program_preload_; }

 private:
  const char* libraries() const;  // the program's own

  char* const* program_;
  char* program_preload_ = nullptr;
  std::size_t count_ = 0;
  bool follows_;
  bool is_within_reach_;
  bool own_ = true;
};

}  // namespace heapledger::probe
