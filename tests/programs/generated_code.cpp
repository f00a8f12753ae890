// Code that the program makes while it runs, as a JIT does, with unwind tables that it registers: generated_code.
//
// The same few bytes of memory hold one function after the other, with frames of other sizes: a stale rule would be
// seen. Sections hold one function, or several; each is taken back, or written over without a word, also by a child.
//
// unregistered  two functions without tables, of which the first keeps a frame pointer and has a name in the map for
// perf ruleless      tables that say nothing, as LuaJIT's lost          the tables' memory comes to hold other things,
// or is given back: nobody notices who throws no exception
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "books.hpp"

extern "C" void __register_frame(void*);
extern "C" void __deregister_frame(void*);

namespace {

constexpr std::size_t slot_bytes = 32;

class section {
 public:
  // Common information: the return address is below the CFA, which is 8 above rsp where a function begins. `plain`: in
  // the oldest form.
  explicit section(bool plain = false, bool ruleless = false) : plain_(plain), ruleless_(ruleless) {
    begin_entry();
    append<std::uint32_t>(0);
    append_bytes({1});
    if (!plain) append_bytes({'z', 'R'});
    append_bytes({0, 1, 0x78, 16});
    if (!plain) append_bytes({1, 0});
    if (!ruleless) append_bytes({0x0c, 7, 8, 0x90, 1});
    end_entry();
  }

  // push %rbx; sub $frame, %rsp; call *%rdi; add $frame, %rsp; pop %rbx; ret
  void add_function(std::uint8_t* code, std::uint32_t frame) {
    std::uint8_t bytes[] = {0x53, 0x48, 0x81, 0xec, 0, 0, 0, 0, 0xff, 0xd7, 0x48, 0x81, 0xc4, 0, 0, 0, 0, 0x5b, 0xc3};
    std::memcpy(bytes + 4, &frame, sizeof frame);
    std::memcpy(bytes + 13, &frame, sizeof frame);
    std::memcpy(code, bytes, sizeof bytes);
    begin_entry();
    append(static_cast<std::uint32_t>(bytes_.size()));
    append(code);
    append(std::uint64_t{sizeof bytes});
    if (!plain_) append_bytes({0});
    if (!ruleless_) {
      append_bytes({0x41, 0x0e, 16, 0x83, 2, 0x47, 0x0e});  // behind the push; behind the sub
      const std::uint32_t offset = frame + 16;
      append_bytes({static_cast<std::uint8_t>(0x80 | (offset & 0x7f)), static_cast<std::uint8_t>(offset >> 7)});
    }
    end_entry();
  }

  void enter() {
    append<std::uint32_t>(0);
    __register_frame(bytes_.data());
  }
  void leave() { __deregister_frame(bytes_.data()); }
  // The same from a copy.
  void enter_at(void* memory) {
    append<std::uint32_t>(0);
    std::memcpy(memory, bytes_.data(), bytes_.size());
    __register_frame(memory);
  }

 private:
  template <class T>
  void append(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    std::memcpy(bytes_.data() + bytes_.size() - sizeof value, &value, sizeof value);
  }
  void append_bytes(std::initializer_list<std::uint8_t> more) { bytes_.insert(bytes_.end(), more); }
  void begin_entry() {
    start_ = bytes_.size();
    append<std::uint32_t>(0);
  }
  void end_entry() {
    while ((bytes_.size() - start_) % 8 != 4) bytes_.push_back(0);
    const auto length = static_cast<std::uint32_t>(bytes_.size() - start_ - 4);
    std::memcpy(bytes_.data() + start_, &length, sizeof length);
  }

  std::vector<std::uint8_t> bytes_;
  std::size_t start_ = 0;
  const bool plain_, ruleless_;
};

using generated = void(void (*)());

void call(std::uint8_t* code, void (*function)()) {
  reinterpret_cast<generated*>(code)(function);
  test::escape(code);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void site_in_generated() {
  for (int i = 0; i < 3; ++i) {
    void* volatile block = malloc(static_cast<std::size_t>(100 + i));
    free(block);
  }
}

[[gnu::noinline]] void calls_generated(std::uint8_t* code) {
  call(code, site_in_generated);
}

}  // extern "C"

namespace {

std::uint8_t* code;

void one_after_the_other() {
  for (const std::uint32_t frame : {32u, 96u, 32u, 4064u}) {
    section one(frame == 96);
    one.add_function(code, frame);
    one.enter();
    calls_generated(code);
    one.leave();
  }
}

void several() {
  section all;
  for (const unsigned i : {0u, 2u, 4u, 6u, 1u, 3u, 5u, 7u}) all.add_function(code + i * slot_bytes, 32 + 16 * i);
  all.add_function(code + 2048, 512);  // apart from them
  all.enter();
  for (const unsigned i : {0u, 7u, 3u}) calls_generated(code + i * slot_bytes);
  calls_generated(code + 2048);
  all.leave();
}

void* map_page(int protection) {
  void* const memory = mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

void lost() {
  std::uint8_t* at = code;
  for (const int byte : {-1, 0x00, 0x41, 0xff}) {
    section one;
    one.add_function(at, 64);
    void* const tables = map_page(PROT_READ | PROT_WRITE);
    one.enter_at(tables);
    if (byte >= 0)
      std::memset(tables, byte, 4096);
    else
      CHECK(munmap(tables, 4096) == 0);
    calls_generated(at);
    at += slot_bytes;
  }
}

void ruleless() {
  section one(false, true);
  one.add_function(code, 64);
  one.enter();
  calls_generated(code);
  one.leave();
}

// push %rbp; mov %rsp, %rbp; sub $64, %rsp; call *%rdi; leave; ret. The second leaves rbp alone.
void unregistered() {
  constexpr std::uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 64, 0xff, 0xd7, 0xc9, 0xc3};
  constexpr std::uint8_t frameless[] = {0x48, 0x83, 0xec, 72, 0xff, 0xd7, 0x48, 0x83, 0xc4, 72, 0xc3};
  std::memcpy(code, framed, sizeof framed);
  std::memcpy(code + slot_bytes, frameless, sizeof frameless);
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::FILE* const map = std::fopen(path.c_str(), "we");
  CHECK(map);
  std::fprintf(map, "%lx %zx stale\n%lx %zx JS:*framed a file.js:10:5\n", reinterpret_cast<unsigned long>(code),
               sizeof framed, reinterpret_cast<unsigned long>(code), sizeof framed);
  CHECK(std::fclose(map) == 0);
  calls_generated(code);
  calls_generated(code + slot_bytes);
}

}  // namespace

int main(int argc, char** argv) {
  code = static_cast<std::uint8_t*>(map_page(PROT_READ | PROT_WRITE | PROT_EXEC));
  if (argc == 2 && !std::strcmp(argv[1], "lost")) return lost(), 0;
  if (argc == 2 && !std::strcmp(argv[1], "ruleless")) return ruleless(), 0;
  if (argc == 2 && !std::strcmp(argv[1], "unregistered")) return unregistered(), 0;
  one_after_the_other();
  several();

  section inherited;
  inherited.add_function(code, 64);
  inherited.enter();
  calls_generated(code);
  const pid_t child = fork();
  if (child == 0) {
    inherited.leave();
    one_after_the_other();
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  calls_generated(code);
  inherited.leave();
  calls_generated(code);  // nobody can tell what is outside
  inherited.enter();
  calls_generated(code);  // as before
  inherited.leave();
}
