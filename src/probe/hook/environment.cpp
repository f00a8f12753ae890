#include "probe/hook/environment.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "probe/base/syscalls.hpp"
#include "probe/hook/environment_text.hpp"
#include "probe/hook/initial_stack.hpp"
#include "probe/hook/option_values.hpp"
#include "probe/hook/preload_list.hpp"

namespace heapledger::probe {
namespace {

constexpr char preload[] = "LD_PRELOAD=";
constexpr std::size_t preload_length = sizeof preload - 1;
constexpr char session[] = "HEAPLEDGER_SESSION=";
constexpr std::size_t session_length = sizeof session - 1;
constexpr char lister[] = "LD_TRACE_LOADED_OBJECTS=";  // the loader lists libraries, as for ldd, and executes nothing
constexpr const char* names[] = {session,
                                 "HEAPLEDGER_OUTPUT=",
                                 "HEAPLEDGER_STACKS=",
                                 "HEAPLEDGER_DEPTH=",
                                 "HEAPLEDGER_NO_FOLLOW=",
                                 "HEAPLEDGER_ONLY=",
                                 "HEAPLEDGER_CHECK=",
                                 "HEAPLEDGER_SNAPSHOT_SIGNAL=",
                                 "HEAPLEDGER_LIFETIMES="};
constexpr std::size_t name_count = sizeof names / sizeof names[0];

constinit char* hidden[name_count] = {};
constinit std::size_t hidden_count = 0;
constinit char own_path[4096] = {};
constinit char rest_of_preload[4096 + sizeof preload] = {};
constinit char hidden_text[8192] = {};
constinit std::size_t hidden_bytes = 0;
constinit bool following = false;

bool begins_preload(const char* entry) {
  return std::strncmp(entry, preload, preload_length) == 0;
}

bool is_ours(const char* entry) {
  if (entry[0] != 'H') return false;
  for (const char* name : names)
    if (std::strncmp(entry, name, std::strlen(name)) == 0) return true;
  return false;
}

bool is_us(const char* library, std::size_t length) {
  return length == std::strlen(own_path) && std::strncmp(library, own_path, length) == 0;
}

bool is_probe(const char* library, std::size_t length) {
  return is_us(library, length) || is_named_as_probe(library, length);
}

// The folder of the session; nullptr with a bare LD_PRELOAD.
const char* session_folder() {
  for (std::size_t i = 0; i < hidden_count; ++i)
    if (std::strncmp(hidden[i], session, session_length) == 0) return hidden[i] + session_length;
  return nullptr;
}

// In another root, in a sandbox with other folders, or as a user who may not. Asked for the real user, of whom the
// kernel asks without the privileges that a program loses when it executes another.
bool can_reach(const char* path, int mode) {
  const long error = sys::call(__NR_faccessat, static_cast<std::uint64_t>(AT_FDCWD), sys::word(path), mode);
  return error != -ENOENT && error != -ENOTDIR && error != -EACCES;
}

// A sandbox of files (Landlock, AppArmor) refuses what the permissions grant, and only then.
bool can_open(const char* path) {
  const int file = sys::open(path, O_RDONLY | O_CLOEXEC, 0);
  if (file >= 0) sys::close(file);
  return file != -EACCES;
}

// The loader complains of a library that it does not find; who finds no folder for its books keeps none, and says
// nothing.
bool can_load_us_and_keep_books() {
  if (!can_reach(own_path, R_OK) || !can_open(own_path)) return false;
  const char* folder = session_folder();
  return folder == nullptr || can_reach(folder, W_OK | X_OK);
}

// Where the entries that are ours begin, if they are the last of the text: whoever executes us puts them there.
char* begin_of_ours(char* text_end) {
  char** first = initial_environment();
  char** entry = first;
  while (*entry != nullptr) ++entry;
  char* begin = text_end;
  while (entry-- != first) {
    const bool hides = is_ours(*entry) || (begins_preload(*entry) && has(is_us, *entry + preload_length));
    if (!hides || *entry + std::strlen(*entry) + 1 != begin) break;
    begin = *entry;
  }
  return begin;
}

// A copy that stays when the text is overwritten; nullptr when there is no room.
char* keep(const char* entry) {
  const std::size_t bytes = std::strlen(entry) + 1;
  if (bytes > sizeof hidden_text - hidden_bytes) return nullptr;
  char* copy = hidden_text + hidden_bytes;
  hidden_bytes += bytes;
  return static_cast<char*>(std::memcpy(copy, entry, bytes));
}

// Takes our entries out of `environ`, and ourselves out of the program's own LD_PRELOAD.
struct taking_out {
  bool preloaded = false;
  bool copied = true;            // nothing points into our entries' text any more
  char** own_preload = nullptr;  // what is left of LD_PRELOAD

