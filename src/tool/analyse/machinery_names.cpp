#include "tool/analyse/machinery_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>

#include "tool/analyse/function_name.hpp"

namespace heapledger::analyse {
namespace {

constexpr std::size_t longest_wrapper_name = 64;

template <std::size_t N>
bool any_prefix(std::string_view name, const std::array<std::string_view, N>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
}

template <std::size_t N>
bool any_suffix(std::string_view name, const std::array<std::string_view, N>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](auto suffix) { return name.ends_with(suffix); });
}

template <std::size_t N>
bool any_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 6> library_scopes = {
    "std::", "__gnu_cxx::", "__cxxabiv1::", "operator new", "heapledger::pool", "heapledger::published"};

// "<alloc::" and the like are trait implementations, and inherent ones in the newer mangling.
constexpr std::array<std::string_view, 12> rust_scopes = {
    "std::",   "alloc::",      "core::",  "hashbrown::", "<std::", "<alloc::",
    "<core::", "<hashbrown::", "__rust_", "__rustc",     "__rg_",  "__rdl_"};

constexpr std::array<std::string_view, 13> wrapper_words = {"malloc",   "calloc", "realloc", "reallocarray", "zalloc",
                                                            "palloc",   "valloc", "strdup",  "strndup",      "memdup",
                                                            "memalign", "wcsdup", "asprintf"};

// What may follow: PyMem_RawMalloc, g_malloc0_n, av_mallocz_array, sqlite3DbMallocRawNN, zmalloc_usable,
// xmalloc_or_die, stgMallocBytes, VSIMalloc3Verbose.
constexpr std::array<std::string_view, 34> wrapper_qualities = {
    "aligned", "alarm", "array", "atomic", "auto",   "bytes",   "checked",  "die",    "fast",
    "finish",  "flags", "free",  "gently", "hook",   "impl",    "internal", "large",  "loc",
    "nofail",  "raw",   "safe",  "small",  "printf", "vprintf", "try",      "usable", "verbose",
    "with",    "zero",  "or",    "f",      "n",      "z",       "unchecked"};

constexpr std::array<std::string_view, 5> wrapper_endings = {"_alloc", "_alloc0", "_allocz", "Alloc", "Alloc0"};

constexpr std::array<std::string_view, 36> wrapper_names = {"operator new",
                                                            "operator new[]",
                                                            "aligned_alloc",
                                                            "allocate",
                                                            "Allocate",
                                                            "__cxa_allocate_exception",
                                                            "allocate_buffer",
                                                            "grow_pod",
                                                            "_obstack_newchunk",
                                                            "_obstack_begin",
                                                            "_nc_doalloc",
                                                            "system__pool_global__allocate",
                                                            "system__storage_pools__subpools__allocate_any_controlled",
                                                            "_PyObject_New",
                                                            "_PyObject_NewVar",
                                                            "_PyObject_GC_New",
                                                            "_PyObject_GC_NewVar",
                                                            "AcquireMagickMemory",
                                                            "AcquireQuantumMemory",
                                                            "AcquireAlignedMemory",
                                                            "ResizeQuantumMemory",
                                                            "_MagickAllocateResourceLimitedMemory",
                                                            "_MagickReallocateResourceLimitedMemory",
                                                            "_talloc",
                                                            "_talloc_array",
                                                            "_talloc_pooled_object",
                                                            "_talloc_zero",
                                                            "_talloc_zero_array",
                                                            "talloc_named",
                                                            "talloc_named_const",
                                                            "talloc_pool",
                                                            "Rf_allocSExp",
                                                            "Rf_allocVector",
                                                            "Rf_allocVector3",
                                                            "AllocateHeap",
                                                            "ReallocateHeap"};

constexpr std::array<std::string_view, 13> start_names = {"_start",
                                                          "__libc_start_main",
                                                          "__libc_start_main_impl",
                                                          "__libc_start_call_main",
                                                          "clone",
                                                          "clone3",
                                                          "__clone",
                                                          "__clone3",
                                                          "__clone_internal",
                                                          "start_thread",
                                                          "execute_native_thread_routine",
                                                          "__libc_start_main_alias_1",
                                                          "make_fcontext"};

