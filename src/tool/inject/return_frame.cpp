#include "tool/inject/return_frame.hpp"

#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace heapledger::inject {
namespace {

// The kernel's asm/ucontext.h and asm/sigcontext.h, which do not go together with libc's headers.
struct signal_context {
  std::uint64_t flags, link;
  std::uint64_t stack;
  std::int32_t stack_flags, unused;
  std::uint64_t stack_bytes;
  std::uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
  std::uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
  std::uint16_t cs, gs, fs, ss;
  std::uint64_t error, trap, old_mask, cr2;
  std::uint64_t vectors;
  std::uint64_t reserved[8];
  std::uint64_t mask;
};
static_assert(sizeof(signal_context) == 304);

constexpr std::uint64_t has_xstate = 1, has_ss = 2, restores_ss = 4;
// Is no state of an alternate stack: the kernel then leaves the one there is, which nobody outside can ask for.
constexpr std::int32_t no_stack_state = 4;

// What the kernel looks for in a part that the processor leaves to software.
struct software_part {
  std::uint32_t magic;
  std::uint32_t bytes_with_end;
  std::uint64_t features;
  std::uint32_t bytes;
  std::uint32_t unused[7];
};
constexpr std::uint32_t magic_begin = 0x46505853, magic_end = 0x46505845;
constexpr std::size_t software_part_at = 464, header_at = 512, first_extended_at = 576;
constexpr std::uint64_t x87_and_sse = 3;
constexpr std::size_t vectors_at = 320;

std::uint64_t features_of(const thread_state& state) {
  std::uint64_t in_use = 0;
  if (state.vectors.size() >= first_extended_at) std::memcpy(&in_use, state.vectors.data() + header_at, sizeof in_use);
  return in_use | x87_and_sse;  // the control words are theirs, which are not always as at first
}

// Where the state of each feature ends, as the processor says it.
std::array<std::size_t, 63> ends_of_features() {
  std::array<std::size_t, 63> ends{};
  for (unsigned i = 2; i < ends.size(); ++i) {
    unsigned size = 0, offset = 0, c = 0, d = 0;
    if (__get_cpuid_count(0xd, i, &size, &offset, &c, &d) != 0 && size != 0) ends[i] = std::size_t{offset} + size;
  }
  return ends;
}

const std::array<std::size_t, 63>& known_ends() {
  static const auto ends = ends_of_features();
  return ends;
}

// Only what is in use: what is not has its first values again, and the whole may be more than the kernel takes.
std::size_t bytes_in_use(const thread_state& state) {
  const auto features = features_of(state);
  std::size_t bytes = first_extended_at;
  for (unsigned i = 2; i < known_ends().size(); ++i)
    if ((features >> i & 1) != 0) bytes = std::max(bytes, known_ends()[i]);
  return std::min(bytes, state.vectors.size());
}

}  // namespace

void prepare_return_frames() {
  known_ends();
}

std::size_t return_frame_bytes(const thread_state& state) {
  const auto bytes = vectors_at + bytes_in_use(state) + sizeof magic_end;
  return (bytes + 7) / 8 * 8;
}

std::vector<char> return_frame(const thread_state& state, std::uint64_t at) {
  const auto& r = state.registers;
  signal_context context{};
  context.flags = has_xstate | has_ss | restores_ss;
  context.stack_flags = no_stack_state;
  context.r8 = r.r8, context.r9 = r.r9, context.r10 = r.r10, context.r11 = r.r11;
  context.r12 = r.r12, context.r13 = r.r13, context.r14 = r.r14, context.r15 = r.r15;
  context.rdi = r.rdi, context.rsi = r.rsi, context.rbp = r.rbp, context.rbx = r.rbx;
  context.rdx = r.rdx, context.rax = r.rax, context.rcx = r.rcx, context.rsp = r.rsp;
  context.rip = r.rip, context.eflags = r.eflags;
  context.cs = static_cast<std::uint16_t>(r.cs), context.ss = static_cast<std::uint16_t>(r.ss);
  context.vectors = at + vectors_at;
  context.mask = state.mask;

  std::vector<char> frame(return_frame_bytes(state));
  std::memcpy(frame.data(), &context, sizeof context);
  const auto bytes = bytes_in_use(state);
  std::memcpy(frame.data() + vectors_at, state.vectors.data(), bytes);
  const software_part part{magic_begin,
                           static_cast<std::uint32_t>(bytes + sizeof magic_end),
                           features_of(state),
                           static_cast<std::uint32_t>(bytes),
                           {}};
  std::memcpy(frame.data() + vectors_at + software_part_at, &part, sizeof part);
  std::memcpy(frame.data() + vectors_at + bytes, &magic_end, sizeof magic_end);
  return frame;
}

}  // namespace heapledger::inject
