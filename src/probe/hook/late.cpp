#include "probe/hook/late.hpp"

#include <cstring>
#include <initializer_list>

#include "probe/base/attributes.hpp"
#include "probe/hook/operators.hpp"
#include "probe/hook/own_copies.hpp"
#include "probe/loader/image.hpp"

namespace heapledger::probe {
namespace {

constinit bool late = false;
constinit loader_scope scope;

enum class name_kind { allocates, releases, makes, deletes, copies, maps, other };

struct hooked_name {
  const char* name;
  name_kind kind;
};

// `other`: bound to us by those who call them for the first time while we are there, and not before.
constexpr hooked_name hooked[] = {
    {"malloc", name_kind::allocates},
    {"calloc", name_kind::allocates},
    {"posix_memalign", name_kind::allocates},
    {"aligned_alloc", name_kind::allocates},
    {"memalign", name_kind::allocates},
    {"valloc", name_kind::allocates},
    {"pvalloc", name_kind::allocates},
    {"realloc", name_kind::releases},
    {"reallocarray", name_kind::releases},
    {"free", name_kind::releases},
    {"malloc_usable_size", name_kind::releases},
    {"free_sized", name_kind::releases},
    {"free_aligned_sized", name_kind::releases},
    {"cfree", name_kind::releases},
    {"mallocx", name_kind::allocates},
    {"rallocx", name_kind::releases},
    {"dallocx", name_kind::releases},
    {"sdallocx", name_kind::releases},
    {"xallocx", name_kind::releases},
    {"sallocx", name_kind::releases},
    {"nallocx", name_kind::allocates},
    {"_Fork", name_kind::releases},  // a child must have memory where its blocks are
    {"_Znwm", name_kind::makes},
    {"_Znam", name_kind::makes},
    {"_ZnwmRKSt9nothrow_t", name_kind::makes},
    {"_ZnamRKSt9nothrow_t", name_kind::makes},
    {"_ZnwmSt11align_val_t", name_kind::makes},
    {"_ZnamSt11align_val_t", name_kind::makes},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", name_kind::makes},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", name_kind::makes},
    {"_ZdlPv", name_kind::deletes},
    {"_ZdaPv", name_kind::deletes},
    {"_ZdlPvm", name_kind::deletes},
    {"_ZdaPvm", name_kind::deletes},
    {"_ZdlPvRKSt9nothrow_t", name_kind::deletes},
    {"_ZdaPvRKSt9nothrow_t", name_kind::deletes},
    {"_ZdlPvSt11align_val_t", name_kind::deletes},
    {"_ZdaPvSt11align_val_t", name_kind::deletes},
    {"_ZdlPvmSt11align_val_t", name_kind::deletes},
    {"_ZdaPvmSt11align_val_t", name_kind::deletes},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", name_kind::deletes},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", name_kind::deletes},
    {"strdup", name_kind::copies},
    {"strndup", name_kind::copies},
    {"mmap", name_kind::maps},
    {"mmap64", name_kind::maps},
    {"munmap", name_kind::maps},
    {"mremap", name_kind::maps},
    {"execve", name_kind::other},
    {"execv", name_kind::other},
    {"execvp", name_kind::other},
    {"execvpe", name_kind::other},
    {"execl", name_kind::other},
    {"execlp", name_kind::other},
    {"execle", name_kind::other},
    {"fexecve", name_kind::other},
    {"execveat", name_kind::other},
    {"posix_spawn", name_kind::other},
    {"posix_spawnp", name_kind::other},
    {"pidfd_spawn", name_kind::other},
    {"pidfd_spawnp", name_kind::other},
    {"system", name_kind::other},
    {"popen", name_kind::other},
    {"setenv", name_kind::other},
    {"unsetenv", name_kind::other},
    {"putenv", name_kind::other},
    {"clearenv", name_kind::other},
    {"prctl", name_kind::other},
    {"mlockall", name_kind::other},
    {"getrlimit", name_kind::other},
    {"getrlimit64", name_kind::other},
    {"setrlimit", name_kind::other},
    {"setrlimit64", name_kind::other},
    {"prlimit", name_kind::other},
    {"prlimit64", name_kind::other},
    {"__register_frame", name_kind::other},
    {"__deregister_frame", name_kind::other},
};
constexpr std::size_t hooked_count = sizeof hooked / sizeof hooked[0];
constinit binding table[hooked_count] = {};
constinit std::uint64_t bytes_behind[hooked_count] = {};