  taking_out() {
    char** kept = environ;
    char** entry = environ;
    for (; *entry != nullptr; ++entry) {
      if (is_ours(*entry))
        hide(*entry);
      else if (!begins_preload(*entry) || !shorten(*entry, kept))
        *kept++ = *entry;
    }
    while (kept != entry) *--entry = nullptr;
  }

 private:
  void hide(char* entry) {
    if (is_refused(entry)) return;
    char* copy = keep(entry);
    copied = copied && copy != nullptr;
    if (hidden_count < name_count) hidden[hidden_count++] = copy != nullptr ? copy : entry;
  }
  bool shorten(char* entry, char**& kept) {
    if (std::strlen(entry) >= sizeof rest_of_preload) return false;
    char* rest = rest_of_preload + preload_length;
    if (!copy_without(is_us, entry + preload_length, rest, sizeof rest_of_preload - preload_length)) return false;
    preloaded = true;
    if (*rest == 0) return true;
    std::memcpy(rest_of_preload, preload, preload_length);
    own_preload = kept;
    *kept++ = rest_of_preload;
    return true;
  }
};

}  // namespace

void start_environment(bool follow) {
  Dl_info self;
  if (environ == nullptr || dladdr(own_path, &self) == 0 || std::strlen(self.dli_fname) >= sizeof own_path) return;
  std::strcpy(own_path, self.dli_fname);
  char* const text_end = end_of_environment_text();
  char* begin = text_end != nullptr ? begin_of_ours(text_end) : nullptr;
  const taking_out taken;
  following = follow && taken.preloaded;
  if (!taken.copied || begin == text_end) return;
  if (taken.own_preload != nullptr && std::strlen(rest_of_preload) < static_cast<std::size_t>(text_end - begin)) {
    *taken.own_preload = begin;
    begin = stpcpy(begin, rest_of_preload) + 1;
  }
  shorten_environment_text(begin, text_end);
}

child_environment::child_environment(char* const* program)
    : program_(program), follows_(following), is_within_reach_(following && can_load_us_and_keep_books()) {
  if (!is_within_reach_) return;
  bool has_session = session_folder() == nullptr, is_list = false;
  for (; program != nullptr && program[count_] != nullptr; ++count_) {
    if (begins_preload(program[count_])) program_preload_ = program[count_];
    has_session = has_session || std::strncmp(program[count_], session, session_length) == 0;
    is_list = is_list || std::strncmp(program[count_], lister, sizeof lister - 1) == 0;
  }
  // The program may preload us itself, as tests do under ctest.
  own_ = is_list || (has_session && has(is_probe, libraries()));
}

const char* child_environment::libraries() const {
  return program_preload_ != nullptr ? program_preload_ + preload_length : "";
}

std::size_t child_environment::pointers() const {
  return count_ + hidden_count + 2;
}

std::size_t child_environment::preload_bytes() const {
  return preload_length + std::strlen(own_path) + std::strlen(libraries()) + 2;
}

void child_environment::write_preload(char* text) const {
  char* end = stpcpy(stpcpy(text, preload), own_path);
  char* others = end + 1;
  copy_without(is_probe, libraries(), others, preload_bytes() - static_cast<std::size_t>(others - text));
  *end = *others != 0 ? ':' : 0;
}

bool child_environment::is_preload(const char* text) const {
  const char* rest = text + preload_length + std::strlen(own_path);
  for (const char* list = libraries(); *list != 0; list += *list != 0) {
    const std::size_t length = length_of_library(list);
    if (length != 0 && !is_probe(list, length)) {
      if (*rest != ':' || std::strncmp(rest + 1, list, length) != 0) return false;
      rest += 1 + length;
    }
    list += length;
  }
  return *rest == 0;
}

std::size_t child_environment::build(char** entries, char* preload) const {
  std::size_t used = 0;
  for (std::size_t i = 0; i < count_; ++i)
    if (!begins_preload(program_[i]) && !is_ours(program_[i])) entries[used++] = program_[i];
  for (std::size_t i = 0; i < hidden_count; ++i) entries[used++] = hidden[i];
  entries[used++] = preload;
  entries[used] = nullptr;
  return used;
}

char* const* child_environment::build(void* room) const {
  auto** entries = static_cast<char**>(room);
  char* text = reinterpret_cast<char*>(entries + pointers());
  write_preload(text);
  build(entries, text);
  return entries;
}

bool child_environment::added(const char* entry) {
  for (std::size_t i = 0; i < hidden_count; ++i)
    if (entry == hidden[i]) return true;
  return false;
}

}  // namespace heapledger::probe
