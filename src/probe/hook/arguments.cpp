#include "probe/hook/arguments.hpp"

#include <fcntl.h>

#include <cstring>

#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/initial_stack.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

constexpr std::size_t bytes_limit = 64 * 1024;

void publish_those_of_kernel() {
  wire::segment_header& header = *segment.header;
  void* const room = own_map(bytes_limit);
  if (room == nullptr) return;
  auto* const text = static_cast<char*>(room);
  const int file = sys::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
  const long bytes = file >= 0 ? sys::read(file, text, bytes_limit) : 0;
  if (file >= 0) sys::close(file);
  if (bytes > 0) {
    header.command_bytes = static_cast<std::uint32_t>(text[bytes - 1] == 0 ? bytes - 1 : bytes);
    header.command = publish_string(text, header.command_bytes);
  }
  own_unmap(room, bytes_limit);
}

// Where the kernel put the arguments. Found at the start, for what points to them is the program's: firefox has nulls
// there when it forks, and libraries for process titles have copies.
struct arguments_place {
  const char* text;
  std::size_t bytes;
};
constinit arguments_place known{};

void find_arguments() {
  char** const arguments = initial_arguments();
  const std::uint64_t count = initial_argument_count();
  if (count == 0 || count >= 100'000) return;
  const char* const first = arguments[0];
  const char* const last = arguments[count - 1];
  if (first == nullptr || last < first) return;
  const std::size_t bytes = last + std::strlen(last) - first;
  known = {first, bytes < bytes_limit ? bytes : bytes_limit};
}

}  // namespace

void publish_arguments(bool ran_already) {
  if (ran_already) return publish_those_of_kernel();
  if (known.text == nullptr) find_arguments();
  if (known.text == nullptr) return;
  wire::segment_header& header = *segment.header;
  header.command = publish_string(known.text, known.bytes);
  header.command_bytes = static_cast<std::uint32_t>(known.bytes);
}

}  // namespace heapledger::probe
