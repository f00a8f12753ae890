#include "probe/hook/options.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "probe/base/syscalls.hpp"
#include "probe/hook/child_program.hpp"
#include "probe/hook/initial_stack.hpp"
#include "probe/hook/option_values.hpp"

namespace heapledger::probe {
namespace {

// What there is instead of an environment: strings, one behind the other, and an empty one.
constinit char given_text[8192] = {};

const char* variable(const char* name) {
  const std::size_t length = std::strlen(name);
  if (given_text[0] != 0) {
    for (const char* entry = given_text; *entry != 0; entry += std::strlen(entry) + 1)
      if (std::strncmp(entry, name, length) == 0 && entry[length] == '=') return entry + length + 1;
    return nullptr;
  }
  for (char** entry = initial_environment(); *entry != nullptr; ++entry)
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  return nullptr;
}

bool glob(const char* pattern, const char* end, const char* text) {
  for (; pattern != end; ++pattern, ++text) {
    if (*pattern == '*') {
      for (;; ++text) {
        if (glob(pattern + 1, end, text)) return true;
        if (*text == 0) return false;
      }
    }
    if (*text == 0 || (*pattern != '?' && *pattern != *text)) return false;
  }
  return *text == 0;
}

bool matches_any(const char* list, const char* name) {
  for (;;) {
    const char* end = std::strchr(list, ':');
    if (glob(list, end != nullptr ? end : list + std::strlen(list), name)) return true;
    if (end == nullptr) return false;
    list = end + 1;
  }
}

class writer {
 public:
  writer(char* out, std::size_t capacity) : at_(out), end_(out + capacity - 1) {}
  void put(const char* text) {
    while (*text != 0) put(*text++);
  }
  void put(char letter) {
    if (at_ < end_)
      *at_++ = letter;
    else
      full_ = true;
  }
  void number(std::uint64_t value) {
    char digits[24];
    char* first = digits + sizeof digits - 1;
    *first = 0;
    do *--first = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    put(first);
  }
  bool finish() {
    *at_ = 0;
    return !full_;
  }

