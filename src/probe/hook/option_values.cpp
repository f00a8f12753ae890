#include "probe/hook/option_values.hpp"

#include <csignal>
#include <cstring>

#include "probe/base/attributes.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {
namespace {

constexpr unsigned most_refused = 8;
constinit const char* refused[most_refused] = {};
constinit unsigned refused_count = 0;

template <class T>
struct word {
  const char* text;
  T value;
};

HL_COLD void refuse(const char* name, const char* text, const char* wanted) {
  if (refused_count == most_refused) return;
  refused[refused_count++] = name;
  constexpr std::size_t text_shown = 80;
  char line[256];
  char* end = stpcpy(stpcpy(stpcpy(line, "heapledger: "), name), ": '");
  end = static_cast<char*>(mempcpy(end, text, strnlen(text, text_shown)));
  for (char* at = line; at != end; ++at)
    if (static_cast<unsigned char>(*at) < ' ' || *at == 0x7f) *at = '?';
  end = stpcpy(stpcpy(stpcpy(end, "' is not "), wanted), ", and not heeded\n");
  sys::call(__NR_write, 2, sys::word(line), static_cast<std::uint64_t>(end - line));
}

template <class T, std::size_t Count>
void read_word(const char* name, const char* text, const word<T> (&words)[Count], const char* wanted, T& out) {
  if (text == nullptr || *text == 0) return;
  for (const word<T>& each : words)
    if (std::strcmp(each.text, text) == 0) {
      out = each.value;
      return;
    }
  refuse(name, text, wanted);
}

}  // namespace

void read_flag(const char* name, const char* text, bool& out) {
  constexpr word<bool> words[] = {{"1", true},  {"true", true},   {"yes", true}, {"on", true},
                                  {"0", false}, {"false", false}, {"no", false}, {"off", false}};
  read_word(name, text, words, "yes or no", out);
}

void read_depth(const char* name, const char* text, std::uint32_t& out) {
  if (text == nullptr || *text == 0) return;
  constexpr std::uint64_t deepest = 1'000'000;
  std::uint64_t value = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9' && value <= UINT32_MAX; ++at) value = value * 10 + static_cast<unsigned>(*at - '0');
  if (*at == 0 && value <= UINT32_MAX)
    out = static_cast<std::uint32_t>(value < deepest ? value : deepest);
  else
    refuse(name, text, "a whole number from 0 to 4294967295");
}

void read_stacks(const char* name, const char* text, wire::stacks_mode& out) {
  using enum wire::stacks_mode;
  constexpr word<wire::stacks_mode> words[] = {{"dwarf", dwarf}, {"jit", jit}, {"fp", frame_pointer}, {"off", off}};
  read_word(name, text, words, "dwarf, jit, fp or off", out);
}

void read_snapshot_signal(const char* name, const char* text, int& out) {
  constexpr word<int> words[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
  read_word(name, text, words, "USR1 or USR2", out);
}

bool is_refused(const char* entry) {
  for (unsigned i = 0; i < refused_count; ++i) {
    const std::size_t length = std::strlen(refused[i]);
    if (std::strncmp(entry, refused[i], length) == 0 && entry[length] == '=') return true;
  }
  return false;
}

}  // namespace heapledger::probe
