#include "probe/hook/without_books.hpp"

#include <errno.h>

#include <cstring>

#include "probe/base/attributes.hpp"
#include "probe/base/sandbox.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

// Apart from who creates books: they may begin on a small stack.
HL_COLD void leave_word(const options& from, limit_met why) {
  constexpr const char* limits[] = {"", ".descriptors", ".address-space", ".data", ".file-size"};
  constexpr unsigned attempts = 64;
  const char* const limit = limits[static_cast<unsigned>(why)];
  if (*limit == 0 || !from.session || calls_may_be_refused) return;
  char path[options::path_capacity + 16];
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    if (!segment_path(from, attempt, path)) return;
    std::strcat(path, limit);
    if (sys::call(__NR_symlink, sys::word(from.exe), sys::word(path)) != -EEXIST) return;
  }
}

}  // namespace heapledger::probe
