#include "probe/hook/environment_text.hpp"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/auxv.h>

#include <cstring>

#include "probe/base/syscalls.hpp"
#include "probe/hook/initial_stack.hpp"

namespace heapledger::probe {
namespace {

// The fields of /proc/self/stat, numbered as in proc(5). Those before the third are not kept.
class process_numbers {
 public:
  bool read() {
    char text[1024];
    const int fd = sys::open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    const long bytes = sys::read(fd, text, sizeof text - 1);
    sys::close(fd);
    if (bytes <= 0) return false;
    text[bytes] = 0;
    const char* at = std::strrchr(text, ')');  // the program's name may hold anything
    if (at == nullptr) return false;
    for (unsigned field = 3; field <= last_field; ++field) {
      at = std::strchr(at, ' ');
      if (at == nullptr) return false;
      numbers_[field] = 0;
      for (++at; *at >= '0' && *at <= '9'; ++at)
        numbers_[field] = numbers_[field] * 10 + static_cast<std::uint64_t>(*at - '0');
    }
    return true;
  }
  std::uint64_t operator[](unsigned field) const { return numbers_[field]; }

 private:
  static constexpr unsigned last_field = 51;
  std::uint64_t numbers_[last_field + 1];
};

// Needs no privilege, but sets all addresses at once: another thread could move the heap's end meanwhile.
void set_end_among_all(std::uint64_t before, std::uint64_t end) {
  constexpr unsigned threads = 20;
  process_numbers now;
  if (!now.read() || now[threads] != 1 || now[51] != before) return;
  prctl_mm_map map{};
  map.start_code = now[26];
  map.end_code = now[27];
  map.start_stack = now[28];
  map.start_data = now[45];
  map.end_data = now[46];
  map.start_brk = now[47];
  map.brk = static_cast<std::uint64_t>(sys::call(__NR_brk, 0));
  map.arg_start = now[48];
  map.arg_end = now[49];
  map.env_start = now[50];
  map.env_end = end;
  map.exe_fd = ~std::uint32_t{0};  // as it is; so is the auxiliary vector, of which none is given
  sys::call(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, sys::word(&map), sizeof map, 0);
}

}  // namespace

char* end_of_environment_text() {
  char** entry = initial_environment();
  if (*entry == nullptr) return nullptr;
  while (entry[1] != nullptr) ++entry;
  char* end = *entry + std::strlen(*entry) + 1;
  return end == reinterpret_cast<char*>(getauxval(AT_EXECFN)) ? end : nullptr;  // the program's name comes next
}

void shorten_environment_text(char* end, char* before) {
  std::memset(end, 0, static_cast<std::size_t>(before - end));
  if (sys::call(__NR_prctl, PR_SET_MM, PR_SET_MM_ENV_END, sys::word(end), 0, 0) != 0)
    set_end_among_all(sys::word(before), sys::word(end));
}

}  // namespace heapledger::probe
