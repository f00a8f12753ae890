#include "probe/loader/bound_words.hpp"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstring>

#include "probe/base/access.hpp"
#include "probe/loader/image.hpp"

namespace heapledger::probe {
namespace {

constexpr std::uint64_t page = 4096;

struct range {
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  bool holds(std::uint64_t address) const { return address >= start && address < end; }
};

struct job {
  const bindings& names;
  binding_side to;
  bool only_try;
  exchange_turn turn;
  bool possible = true;
  unsigned loader_words = 0;
  std::uint64_t wanted[4] = {};  // a bit for each value that may be exchanged: few others have it set

  job(const bindings& all, binding_side side, bool trial, exchange_turn of_turn)
      : names(all), to(side), only_try(trial), turn(of_turn) {
    for (std::size_t i = 0; i < names.count; ++i)
      if (includes(names.first[i])) wanted[word_of(from(names.first[i]))] |= bit_of(from(names.first[i]));
  }

  static std::size_t word_of(const void* value) { return sys::word(value) >> 10 & 3; }
  static std::uint64_t bit_of(const void* value) { return std::uint64_t{1} << (sys::word(value) >> 4 & 63); }
  bool may_be_wanted(const void* value) const { return (wanted[word_of(value)] & bit_of(value)) != 0; }
  void* from(const binding& of) const { return to == binding_side::ours ? of.theirs : of.ours; }
  void* target(const binding& of) const { return to == binding_side::ours ? of.ours : of.theirs; }
  bool includes(const binding& of) const {
    const bool its_turn = only_try ? of.turn != exchange_turn::never : of.turn == turn;
    return its_turn && of.theirs != nullptr && of.ours != nullptr;
  }
};

// Read-only once the module was relocated.
class open_pages {
 public:
  open_pages(const range& fixed, std::uint64_t word) : start_(word & ~(page - 1)), word_(word) {
    writable_ = is_writable(reinterpret_cast<void*>(word & ~std::uint64_t{3}));
    if (writable_ || !fixed.holds(word)) return;
    writable_ = opened_ = protect(PROT_READ | PROT_WRITE);
  }
  ~open_pages() {
    if (opened_) protect(PROT_READ);
  }
  open_pages(const open_pages&) = delete;
  open_pages& operator=(const open_pages&) = delete;

  bool writable() const { return writable_; }

 private:
  bool protect(int protection) const {
    const std::uint64_t bytes = ((word_ + sizeof(void*) - 1) & ~(page - 1)) + page - start_;
    return sys::call(__NR_mprotect, start_, bytes, protection) == 0;
  }

  std::uint64_t start_;
  std::uint64_t word_;
  bool writable_ = false;
  bool opened_ = false;
};

void exchange_word(job& of, const binding& name, const range& fixed, std::uint64_t at) {
  const open_pages pages(fixed, at);
  if (!pages.writable()) {
    of.possible = false;
    return;
  }
  if (of.only_try) return;
  void* expected = of.from(name);
  __atomic_compare_exchange_n(reinterpret_cast<void**>(at), &expected, of.target(name), false, __ATOMIC_ACQ_REL,
                              __ATOMIC_RELAXED);
}

void exchange_bound(job& of, const image& module, const range& fixed) {
  module.each_bound_word([&](const char* name, std::uint64_t at) {
    if (at % sizeof(void*) != 0) return;
    void* const value = __atomic_load_n(reinterpret_cast<void**>(at), __ATOMIC_RELAXED);
    for (std::size_t i = 0; of.may_be_wanted(value) && i < of.names.count; ++i) {
      const binding& each = of.names.first[i];
      if (of.includes(each) && value == of.from(each) && std::strcmp(name, each.name) == 0)
        return exchange_word(of, each, fixed, at);
    }
  });
}

// The loader keeps what it allocates with in four words that nothing names.
void exchange_loaders(job& of, const range& fixed) {
  constexpr const char* kept[] = {"malloc", "calloc", "realloc", "free"};
  for (std::uint64_t at = fixed.start; at + sizeof(void*) <= fixed.end; at += sizeof(void*)) {
    void* const value = *reinterpret_cast<void**>(at);
    if (value == nullptr) continue;
    for (std::size_t i = 0; i < of.names.count; ++i) {
      const binding& each = of.names.first[i];
      const bool is_done = value == of.target(each);  // a detach before may have left what gives blocks back
      if (!of.includes(each) || (value != of.from(each) && value != each.stand_in && !is_done)) continue;
      for (const char* name : kept)
        if (std::strcmp(name, each.name) == 0) {
          ++of.loader_words;
          if (value != each.stand_in && !is_done) exchange_word(of, each, fixed, at);
        }
    }
  }
}

int visit(dl_phdr_info* module, std::size_t, void* argument) {
  job& of = *static_cast<job*>(argument);
  const Elf64_Dyn* dynamic = nullptr;
  range fixed;
  for (unsigned i = 0; i < module->dlpi_phnum; ++i) {
    const Elf64_Phdr& part = module->dlpi_phdr[i];
    const std::uint64_t start = module->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const Elf64_Dyn*>(start);
    if (part.p_type == PT_GNU_RELRO) fixed = {start, start + part.p_memsz};
  }
  const bool vdso = module->dlpi_addr != 0 && module->dlpi_addr == getauxval(AT_SYSINFO_EHDR);
  if (dynamic == nullptr || dynamic == _DYNAMIC || vdso) return 0;
  const image read(module->dlpi_addr, dynamic);
  exchange_bound(of, read, fixed);
  if (module->dlpi_addr == _r_debug.r_ldbase) exchange_loaders(of, fixed);
  return 0;
}

// By libc's own dl_iterate_phdr: programs replace it by one that knows of fewer modules.
void visit_all(job& of) {
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    const image module(*map);
    if (module.soname() == nullptr || std::strcmp(module.soname(), "libc.so.6") != 0) continue;
    if (void* found = module.definition("dl_iterate_phdr"); found != nullptr)
      reinterpret_cast<decltype(&dl_iterate_phdr)>(found)(visit, &of);
    return;
  }
}

}  // namespace

exchange_obstacle try_exchange(const bindings& names) {
  job trial(names, binding_side::ours, true, exchange_turn::never);  // of all turns
  visit_all(trial);
  if (trial.loader_words != 4) return exchange_obstacle::unknown_loader;
  return trial.possible ? exchange_obstacle::none : exchange_obstacle::fixed_words;
}

void exchange(const bindings& names, binding_side to, exchange_turn turn) {
  job real(names, to, false, turn);
  visit_all(real);
}

}  // namespace heapledger::probe
