#include "tool/leaks/pointer_memory.hpp"

#include "tool/collect/mapping.hpp"
#include "tool/collect/process.hpp"

namespace heapledger::leaks {
namespace {

constexpr std::size_t smaps_limit = std::size_t{256} << 20;

std::uint64_t sum_of(std::string_view details, std::initializer_list<std::string_view> keys) {
  std::uint64_t sum = 0;
  for (const auto key : keys) sum += collect::detail_bytes(details, key);
  return sum;
}

class sorter {
 public:
  sorter(const address_range& slots, const collect::segment_file* segment) : slots_(slots), segment_(segment) {}

  void add(const collect::mapping& map, std::string_view details) {
    if (segment_ != nullptr && collect::maps_segment(map, *segment_)) return;
    if (map.name.starts_with("[anon:heapledger")) {
      has_named_memory_ = true;
      return;
    }
    if (map.name.starts_with("/memfd:heapledger-watch")) return add_slots(map);
    if (collect::has_vm_flag(details, "io") || collect::has_vm_flag(details, "pf")) return;  // a device's
    const address_range range{map.start, map.end};
    if (map.is_shared) return add_shared(map, details);
    if (map.readable && map.writable) {
      // A kernel without names for anonymous memory still tells the flags that our own has.
      const bool may_be_ours = map.name.empty() && map.inode == 0 && collect::has_vm_flag(details, "nr") &&
                               collect::has_vm_flag(details, "dd");
      return (may_be_ours ? flagged_ : parts_.plain).push_back(range);
    }
    if (sum_of(details, {"Anonymous:", "Swap:", "Private_Hugetlb:"}) != 0)  // it was written to, once
      (map.readable ? parts_.sparse : parts_.locked).push_back(range);
  }

  memory_parts finish() {
    if (has_named_memory_) parts_.plain.insert(parts_.plain.end(), flagged_.begin(), flagged_.end());
    return std::move(parts_);
  }

 private:
  void add_slots(const collect::mapping& map) {
    const address_range range{map.start, map.end};
    const bool in_slots = map.start >= slots_.start && map.start < slots_.end;
    if (!map.readable || !map.writable) return;
    if (in_slots && !map.is_shared) parts_.apart.push_back(range);
    if (in_slots == map.is_shared)
      (in_slots ? parts_.watched : parts_.beside).push_back({range, map.offset, map.inode});
  }

  void add_shared(const collect::mapping& map, std::string_view details) {
    // Which of its pages are in swap, the page table does not tell.
    if (sum_of(details, {"Swap:"}) != 0) parts_.obstacle = "shared memory of the program is swapped out";
    if (sum_of(details, {"Rss:", "Shared_Hugetlb:", "Private_Hugetlb:"}) != 0)
      (map.readable ? parts_.sparse : parts_.locked).push_back({map.start, map.end});
  }

  const address_range slots_;
  const collect::segment_file* const segment_;
  memory_parts parts_;
  std::vector<address_range> flagged_;
  bool has_named_memory_ = false;
};

}  // namespace

memory_parts sort_pointer_memory(std::string_view smaps, const address_range& slots,
                                 const collect::segment_file* segment) {
  sorter parts(slots, segment);
  collect::for_each_mapping(smaps, [&](const auto& map, std::string_view details) { parts.add(map, details); });
  return parts.finish();
}

memory_parts pointer_memory_of(pid_t pid, const address_range& slots, const collect::segment_file* segment) {
  const auto smaps = collect::read_memory_file(pid, "smaps", smaps_limit);
  auto parts = sort_pointer_memory(smaps, slots, segment);
  if (smaps.empty()) parts.obstacle = "its memory cannot be read";
  if (smaps.size() >= smaps_limit) parts.obstacle = "it has more mappings than can be read";
  return parts;
}

}  // namespace heapledger::leaks
