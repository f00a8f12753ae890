#include "probe/hook/environment.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

#include "probe/hook/next.hpp"

namespace heapledger::probe {
namespace {

constexpr char preload[] = "LD_PRELOAD=";
constexpr std::size_t preload_length = sizeof preload - 1;
constexpr const char* names[] = {
    "HEAPLEDGER_SESSION=",   "HEAPLEDGER_OUTPUT=", "HEAPLEDGER_STACKS=", "HEAPLEDGER_DEPTH=",
    "HEAPLEDGER_NO_FOLLOW=", "HEAPLEDGER_ONLY=",   "HEAPLEDGER_CHECK="};
constexpr std::size_t name_count = sizeof names / sizeof names[0];

constinit char* hidden[name_count] = {};
constinit std::size_t hidden_count = 0;
constinit char own_path[4096] = {};
constinit char rest_of_preload[4096 + sizeof preload] = {};
constinit bool following = false;

bool is_preload(const char* entry) {
  return std::strncmp(entry, preload, preload_length) == 0;
}

bool is_ours(const char* entry) {
  if (entry[0] != 'H') return false;
  for (const char* name : names)
    if (std::strncmp(entry, name, std::strlen(name)) == 0) return true;
  return false;
}

// Copies the libraries of a list but for ourselves; true if we were among them.
bool without_us(const char* list, char* out, std::size_t capacity) {
  bool found = false;
  std::size_t used = 0;
  const std::size_t own_length = std::strlen(own_path);
  while (*list != 0) {
    const std::size_t length = std::strcspn(list, ": ");
    if (length == own_length && std::strncmp(list, own_path, length) == 0) {
      found = true;
    } else if (length != 0 && used + length + 2 < capacity) {
      if (used != 0) out[used++] = ':';
      std::memcpy(out + used, list, length);
      used += length;
    }
    list += length;
    if (*list != 0) ++list;
  }
  out[used] = 0;
  return found;
}

bool has_us(const char* list) {
  char rest[sizeof rest_of_preload];
  return without_us(list, rest, sizeof rest);
}

}  // namespace

void start_environment(bool follow) {
  Dl_info self;
  if (environ == nullptr || dladdr(own_path, &self) == 0 || std::strlen(self.dli_fname) >= sizeof own_path) return;
  std::strcpy(own_path, self.dli_fname);
  bool preloaded = false;
  char** kept = environ;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (is_ours(*entry)) {
      if (hidden_count < name_count) hidden[hidden_count++] = *entry;
      continue;
    }
    if (is_preload(*entry) && std::strlen(*entry) < sizeof rest_of_preload &&
        without_us(*entry + preload_length, rest_of_preload + preload_length,
                   sizeof rest_of_preload - preload_length)) {
      preloaded = true;
      if (rest_of_preload[preload_length] == 0) continue;
      std::memcpy(rest_of_preload, preload, preload_length);
      *kept++ = rest_of_preload;
      continue;
    }
    *kept++ = *entry;
  }
  *kept = nullptr;
  following = follow && preloaded;
}

// Room for the pointers, then for the text of LD_PRELOAD.
std::size_t child_environment::bytes(char* const* program) {
  if (!following) return 0;
  std::size_t count = 0;
  std::size_t text = preload_length + std::strlen(own_path) + 2;
  for (; program != nullptr && program[count] != nullptr; ++count) {
    if (!is_preload(program[count])) continue;
    if (has_us(program[count] + preload_length)) return 0;
    text += std::strlen(program[count]);
  }
  return (count + hidden_count + 2) * sizeof(char*) + text;
}

char* const* child_environment::build(char* const* program, void* room) {
  std::size_t count = 0;
  while (program != nullptr && program[count] != nullptr) ++count;
  auto** entries = static_cast<char**>(room);
  char* text = reinterpret_cast<char*>(entries + count + hidden_count + 2);
  std::size_t used = 0;
  const char* theirs = "";
  for (std::size_t i = 0; i < count; ++i) {
    if (is_preload(program[i]))
      theirs = program[i] + preload_length;
    else if (!is_ours(program[i]))
      entries[used++] = program[i];
  }
  for (std::size_t i = 0; i < hidden_count; ++i) entries[used++] = hidden[i];
  entries[used++] = text;
  entries[used] = nullptr;
  char* end = stpcpy(stpcpy(text, preload), own_path);
  if (*theirs != 0) {
    *end++ = ':';
    std::strcpy(end, theirs);
  }
  return entries;
}

}  // namespace heapledger::probe
