// Which function of the C++ runtime a call in somebody's code goes to, through the stubs and tables of the dynamic
// linker. Calls nothing that takes a lock or allocates, where glibc is 2.35 or later.
#pragma once

#include <heapledger/detail/instruction.hpp>

#if defined(__x86_64__)

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <new>

namespace heapledger::detail {

enum class runtime_call { other, begin_catch, end_catch, rethrow, throws, resume, terminate, catch_to_terminate };

// The function of that address, or of that name. Its address in C++ may be that of a stub; the linker's table has what
// it is bound to.
#define HEAPLEDGER_BOUND_TO(symbol)                              \
  [] {                                                           \
    std::uintptr_t code;                                         \
    __asm__("movq " symbol "@GOTPCREL(%%rip), %0" : "=r"(code)); \
    return code;                                                 \
  }()
inline runtime_call known_function(std::uintptr_t address, const char* name) {
  const struct {
    std::uintptr_t address;
    const char* name;
    runtime_call what;
  } all[] = {
    {HEAPLEDGER_BOUND_TO("__cxa_begin_catch"), "__cxa_begin_catch", runtime_call::begin_catch},
    {HEAPLEDGER_BOUND_TO("__cxa_end_catch"), "__cxa_end_catch", runtime_call::end_catch},
    {HEAPLEDGER_BOUND_TO("__cxa_rethrow"), "__cxa_rethrow", runtime_call::rethrow},
    {HEAPLEDGER_BOUND_TO("__cxa_throw"), "__cxa_throw", runtime_call::throws},
    {HEAPLEDGER_BOUND_TO("_Unwind_Resume"), "_Unwind_Resume", runtime_call::resume},
    {HEAPLEDGER_BOUND_TO("_ZSt9terminatev"), "_ZSt9terminatev", runtime_call::terminate},
#if defined(__GLIBCXX__) && __GNUC__ >= 14 && !defined(__clang__)
    {HEAPLEDGER_BOUND_TO("__cxa_call_terminate"), "__cxa_call_terminate", runtime_call::terminate},
#endif
  };
  for (const auto& each : all)
    if (each.address == address || (name != nullptr && std::strcmp(each.name, name) == 0)) return each.what;
  return runtime_call::other;
}
#undef HEAPLEDGER_BOUND_TO

// The program or library that is loaded there, or null.
inline const link_map* library_at(std::uintptr_t at) {
  auto* const address = reinterpret_cast<void*>(at);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define HEAPLEDGER_FINDS_OBJECTS
#endif
#endif
#ifdef HEAPLEDGER_FINDS_OBJECTS
#undef HEAPLEDGER_FINDS_OBJECTS
  dl_find_object found;
  return _dl_find_object(address, &found) == 0 ? found.dlfo_link_map : nullptr;
#else
  Dl_info found;
  void* library = nullptr;
  return dladdr1(address, &found, &library, RTLD_DL_LINKMAP) != 0 ? static_cast<const link_map*>(library) : nullptr;
#endif
}

// What a stub stands for that was not called yet: the name of its entry in the library's list of functions to be bound.
inline const char* name_to_be_bound(const unsigned char* stub, std::uint32_t index) {
  const link_map* const library = library_at(reinterpret_cast<std::uintptr_t>(stub));
  if (library == nullptr) return "";
  const ElfW(Rela)* bound = nullptr;
  std::size_t bound_bytes = 0;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  for (const ElfW(Dyn)* each = library->l_ld; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_JMPREL) bound = reinterpret_cast<const ElfW(Rela)*>(each->d_un.d_ptr);
    if (each->d_tag == DT_PLTRELSZ) bound_bytes = each->d_un.d_val;
    if (each->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(each->d_un.d_ptr);
    if (each->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(each->d_un.d_ptr);
  }
  if (bound == nullptr || index >= bound_bytes / sizeof *bound || symbols == nullptr || strings == nullptr) return "";
  return strings + symbols[ELF64_R_SYM(bound[index].r_info)].st_name;
}

inline std::uintptr_t pointer_at(std::uintptr_t at) {
  std::uintptr_t value = 0;
  if (library_at(at) != nullptr) std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  return value;
}

// The function at `code`, or behind the stub there. A pointer of the program's may be to anything.
inline runtime_call function_at(std::uintptr_t code) {
  constexpr int stubs_in_a_row = 4;
  for (int i = 0; i < stubs_in_a_row; ++i) {
    const runtime_call known = known_function(code, nullptr);
    if (known != runtime_call::other || library_at(code) == nullptr) return known;
    const auto* at = reinterpret_cast<const unsigned char*>(code);
    constexpr unsigned char marks_a_target[] = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64
    if (std::memcmp(at, marks_a_target, sizeof marks_a_target) == 0) at += sizeof marks_a_target;
    const instruction first = instruction_reader::at(at);
    if (first.goes == instruction::flow::jump && first.through_pointer) {
      code = pointer_at(first.target);
      continue;
    }
    constexpr unsigned push = 0x68;
    if (first.map != 0 || first.opcode != push) break;
    const instruction second = instruction_reader::at(first.next);
    if (second.goes != instruction::flow::jump) break;
    return known_function(0, name_to_be_bound(at, static_cast<std::uint32_t>(first.immediate)));
  }
  return runtime_call::other;
}

// Where a call or a jump goes.
inline runtime_call callee_of(const instruction& of) {
  const std::uintptr_t code = of.through_pointer ? pointer_at(of.target) : of.target;
  if (code == 0) return runtime_call::other;
  const runtime_call found = function_at(code);
  if (found != runtime_call::other || of.goes != instruction::flow::call || of.through_pointer) return found;
  if (library_at(code) == nullptr) return found;
  // In clang's code noexcept is a handler of everything, which calls a function that catches it and terminates.
  bool caught = false;
  constexpr int looked_at = 6;
  const auto* at = reinterpret_cast<const unsigned char*>(code);
  for (int i = 0; i < looked_at; ++i) {
    const instruction each = instruction_reader::at(at);
    at = each.next;
    if (each.goes == instruction::flow::on) continue;
    if (each.goes != instruction::flow::call || each.target == 0) break;
    const runtime_call called = function_at(each.through_pointer ? pointer_at(each.target) : each.target);
    if (called == runtime_call::terminate && caught) return runtime_call::catch_to_terminate;
    if (called != runtime_call::begin_catch) break;
    caught = true;
  }
  return runtime_call::other;
}

}  // namespace heapledger::detail

#endif
