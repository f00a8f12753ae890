// The hooks of the functions that set and show limits: of those that count what is mapped, the program has and sees its
// own, and the kernel has them with our address space added (base/address_space.hpp).
//
// A child of vfork and a signal handler may call them: they use functions that were looked up when the probe was
// loaded. Such a child's limits are for what it executes, and passed on as they are.
#include "probe/hook/limits.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probe/base/attributes.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/next.hpp"

using namespace heapledger::probe;

namespace {

using get_function = int(int, limit*);
using set_function = int(int, const limit*);
using change_function = int(pid_t, int, const limit*, limit*);

constinit struct {
  get_function* getrlimit;
  get_function* getrlimit64;
  set_function* setrlimit;
  set_function* setrlimit64;
  change_function* prlimit;
  change_function* prlimit64;
} real = {};

static_assert(sizeof(rlimit) == sizeof(limit) && sizeof(rlimit64) == sizeof(limit));

limit* as_limit(rlimit* of) {
  return reinterpret_cast<limit*>(of);
}
const limit* as_limit(const rlimit* of) {
  return reinterpret_cast<const limit*>(of);
}
limit* as_limit(rlimit64* of) {
  return reinterpret_cast<limit*>(of);
}
const limit* as_limit(const rlimit64* of) {
  return reinterpret_cast<const limit*>(of);
}

// The headers say that nobody gives a null pointer; the kernel takes one.
bool is_given(const limit* of) {
  asm("" : "+r"(of));
  return of != nullptr;
}

int show(get_function* next, int resource, limit* out) {
  const int result = next(resource, out);
  if (result == 0 && is_given(out)) *out = without_ours(resource, *out);
  return result;
}

template <class Next>
int set(int resource, const limit* wanted, Next next) {
  if (!is_given(wanted) || !is_kept(resource)) return next(wanted);
  const limit programs = *wanted;
  const limit given = with_ours(resource, programs);
  const int result = next(&given);
  if (result == 0) note_limit(resource, programs, given);
  return result;
}

int change(change_function* next, pid_t pid, int resource, const limit* wanted, limit* before) {
  if (pid != 0 && pid != sys::getpid()) return next(pid, resource, wanted, before);
  limit found;
  limit* const out = before != nullptr ? &found : nullptr;
  limit shown{};
  const auto exchange = [&](const limit* given) {
    const int result = next(pid, resource, given, out);
    if (result == 0 && out != nullptr) shown = without_ours(resource, found);
    return result;
  };
  const int result = set(resource, wanted, exchange);
  if (result == 0 && out != nullptr) *before = shown;
  return result;
}

struct pages {
  std::uint64_t all, data;
};

// Of the library itself. What is relocated and then made read-only is no data any more.
pages own_image() {
  dl_find_object object;
  if (_dl_find_object(&real, &object) != 0) return {};
  constexpr std::uint64_t page = 4096;
  const auto* const start = static_cast<const char*>(object.dlfo_map_start);
  const auto* const file = reinterpret_cast<const Elf64_Ehdr*>(start);
  const auto* const headers = reinterpret_cast<const Elf64_Phdr*>(start + file->e_phoff);
  pages own{static_cast<std::uint64_t>(static_cast<const char*>(object.dlfo_map_end) - start), 0};
  own.all = (own.all + page - 1) & ~(page - 1);
  std::uint64_t read_only = 0;
  for (unsigned i = 0; i < file->e_phnum; ++i) {
    const std::uint64_t from = headers[i].p_vaddr & ~(page - 1), end = headers[i].p_vaddr + headers[i].p_memsz;
    if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_W) != 0)
      own.data += ((end + page - 1) & ~(page - 1)) - from;
    if (headers[i].p_type == PT_GNU_RELRO) read_only += (end & ~(page - 1)) - from;
  }
  own.data -= read_only < own.data ? read_only : own.data;
  return own;
}

}  // namespace

namespace heapledger::probe {

void start_limits() {
  if (real.prlimit64 != nullptr) return;
  look_up_next(real.getrlimit, "getrlimit");
  look_up_next(real.getrlimit64, "getrlimit64");
  look_up_next(real.setrlimit, "setrlimit");
  look_up_next(real.setrlimit64, "setrlimit64");
  look_up_next(real.prlimit, "prlimit");
  look_up_next(real.prlimit64, "prlimit64");
  const pages own = own_image();
  hold(own.all, own.data);
  begin_limits();
}

// Whoever tries and cannot goes on as it is: a hard limit that was lowered stays so.
bool execution_limits::may_execute(const child_file& file) {
  if (file.path == nullptr) return false;
  if (*file.path == 0) return true;
  constexpr unsigned effective = 0x200;  // AT_EACCESS
  const long result = sys::call(__NR_faccessat2, static_cast<std::uint64_t>(file.folder), sys::word(file.path), X_OK,
                                effective | static_cast<unsigned>(file.flags));
  return result == 0 || result == -ENOSYS;
}

}  // namespace heapledger::probe

HL_EXPORT int getrlimit(__rlimit_resource_t resource, rlimit* out) {
  if (real.getrlimit == nullptr) start_limits();
  return show(real.getrlimit, resource, as_limit(out));
}
HL_EXPORT int getrlimit64(__rlimit_resource_t resource, rlimit64* out) {
  if (real.getrlimit64 == nullptr) start_limits();
  return show(real.getrlimit64, resource, as_limit(out));
}
HL_EXPORT int setrlimit(__rlimit_resource_t resource, const rlimit* wanted) {
  if (real.setrlimit == nullptr) start_limits();
  return set(resource, as_limit(wanted), [=](const limit* given) { return real.setrlimit(resource, given); });
}
HL_EXPORT int setrlimit64(__rlimit_resource_t resource, const rlimit64* wanted) {
  if (real.setrlimit64 == nullptr) start_limits();
  return set(resource, as_limit(wanted), [=](const limit* given) { return real.setrlimit64(resource, given); });
}
HL_EXPORT int prlimit(pid_t pid, __rlimit_resource resource, const rlimit* wanted, rlimit* before) {
  if (real.prlimit == nullptr) start_limits();
  return change(real.prlimit, pid, resource, as_limit(wanted), as_limit(before));
}
HL_EXPORT int prlimit64(pid_t pid, __rlimit_resource resource, const rlimit64* wanted, rlimit64* before) {
  if (real.prlimit64 == nullptr) start_limits();
  return change(real.prlimit64, pid, resource, as_limit(wanted), as_limit(before));
}
