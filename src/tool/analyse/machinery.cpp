#include "tool/analyse/machinery.hpp"

#include <algorithm>
#include <array>

#include "tool/analyse/function_name.hpp"

namespace heapledger::analyse {
namespace {

constexpr std::size_t nameless_start_frames = 2;  // outermost: _start of a stripped program

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

// Namespaces of standard libraries, C++ and Rust. "<alloc::" and the like are Rust's trait implementations.
constexpr std::array<std::string_view, 16> library_scopes = {
    "std::",   "__gnu_cxx::", "__cxxabiv1::",     "operator new",
    "alloc::", "core::",      "hashbrown::",      "<alloc::",
    "<core::", "<std::",      "<hashbrown::",     "__rust_",
    "__rg_",   "__rdl_",      "heapledger::pool", "heapledger::published"};

// Every C project has its own xmalloc, g_malloc0, PyMem_RawMalloc, sqlite3MemRealloc.
constexpr std::array<std::string_view, 14> wrapper_endings = {
    "malloc", "calloc", "realloc", "reallocarray", "memalign", "valloc", "malloc0",
    "Malloc", "Calloc", "Realloc", "strdup",       "strndup",  "memdup", "_alloc"};

constexpr std::array<std::string_view, 9> wrapper_names = {"aligned_alloc", "asprintf",   "vasprintf",
                                                           "xasprintf",     "xvasprintf", "allocate",
                                                           "Allocate",      "wcsdup",     "__cxa_allocate_exception"};

constexpr std::array<std::string_view, 12> start_names = {"_start",
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
                                                          "__libc_start_main_alias_1"};

constexpr std::array<std::string_view, 9> start_scopes = {
    "std::thread::", "std::__invoke",    "std::invoke",           "void std::__invoke", "std::rt::",
    "std::sys::",    "std::panicking::", "core::ops::function::", "std::jthread::"};

constexpr std::array<std::string_view, 13> runtime_libraries = {
    "libc.so", "libc-2",   "libstdc++.so", "libgcc_s.so", "ld-linux",     "ld-2",   "libpthread",
    "libm.so", "libdl.so", "librt.so",     "libc++.so",   "libc++abi.so", "ld-musl"};

}  // namespace

bool is_allocation_wrapper(std::string_view function) {
  const std::string_view name = qualified_name(function);
  if (any_prefix(name, library_scopes)) return true;
  const std::string_view base = base_name(name);
  return any_suffix(base, wrapper_endings) || any_of(base, wrapper_names);
}

bool is_start_code(std::string_view function) {
  return any_of(function, start_names) || any_prefix(qualified_name(function), start_scopes) ||
         function.find("__rust_begin_short_backtrace") != std::string_view::npos;
}

bool is_system_runtime(std::string_view module_path) {
  const std::size_t slash = module_path.rfind('/');
  return any_prefix(module_path.substr(slash == std::string_view::npos ? 0 : slash + 1), runtime_libraries);
}

bool is_foreign_source(std::string_view file) {
  constexpr std::array<std::string_view, 3> folders = {"/usr/include/", "/usr/lib/", "/rustc/"};
  return any_prefix(file, folders) || file.find("/.cargo/registry/") != std::string_view::npos;
}

machinery::machinery(const profile& p)
    : profile_(p),
      wrapper_(p.strings.size()),
      foreign_(p.strings.size()),
      start_(p.strings.size()),
      runtime_(p.modules.size()) {}

template <class Judge>
bool machinery::remember(std::vector<answer>& answers, std::uint32_t key, Judge&& judge) {
  if (key >= answers.size()) return false;
  if (answers[key] == answer::unknown) answers[key] = judge() ? answer::yes : answer::no;
  return answers[key] == answer::yes;
}

bool machinery::is_wrapper(const frame_ref& frame) {
  const std::uint32_t module = module_index(profile_, frame);
  if (remember(runtime_, module, [&] { return is_system_runtime(profile_.modules[module].path); })) return true;
  if (frame.symbol == none) return false;
  const auto [function, file, line] = profile_.frames[frame.symbol];
  if (remember(foreign_, file, [&, key = file] { return is_foreign_source(profile_.strings[key]); })) return true;
  return remember(wrapper_, function, [&, key = function] { return is_allocation_wrapper(profile_.strings[key]); });
}

bool machinery::is_start(const frame_ref& frame) {
  if (frame.symbol == none) {
    const std::uint32_t module = module_index(profile_, frame);
    return remember(runtime_, module, [&] { return is_system_runtime(profile_.modules[module].path); });
  }
  const std::uint32_t function = profile_.frames[frame.symbol].function;
  return remember(start_, function, [&] { return is_start_code(profile_.strings[function]); });
}

visible_frames machinery::visible(std::span<const frame_ref> stack) {
  visible_frames shown{0, stack.size()};
  bool has_started = false;
  for (std::size_t nameless = 0; shown.end > nameless;) {
    const frame_ref& frame = stack[shown.end - 1 - nameless];
    if (is_start(frame)) {
      shown.end -= nameless + 1;
      nameless = 0;
      has_started = true;
    } else if (!has_started && frame.symbol == none && nameless < nameless_start_frames) {
      ++nameless;
    } else {
      break;
    }
  }
  while (shown.begin < shown.end && is_wrapper(stack[shown.begin])) ++shown.begin;
  if (shown.begin == shown.end) return {0, stack.size()};
  return shown;
}

std::size_t machinery::first_visible(std::uint32_t node) {
  std::size_t index = 0;
  bool found = false;
  walk_stack(profile_, node, [&](const frame_ref& frame) {
    if (is_wrapper(frame) || is_start(frame)) {
      ++index;
      return true;
    }
    found = true;
    return false;
  });
  return found ? index : 0;
}

}  // namespace heapledger::analyse
