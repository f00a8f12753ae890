#include "tool/inject/stack_walk.hpp"

#include <unistd.h>

#include "tool/inject/memory.hpp"

namespace heapledger::inject {
namespace {

constexpr std::size_t deepest = 200'000;

struct walk_result {
  std::vector<walked_frame> frames;
  bool is_too_deep = false;
};

int take_frame(Dwfl_Frame* state, void* argument) {
  auto& result = *static_cast<walk_result*>(argument);
  Dwarf_Addr pc = 0;
  bool is_exact = false;
  if (!dwfl_frame_pc(state, &pc, &is_exact)) return DWARF_CB_ABORT;
  result.is_too_deep = result.frames.size() == deepest;
  if (result.is_too_deep) return DWARF_CB_ABORT;
  result.frames.push_back({is_exact || pc == 0 ? pc : pc - 1, is_exact && !result.frames.empty()});
  return DWARF_CB_OK;
}

int no_elf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) {
  return -1;
}

int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

}  // namespace

struct stack_walker::callbacks {
  static bool read(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* argument) {
    std::uint64_t value = 0;
    const bool done = static_cast<stack_walker*>(argument)->read_word(address, value);
    *word = value;
    return done;
  }

  static pid_t next_thread(Dwfl*, void* argument, void** of_thread) {
    const auto& self = *static_cast<stack_walker*>(argument);
    if (*of_thread != nullptr) return 0;
    *of_thread = argument;
    return self.tid_;
  }

  static bool get_thread(Dwfl*, pid_t, void* argument, void** of_thread) {
    *of_thread = argument;
    return true;
  }

  static bool set_registers(Dwfl_Thread* thread, void* argument) {
    const auto& r = *static_cast<stack_walker*>(argument)->registers_;
    const Dwarf_Word words[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                                r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
    return dwfl_thread_state_registers(thread, 0, std::size(words), words);
  }
};

stack_walker::stack_walker(pid_t pid, const std::vector<module>& modules) : pid_(pid) {
  static const Dwfl_Callbacks how = {
      .find_elf = no_elf, .find_debuginfo = no_debug_file, .section_address = nullptr, .debuginfo_path = nullptr};
  dwfl_ = dwfl_begin(&how);
  if (dwfl_ == nullptr) return;
  dwfl_report_begin(dwfl_);
  for (const auto& each : modules) {
    if (each.is_vdso) continue;
    auto file = open_module(pid, each);
    if (!file) continue;
    // It takes a descriptor over if it can use it.
    const int fd = ::dup(file.get());
    if (fd >= 0 && dwfl_report_elf(dwfl_, each.path.c_str(), each.path.c_str(), fd, each.start, false) == nullptr)
      ::close(fd);
  }
  dwfl_report_end(dwfl_, nullptr, nullptr);
  static const Dwfl_Thread_Callbacks ours = {.next_thread = callbacks::next_thread,
                                             .get_thread = callbacks::get_thread,
                                             .memory_read = callbacks::read,
                                             .set_initial_registers = callbacks::set_registers,
                                             .detach = nullptr,
                                             .thread_detach = nullptr};
  is_attached_ = dwfl_attach_state(dwfl_, nullptr, pid, &ours, this);
}

stack_walker::~stack_walker() {
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
}

std::vector<walked_frame> stack_walker::walk(pid_t tid, const user_regs_struct& registers) {
  walk_result result;
  if (!is_attached_) return {};
  tid_ = tid;
  registers_ = &registers;
  pages_.clear();
  dwfl_getthread_frames(dwfl_, tid, take_frame, &result);
  if (result.is_too_deep) return {};
  return result.frames;
}

bool stack_walker::read_word(std::uint64_t address, std::uint64_t& word) {
  const auto start = address / page_bytes * page_bytes;
  if (address % 8 != 0 || address - start > page_bytes - 8) return read_memory(pid_, address, &word, sizeof word);
  const auto [found, is_new] = pages_.try_emplace(start);
  if (is_new) {
    auto read = std::make_unique<page>();
    if (read_memory(pid_, start, read->data(), page_bytes)) found->second = std::move(read);
  }
  if (!found->second) return false;
  word = (*found->second)[(address - start) / 8];
  return true;
}

}  // namespace heapledger::inject
