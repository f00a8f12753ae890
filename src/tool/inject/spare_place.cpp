#include "tool/inject/spare_place.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tool/inject/memory.hpp"
#include "tool/inject/return_frame.hpp"

namespace heapledger::inject {
namespace {

constexpr std::size_t most_segments = 64;

std::uint64_t rounded_up(std::uint64_t address, std::uint64_t to) {
  return (address + to - 1) / to * to;
}

struct ranked_place {
  spare_place place;
  bool is_code = false;
};

// What is left behind data that is written may be the loader's own first memory, or the beginning of the heap.
bool is_nobodys(const Elf64_Phdr& segment, const module& of, const target& in) {
  const bool is_written = (segment.p_flags & PF_W) != 0;
  return segment.p_type == PT_LOAD &&
         (!is_written || (of.path != in.program && kind_of(of.name()) == library_kind::libc));
}

void add_places(const target& in, const module& of, std::vector<ranked_place>& places) {
  Elf64_Ehdr header{};
  if (!read_memory(in.pid, of.start, &header, sizeof header) || header.e_phentsize != sizeof(Elf64_Phdr)) return;
  std::vector<Elf64_Phdr> segments(std::min<std::size_t>(header.e_phnum, most_segments));
  if (!read_memory(in.pid, of.start + header.e_phoff, segments.data(), segments.size() * sizeof segments[0])) return;
  const auto first = std::find_if(segments.begin(), segments.end(), [](const auto& s) { return s.p_type == PT_LOAD; });
  if (first == segments.end()) return;
  const auto offset = of.start - first->p_vaddr / page_bytes * page_bytes;
  for (const auto& segment : segments) {
    if (!is_nobodys(segment, of, in)) continue;
    const auto end = offset + segment.p_vaddr + segment.p_memsz;
    const auto begin = rounded_up(end, return_frame_alignment);
    const auto page_end = rounded_up(end, page_bytes);
    if (begin < page_end && page_end <= of.end)
      places.push_back({{begin, page_end - begin}, (segment.p_flags & PF_X) != 0});
  }
}

struct claim {
  std::uint64_t mark;
  std::int64_t tid;
};
static_assert(sizeof(claim) == borrowed_place::claim_bytes);
constexpr std::uint64_t claim_mark = 0x6b63616220796d2e;  // ".my back"

pid_t claimant(const char* content) {
  claim found{};
  std::memcpy(&found, content, sizeof found);
  return found.mark == claim_mark ? static_cast<pid_t>(found.tid) : 0;
}

}  // namespace

std::vector<spare_place> find_spare_places(const target& in) {
  std::vector<ranked_place> ranked;
  for (const auto& each : in.modules)
    if (!each.is_vdso && (each.path == in.program || kind_of(each.name()) != library_kind::other))
      add_places(in, each, ranked);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.is_code != b.is_code ? !a.is_code : a.place.bytes > b.place.bytes;
  });
  std::vector<spare_place> places;
  for (const auto& each : ranked) places.push_back(each.place);
  return places;
}

borrowed_place::borrowed_place(pid_t pid, pid_t tid, const std::vector<spare_place>& places, std::size_t bytes)
    : pid_(pid), tid_(tid) {
  const auto found = std::find_if(places.begin(), places.end(), [&](const auto& each) { return each.bytes >= bytes; });
  if (found == places.end()) return;
  before_.resize(std::max(bytes, claim_bytes));
  if (!read_memory(pid, found->address, before_.data(), before_.size())) return;
  address_ = found->address;
  if (claimant(before_.data()) != 0) std::fill_n(before_.begin(), claim_bytes, '\0');
}

borrowed_place::~borrowed_place() {
  if (address_ != 0) write_any_memory(pid_, address_, before_.data(), before_.size());
}

void borrowed_place::write(std::vector<char> content) {
  const claim ours{claim_mark, tid_};
  if (content.size() >= sizeof ours && content.size() <= before_.size()) {
    std::memcpy(content.data(), &ours, sizeof ours);
    if (write_any_memory(pid_, address_, content.data(), content.size())) return;
  }
  address_ = 0;
}

std::vector<pid_t> borrowers_of(pid_t pid, const std::vector<spare_place>& places) {
  std::vector<pid_t> tids;
  for (const auto& place : places) {
    std::array<char, borrowed_place::claim_bytes> content{};
    if (!read_memory(pid, place.address, content.data(), content.size())) continue;
    if (const auto tid = claimant(content.data()); tid != 0) tids.push_back(tid);
  }
  return tids;
}

}  // namespace heapledger::inject
