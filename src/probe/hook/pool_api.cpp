// What pools call to be seen: the functions of include/heapledger/pool/publish.hpp.
#include <cstddef>

#include "probe/hook/event.hpp"
#include "probe/pool/pools.hpp"
#include "probe/pool/sites.hpp"
#include "probe/watch/watch.hpp"

using namespace heapledger;
using namespace heapledger::probe;

HL_EXPORT wire::pool_counters* heapledger_pool_open(const char* name, std::size_t chunk_bytes) {
  if (!hears_of_forks()) return nullptr;
  const booking event(__builtin_dwarf_cfa());
  return event ? open_pool(name, chunk_bytes) : nullptr;
}

HL_EXPORT void heapledger_pool_close(wire::pool_counters* counters) {
  const booking event(__builtin_dwarf_cfa());
  close_pool(counters);
}

HL_EXPORT std::uint32_t heapledger_pool_allocated(wire::pool_counters* counters, const void*, std::size_t bytes) {
  const frame_state caller = HL_CALLER();
  const booking event(reinterpret_cast<const void*>(caller.rsp));
  if (!event || state.stacks_off) return 0;
  const std::uint32_t kind = kind_of_pool(counters);
  if (kind == 0) return 0;
  if (!event->stack.same(caller)) {
    event->stack.walk(caller.pc, caller.rsp, caller.rbp);
    event->forget_recent();  // it belonged to the stack before
  }
  return book_chunk(*event, kind, bytes);
}

HL_EXPORT void heapledger_pool_freed(wire::pool_counters*, const void*, std::uint32_t site, std::size_t bytes) {
  const booking event(__builtin_dwarf_cfa());
  if (event) book_chunk_free(site, bytes);
}

HL_EXPORT void* heapledger_pool_watched(wire::pool_counters*, void* chunk, std::uint32_t site, std::size_t bytes,
                                        std::size_t capacity, std::size_t alignment) {
  const std::uint32_t index = site_index_of(site);
  if (index == 0) return nullptr;
  if (!is_suspect_site(index)) {
    look_at_watch();
    return nullptr;
  }
  const booking event(__builtin_dwarf_cfa());
  return event ? place_chunk(*event, index, chunk, {0, bytes, capacity, alignment}) : nullptr;
}

HL_EXPORT void* heapledger_pool_chunk(void* given) {
  return is_watched(given) ? chunk_of_placed(given) : given;
}

HL_EXPORT void heapledger_pool_unwatched(void* placed) {
  if (is_watched(placed)) leave_slot(placed);
}