 private:
  char* at_;
  char* end_;
  bool full_ = false;
};

// Of a loader that was told to start a program (ld-linux.so.2 PROGRAM), that program.
int open_program_of_loader() {
  const auto* const path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return getauxval(AT_BASE) == 0 && path != nullptr ? sys::open(path, O_PATH | O_CLOEXEC, 0) : -1;
}

void read_program(options& out) {
  const int program = open_program_of_loader();
  char name[32] = "/proc/self/exe";
  if (program >= 0) write_name(name, static_cast<unsigned>(program));
  const long length = sys::readlink(name, out.exe, sizeof out.exe - 1);
  if (program >= 0) sys::close(program);
  out.exe[length > 0 ? length : 0] = 0;
  const char* slash = std::strrchr(out.exe, '/');
  writer(out.program, sizeof out.program).put(slash != nullptr ? slash + 1 : out.exe);
}

// The kind of file, as in st_mode; 0 where there is none.
unsigned kind_of(const char* path) {
  struct stat found {};
  return sys::call(__NR_stat, sys::word(path), sys::word(&found)) == 0 ? found.st_mode & S_IFMT : 0;
}

void read_place(options& out) {
  constexpr char default_name[] = "heapledger.%e.%p.hlp";
  const char* session = variable("HEAPLEDGER_SESSION");
  const char* pattern = variable("HEAPLEDGER_OUTPUT");
  out.session = session != nullptr && *session != 0;
  out.wished = !out.session && pattern != nullptr && *pattern != 0;
  const unsigned kind = out.wished ? kind_of(pattern) : 0;
  out.device = kind == S_IFCHR;
  const char* wanted = out.session ? session : out.wished ? pattern : default_name;
  writer place(out.place, sizeof out.place);
  if (*wanted != '/') {  // the program may change its directory before it forks
    char here[options::path_capacity];
    if (sys::call(__NR_getcwd, sys::word(here), sizeof here) > 0) {
      place.put(here);
      place.put('/');
    }
  }
  place.put(wanted);
  if (kind == S_IFDIR) {
    place.put('/');
    place.put(default_name);
  }
  if (!place.finish()) out.place[0] = 0;
}

void put_host(writer& out) {
  struct {
    char system[65], node[65], release[65], version[65], machine[65], domain[65];
  } name;
  if (sys::call(__NR_uname, sys::word(&name)) == 0) out.put(name.node);
}

}  // namespace

void read_options(options& out) {
  read_program(out);
  read_place(out);
  const auto read = [](auto& reader, const char* name, auto& value) { reader(name, variable(name), value); };
  bool alone = false;
  read(read_stacks, "HEAPLEDGER_STACKS", out.stacks);
  read(read_depth, "HEAPLEDGER_DEPTH", out.depth_limit);
  read(read_flag, "HEAPLEDGER_NO_FOLLOW", alone);
  read(read_flag, "HEAPLEDGER_CHECK", out.check);
  read(read_flag, "HEAPLEDGER_LIFETIMES", out.lifetimes);
  read(read_snapshot_signal, "HEAPLEDGER_SNAPSHOT_SIGNAL", out.snapshot_signal);
  out.follow = !alone;
  if (const char* only = variable("HEAPLEDGER_ONLY"); only != nullptr && *only != 0)
    out.selected = matches_any(only, out.program);
}

bool read_options(options& out, const char* given) {
  const std::size_t bytes = std::strlen(given);
  if (bytes + 4 > sizeof given_text) return false;
  std::memset(given_text, 0, sizeof given_text);
  char* to = given_text;
  *to++ = '=';  // the environment is not asked, even where nothing is given
  *to++ = 0;
  for (const char* at = given; *at != 0; ++at)
    if (*at != '\n')
      *to++ = *at;
    else if (to[-1] != 0)
      *to++ = 0;
  out = {};
  read_options(out);
  return true;
}

bool segment_path(const options& from, unsigned attempt, char* path) {
  writer out(path, options::path_capacity);
  if (from.place[0] == 0) return false;
  if (from.session) {
    out.put(from.place);
    out.put('/');
    out.number(sys::getpid());
    out.put('-');
    // A process may execute any number of programs, and its pid come again when the files of the first are gone: later
    // names are higher ones.
    out.number(sys::clock_ns(sys::clock_monotonic) + attempt);
    out.put(".hls");
    return out.finish();
  }
  for (const char* at = from.place; *at != 0; ++at) {
    if (*at != '%') {
      out.put(*at);
      continue;
    }
    switch (*++at) {
      case 'e':
        out.put(from.program);
        break;
      case 'p':
        out.number(sys::getpid());
        break;
      case 'h':
        put_host(out);
        break;
      case 't':
        out.number(sys::clock_ns(sys::clock_realtime) / 1'000'000'000u);
        break;
      case 0:
        --at;
        [[fallthrough]];
      case '%':
        out.put('%');
        break;
      default:
        out.put('%');
        out.put(*at);
        break;
    }
  }
  if (attempt != 0) {  // what is there is not overwritten
    out.put('.');
    out.number(attempt);
  }
  return out.finish();
}

bool is_place_within_reach(const options& from) {
  if (!from.session) return true;
  constexpr unsigned as_who_it_is = 0x200;  // AT_EACCESS
  const long error = sys::call(__NR_faccessat2, static_cast<std::uint64_t>(AT_FDCWD), sys::word(from.place),
                               W_OK | X_OK, as_who_it_is);
  return error != -ENOENT && error != -ENOTDIR && error != -EACCES;
}

HL_COLD void complain_of_place(const options& from) {
  char text[options::path_capacity + 128];
  writer out(text, sizeof text);
  char path[options::path_capacity];
  out.put("heapledger: ");
  out.put(segment_path(from, 0, path) ? path : "HEAPLEDGER_OUTPUT");
  out.put(": cannot be created, or there is no room: ");
  out.put(from.program);
  out.put(" runs without a profile\n");
  out.finish();
  sys::call(__NR_write, 2, sys::word(text), std::strlen(text));
}

}  // namespace heapledger::probe
