#include "tool/cli/answer.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace heapledger::cli {
namespace {

[[noreturn]] void fail() {
  throw std::runtime_error(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

}  // namespace

void print_answer(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void finish_answer() {
  if (std::fflush(stdout) != 0) fail();
}

}  // namespace heapledger::cli
