#include "probe/publish/modules.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>

#include "probe/base/lock.hpp"
#include "probe/publish/code_age.hpp"

namespace heapledger::probe {

constinit module_table modules;

namespace {

// The GNU build-id lies in a PT_NOTE segment, which is mapped.
void read_build_id(const ElfW(Ehdr) & elf, std::uint64_t bias, std::uint64_t end, wire::module& out) {
  if (__builtin_memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return;
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(reinterpret_cast<const char*>(&elf) + elf.e_phoff);
  if (reinterpret_cast<std::uint64_t>(segments + elf.e_phnum) > end) return;
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    std::uint64_t at = bias + segments[i].p_vaddr;
    const std::uint64_t stop = at + segments[i].p_memsz;
    if (stop > end) continue;
    while (at + sizeof(ElfW(Nhdr)) <= stop) {
      const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
      const std::uint64_t name = at + sizeof note, text = name + ((note.n_namesz + 3) & ~3u);
      const std::uint64_t next = text + ((note.n_descsz + 3) & ~3u);
      if (next > stop) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          __builtin_memcmp(reinterpret_cast<const char*>(name), "GNU", 4) == 0 &&
          note.n_descsz <= wire::build_id_capacity) {
        out.build_id_bytes = note.n_descsz;
        __builtin_memcpy(out.build_id, reinterpret_cast<const void*>(text), note.n_descsz);
        return;
      }
      at = next;
    }
  }
}

bool locate(std::uint64_t address, dl_find_object& object) {
  return _dl_find_object(reinterpret_cast<void*>(address), &object) == 0;
}

// All but what the segment says of it: its path, and what came before it.
wire::module describe(const dl_find_object& object) {
  wire::module of{};
  of.start = reinterpret_cast<std::uint64_t>(object.dlfo_map_start);
  of.end = reinterpret_cast<std::uint64_t>(object.dlfo_map_end);
  of.bias = object.dlfo_link_map->l_addr;
  read_build_id(*reinterpret_cast<const ElfW(Ehdr)*>(object.dlfo_map_start), of.bias, of.end, of);
  return of;
}

bool is_same_build(const wire::module& a, const wire::module& b) {
  return a.build_id_bytes != 0 && a.build_id_bytes == b.build_id_bytes &&
         __builtin_memcmp(a.build_id, b.build_id, a.build_id_bytes) == 0;
}
bool is_same_place(const wire::module& a, const wire::module& b) {
  return a.start == b.start && a.end == b.end && a.bias == b.bias;
}

}  // namespace

std::uint32_t module_table::known(std::uint64_t address) const {
  const std::uint32_t count = __atomic_load_n(&segment.header->module_count, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = count; i-- > 0;) {
    const wire::module& module = segment.modules[i];
    if (address >= module.start && address < module.end && module.unloaded_ns == 0) return i;
  }
  return none;
}

std::uint32_t module_table::find(std::uint64_t address) {
  const std::uint32_t found = known(address);
  return found != none ? found : publish(address);
}

std::uint32_t module_table::publish(std::uint64_t address) {
  dl_find_object object;
  if (!locate(address, object)) return none;
  lock_guard held(lock_);
  if (const std::uint32_t found = known(address); found != none) return found;
  wire::segment_header& header = *segment.header;
  const std::uint32_t fresh = header.module_count;
  if (fresh >= wire::place_module_mask - 1 || !commit(segment.modules, fresh + 1)) {
    count_loss(wire::loss::modules_full);
    return none;
  }
  wire::module& out = segment.modules[fresh];
  out = describe(object);
  out.before = counts_now();
  out.loaded_ns = sys::clock_ns(sys::clock_monotonic);
  const auto self = reinterpret_cast<std::uint64_t>(&modules);
  out.is_probe = self >= out.start && self < out.end;
  const char* name = object.dlfo_link_map->l_name;
  out.path = *name == 0 ? header.exe : publish_string(name, __builtin_strlen(name));
  __atomic_store_n(&header.module_count, fresh + 1, __ATOMIC_RELEASE);
  return fresh;
}

bool module_table::still_loaded(std::uint32_t index) {
  const wire::module& module = segment.modules[index];
  dl_find_object object;
  return locate(module.start, object) && reinterpret_cast<std::uint64_t>(object.dlfo_map_start) == module.start &&
         reinterpret_cast<std::uint64_t>(object.dlfo_map_end) == module.end;
}

const wire::module* module_table::sweep(void (*gone)(const wire::module&)) {
  const wire::module* first = nullptr;
  const std::uint32_t count = __atomic_load_n(&segment.header->module_count, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = 0; i < count; ++i) {
    wire::module& module = segment.modules[i];
    if (module.unloaded_ns != 0 || still_loaded(i)) continue;
    if (first == nullptr) first = &module;
    module.unloaded_ns = sys::clock_ns(sys::clock_monotonic);
    gone(module);
  }
  if (first != nullptr) __atomic_store_n(&any_gone_, true, __ATOMIC_RELAXED);
  return first;
}

const wire::module* module_table::revive(std::uint64_t address) {
  dl_find_object object;
  if (!locate(address, object)) return nullptr;
  lock_guard held(lock_);
  if (known(address) != none) return nullptr;
  const wire::module now = describe(object);
  for (std::uint32_t i = segment.header->module_count; i-- > 0;) {
    wire::module& before = segment.modules[i];
    if (!is_same_place(before, now) || !is_same_build(before, now)) continue;
    if (std::strcmp(&segment.strings[before.path], object.dlfo_link_map->l_name) != 0) continue;
    __atomic_store_n(&before.unloaded_ns, 0, __ATOMIC_RELAXED);
    return &before;
  }
  return nullptr;
}

}  // namespace heapledger::probe