bool is_operator(name_kind kind) {
  return kind == name_kind::makes || kind == name_kind::deletes;
}
bool gives_back(name_kind kind) {
  return kind == name_kind::releases || kind == name_kind::deletes;
}

exchange_turn turn_of(name_kind kind) {
  if (gives_back(kind) || kind == name_kind::maps) return exchange_turn::releases;
  if (kind == name_kind::makes) return exchange_turn::makes;
  const bool allocates = kind == name_kind::allocates || (kind == name_kind::copies && copiers_behind().of_allocator);
  return allocates ? exchange_turn::allocates : exchange_turn::never;
}

bool is_libc(const link_map& map) {
  const char* const soname = image(map).soname();
  return soname != nullptr && std::strcmp(soname, "libc.so.6") == 0;
}

// A C program whose plugin brought the C++ library in: it is not in the global scope.
void* local_operator(const char* name) {
  for (const link_map* map = program_map(); map != nullptr; map = map->l_next)
    if (is_library_of_cxx(*map))
      if (void* found = image(*map).definition(name); found != nullptr) return found;
  return nullptr;
}

void* behind(const hooked_name& of) {
  if (image(*program_map()).definition(of.name) != nullptr) return nullptr;  // it stands before us
  void* const found = scope.next(of.name);
  return found != nullptr || !is_operator(of.kind) ? found : local_operator(of.name);
}

}  // namespace

bool is_late() {
  return late;
}

void be_late() {
  scope.find();
  late = true;
}

loader_scope& scope_of_program() {
  return scope;
}

void* late_next(const char* name) {
  return scope.next(name);
}

bool program_allocates_itself() {
  const image program(*program_map());
  for (const hooked_name& each : hooked)
    if ((each.kind == name_kind::allocates || each.kind == name_kind::releases) &&
        program.definition(each.name) != nullptr)
      return true;
  return false;
}

bool sizes_are_believed() {
  for (const char* name : {"_ZdlPvm", "_ZdaPvm", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t", "free_sized",
                           "free_aligned_sized", "sdallocx"}) {
    const void* const found = scope.next(name);
    const link_map* const in = found != nullptr ? scope.holder(found) : nullptr;
    if (in != nullptr && !is_library_of_cxx(*in) && !is_libc(*in)) return true;
  }
  return false;
}

bindings look_up_bindings(bool operators) {
  const image own(*own_map());
  for (std::size_t i = 0; i < hooked_count; ++i) {
    const hooked_name& of = hooked[i];
    table[i].name = of.name;
    table[i].ours = own.definition(of.name);
    table[i].theirs = behind(of);
    table[i].stand_in = image(*program_map()).stand_in(of.name);
    table[i].turn = operators || !is_operator(of.kind) ? turn_of(of.kind) : exchange_turn::never;
    const link_map* const in = of.kind == name_kind::makes ? scope.holder(table[i].theirs) : nullptr;
    bytes_behind[i] = in != nullptr ? image(*in).bytes_of(of.name) : 0;
  }
  return {table, hooked_count};
}

bool in_their_operator_new(std::uint64_t address) {
  for (std::size_t i = 0; i < hooked_count; ++i)
    if (address - reinterpret_cast<std::uint64_t>(table[i].theirs) < bytes_behind[i]) return true;
  return false;
}

bindings bindings_to_undo(bool releases) {
  look_up_bindings(true);
  for (std::size_t i = 0; i < hooked_count; ++i)
    table[i].turn = releases || !gives_back(hooked[i].kind) ? exchange_turn::allocates : exchange_turn::never;
  return {table, hooked_count};
}

void* their_definition(const char* name) {
  for (const binding& each : table)
    if (each.name != nullptr && std::strcmp(each.name, name) == 0) return each.theirs;
  return nullptr;
}

}  // namespace heapledger::probe
