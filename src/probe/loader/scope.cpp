#include "probe/loader/scope.hpp"

#include <dlfcn.h>

#include <cstring>

#include "probe/base/access.hpp"
#include "probe/base/attributes.hpp"
#include "probe/loader/image.hpp"

namespace heapledger::probe {
namespace {

constexpr std::uint64_t page = 4096;

bool is_loaded(const link_map* wanted) {
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
    if (map == wanted) return true;
  return false;
}

bool is_loader(const link_map& map) {
  return map.l_addr == _r_debug.r_ldbase;
}

}  // namespace

link_map* own_map() {
  for (link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
    if (map->l_ld == _DYNAMIC) return map;
  return nullptr;
}

link_map* program_map() {
  return _r_debug.r_map;
}

void* defined_from(const link_map* first, const char* name) {
  for (const link_map* map = first; map != nullptr; map = map->l_next)
    if (void* found = image(*map).definition(name); found != nullptr) return found;
  return nullptr;
}

// What the program needs and what is preloaded stand in the list when it starts, preloaded libraries before all that is
// needed, and so before the loader, which libc needs.
bool came_late() {
  const link_map* map = program_map();
  while (map != nullptr && !is_loader(*map)) {
    if (map->l_ld == _DYNAMIC) return false;
    map = map->l_next;
  }
  const link_map* const own = own_map();
  if (own == nullptr) return false;
  const char* const soname = image(*own).soname();
  for (map = program_map(); map != nullptr; map = map->l_next)
    if (map != own && soname != nullptr && image(*map).needs(soname)) return false;
  return true;
}

bool loader_scope::is_scope(const searched& candidate) {
  constexpr std::uint32_t most = 1u << 16;
  const auto start = reinterpret_cast<std::uint64_t>(candidate.modules);
  const std::uint64_t end = start + candidate.count * sizeof(link_map*);
  if (candidate.count < 2 || candidate.count > most || start < page || start % sizeof(link_map*) != 0) return false;
  for (std::uint64_t at = start; at < end; at = (at & ~(page - 1)) + page)
    if (!is_readable(reinterpret_cast<const void*>(at))) return false;
  if (candidate.modules[0] != program_map()) return false;
  const link_map* const own = own_map();
  std::uint32_t found = 0;
  for (std::uint32_t i = 1; i < candidate.count; ++i) {
    if (!is_loaded(candidate.modules[i])) return false;
    if (candidate.modules[i] == own) ++found;
  }
  return found == 1;
}

bool loader_scope::find() {
  constexpr std::uint64_t largest_map = 4096;
  const auto start = reinterpret_cast<std::uint64_t>(program_map());
  list_ = nullptr;
  // The word after `at` is the first that may lie on a page that has not been asked about.
  for (std::uint64_t at = start + sizeof(link_map); at < start + largest_map; at += sizeof(void*)) {
    const auto* const second = reinterpret_cast<const void*>(at + sizeof(void*));
    if ((at + sizeof(void*)) % page == 0 && !is_readable(second)) break;
    auto* const candidate = reinterpret_cast<searched*>(at);
    if (!is_scope(*candidate)) continue;
    if (list_ != nullptr) {
      list_ = nullptr;
      return false;
    }
    list_ = candidate;
  }
  return list_ != nullptr;
}

void* loader_scope::next(const char* name) const {
  if (list_ == nullptr) return dlsym(RTLD_NEXT, name);
  const link_map* const own = own_map();
  for (std::uint32_t i = 1; i < list_->count; ++i)
    if (list_->modules[i] != own)
      if (void* found = image(*list_->modules[i]).definition(name); found != nullptr) return found;
  return nullptr;
}

link_map* loader_scope::holder(const void* address) const {
  dl_find_object object;
  return _dl_find_object(const_cast<void*>(address), &object) == 0 ? object.dlfo_link_map : nullptr;
}

std::uint32_t loader_scope::own_place() const {
  const link_map* const own = own_map();
  std::uint32_t place = 0;
  while (list_->modules[place] != own) ++place;
  return place;
}

void loader_scope::put_second() {
  link_map* const own = own_map();
  link_map** const modules = list_->modules;
  for (std::uint32_t i = own_place(); i > 1; --i) __atomic_store_n(&modules[i], modules[i - 1], __ATOMIC_RELEASE);
  __atomic_store_n(&modules[1], own, __ATOMIC_RELEASE);
}

// As long as the old one in all, since the loader knows how many entries it has room for.
void loader_scope::put_last(void* (*allocate)(std::size_t), std::size_t (*usable_size)(void*)) {
  link_map** const before = list_->modules;
  const std::uint32_t place = own_place(), count = list_->count;
  const std::size_t bytes = usable_size(before);
  if (place == count - 1 || bytes < count * sizeof(link_map*)) return;
  auto** const copy = static_cast<link_map**>(allocate(bytes));
  if (copy == nullptr) return;
  std::memcpy(copy, before, count * sizeof(link_map*));
  std::memmove(copy + place, copy + place + 1, (count - 1 - place) * sizeof(link_map*));
  copy[count - 1] = before[place];
  __atomic_store_n(&list_->modules, copy, __ATOMIC_RELEASE);
}

}  // namespace heapledger::probe