constexpr std::array<std::string_view, 10> start_scopes = {
    "std::thread::", "std::__invoke",    "std::invoke",           "void std::__invoke", "std::rt::",
    "std::sys::",    "std::panicking::", "core::ops::function::", "std::jthread::",     "std::panic::"};

constexpr std::array<std::string_view, 13> runtime_libraries = {
    "libc.so", "libc-2",   "libstdc++.so", "libgcc_s.so", "ld-linux",     "ld-2",   "libpthread",
    "libm.so", "libdl.so", "librt.so",     "libc++.so",   "libc++abi.so", "ld-musl"};

// Nothing but qualities and digits.
bool are_qualities(std::string_view rest) {
  while (!rest.empty()) {
    if (rest.front() == '_' || (rest.front() >= '0' && rest.front() <= '9')) {
      rest.remove_prefix(1);
      continue;
    }
    const auto found = std::find_if(wrapper_qualities.begin(), wrapper_qualities.end(),
                                    [&](auto quality) { return rest.starts_with(quality); });
    if (found == wrapper_qualities.end()) return false;
    rest.remove_prefix(found->size());
  }
  return true;
}

// Every C project has its own: xmalloc, g_malloc0, PyMem_RawMalloc, sqlite3MemRealloc.
bool is_wrapper_name(std::string_view base) {
  if (base.size() > longest_wrapper_name) return false;
  std::string lower(base);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto ends = [&](auto word) {
    const auto at = lower.rfind(word);
    return at != std::string::npos && are_qualities(std::string_view(lower).substr(at + word.size()));
  };
  return std::any_of(wrapper_words.begin(), wrapper_words.end(), ends);
}

}  // namespace

bool is_allocation_wrapper(std::string_view function) {
  const std::string_view name = qualified_name(function);
  return any_prefix(name, library_scopes) || is_malloc_of_a_library(name);
}

bool is_malloc_of_a_library(std::string_view function) {
  const std::string_view base = base_name(function);
  return is_wrapper_name(base) || any_suffix(base, wrapper_endings) || any_of(base, wrapper_names);
}

bool is_rust_library(std::string_view function) {
  return any_prefix(qualified_name(function), rust_scopes);
}

bool is_start_code(std::string_view function) {
  return any_of(function, start_names) || any_prefix(qualified_name(function), start_scopes) ||
         is_rust_begin(function) || function.find(" as core::ops::function::FnOnce<") != std::string_view::npos;
}

bool is_rust_begin(std::string_view function) {
  return function.find("__rust_begin_short_backtrace") != std::string_view::npos;
}

bool is_system_runtime(std::string_view module_path) {
  const std::size_t slash = module_path.rfind('/');
  return any_prefix(module_path.substr(slash == std::string_view::npos ? 0 : slash + 1), runtime_libraries);
}

bool is_rust_library_source(std::string_view file) {
  constexpr std::array<std::string_view, 6> folders = {"/rustc/",          "/usr/src/rustc-",   "/rust/deps/",
                                                       "library/std/src/", "library/core/src/", "library/alloc/src/"};
  return file.ends_with(".rs") && any_prefix(file, folders);
}

bool is_foreign_source(std::string_view file) {
  constexpr std::array<std::string_view, 2> folders = {"/usr/include/", "/usr/lib/"};
  // Clang finds the C++ library from its own place: /usr/bin/../lib/gcc/...
  const bool is_straight = file.find("/../") == std::string_view::npos;
  const std::string path = is_straight ? std::string(file) : std::filesystem::path(file).lexically_normal().string();
  return any_prefix(path, folders) || is_rust_library_source(file) ||
         file.find("/.cargo/registry/") != std::string_view::npos;
}

}  // namespace heapledger::analyse
