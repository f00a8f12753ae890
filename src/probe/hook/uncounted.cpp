#include "probe/hook/uncounted.hpp"

#include <limits.h>

#include <cstring>

#include "probe/base/attributes.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/process.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

using wire::uncounted_program;
using wire::uncounted_reason;

constexpr std::size_t path_capacity = sizeof uncounted_program::path;

// The end of a path, which is what tells programs apart.
const char* end_of(const char* path) {
  const std::size_t length = std::strlen(path);
  return length < path_capacity ? path : path + (length - (path_capacity - 1));
}

bool is_same(const uncounted_program& known, uncounted_reason why, const char* path) {
  return __atomic_load_n(&known.ready, __ATOMIC_ACQUIRE) != 0 && known.reason == why &&
         std::strcmp(known.path, path) == 0;
}

// Two that claim at once may make two entries of one program: whoever reads adds up.
bool claim(uncounted_program& entry, uncounted_reason why, const char* path) {
  auto nobody = uncounted_reason::none;
  if (!__atomic_compare_exchange_n(&entry.reason, &nobody, why, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return false;
  std::strcpy(entry.path, path);
  __atomic_store_n(&entry.ready, 1, __ATOMIC_RELEASE);  // pairs with is_same and with readers outside
  return true;
}

std::uint64_t* times_of(wire::segment_header& header, uncounted_reason why, const char* path) {
  for (uncounted_program& entry : header.uncounted)
    if (is_same(entry, why, path) || claim(entry, why, path)) return &entry.times;
  return &header.uncounted_others;
}

// Of an open file, with room on the stack for its name, which those that have one do not need.
[[gnu::noinline]] std::uint64_t* times_of_opened(uncounted_reason why, int file) {
  char name[PATH_MAX];
  write_name(name, static_cast<unsigned>(file));
  const long length = sys::readlink(name, name, sizeof name - 1);
  if (length > 0) name[length] = 0;
  return times_of(*segment.header, why, end_of(name));
}

std::uint64_t* note(uncounted_reason why, const child_file& file) {
  if (!keeps_books() || segment.header == nullptr) return nullptr;
  std::uint64_t* const times =
      *file.path == 0 ? times_of_opened(why, file.folder) : times_of(*segment.header, why, end_of(file.path));
  __atomic_fetch_add(times, 1, __ATOMIC_RELAXED);
  return times;
}

}  // namespace

void note_uncounted_child(uncounted_reason why, const char* program) {
  if (*program != 0) note(why, {.path = program});
}

execution::execution(const child_environment& environment, const child_file& file) {
  if (!environment.follows() || file.path == nullptr) return;
  why_ = why_uncounted(file);
  const bool is_missed = why_ == uncounted_reason::none && !environment.is_within_reach();
  if (is_missed || why_ != uncounted_reason::none)
    times_ = note(is_missed ? uncounted_reason::out_of_reach : why_, file);
}

int execution::end(int result) const {
  if (result != 0 && times_ != nullptr) __atomic_fetch_sub(times_, 1, __ATOMIC_RELAXED);
  return result;
}

}  // namespace heapledger::probe
