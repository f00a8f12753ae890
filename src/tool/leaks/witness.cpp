#include "tool/leaks/witness.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tool/collect/mapping.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/unique_fd.hpp"
#include "tool/leaks/thread_stop.hpp"

namespace heapledger::leaks {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t maps_limit = std::size_t{64} << 20;
constexpr int searches = 2;

struct memory_part {
  address_range range;
  bool is_slots = false;
};

// What the program can keep a pointer in: all that it can write to, but for our own books. Those are left out of core
// dumps, which is how they are known where the kernel gives mappings no names.
std::vector<memory_part> parts_of(pid_t pid, const address_range& slots, bool& is_readable) {
  std::vector<memory_part> parts;
  const auto maps = collect::read_proc_file(fmt::format("/proc/{}/smaps", pid), maps_limit);
  is_readable = !maps.empty();
  collect::for_each_mapping(maps, [&](const collect::mapping& map, std::string_view details) {
    const bool in_slots = map.start >= slots.start && map.start < slots.end;
    const bool is_books = map.name.starts_with("[anon:heapledger") || map.name.starts_with("/dev/") ||
                          (map.inode == 0 && collect::has_vm_flag(details, "dd"));
    // Of the slots only the shared mapping: reading holes through the other would fill them.
    const bool is_spare = map.name.starts_with("/memfd:heapledger-watch") && !map.is_shared;
    if (map.readable && map.writable && !is_books && !is_spare && map.is_shared == in_slots)
      parts.push_back({{map.start, map.end}, in_slots});
  });
  return parts;
}

class searcher {
 public:
  searcher(pid_t pid, std::span<const address_range> blocks, std::vector<bool>& marked)
      : pid_(pid), blocks_(blocks), marked_(marked), buffer_(piece_bytes / sizeof(std::uint64_t)) {}

  std::uint64_t searched_bytes() const { return searched_bytes_; }
  bool lacks_slots() const { return lacks_slots_; }

  void search(const memory_part& part) {
    if (!part.is_slots) {
      for (auto at = part.range.start; at < part.range.end; at += piece_bytes) read_piece(at, part.range.end);
      return;
    }
    // Through the program's own mapping a read would be an access.
    const auto name = fmt::format("/proc/{}/map_files/{:x}-{:x}", pid_, part.range.start, part.range.end);
    const collect::unique_fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    lacks_slots_ = lacks_slots_ || !file;
    if (file) search_file(file.get());
  }

 private:
  void read_piece(std::uint64_t at, std::uint64_t end) {
    const std::size_t bytes = std::min<std::uint64_t>(piece_bytes, end - at);
    iovec to{buffer_.data(), bytes};
    iovec from{reinterpret_cast<void*>(at), bytes};
    const ssize_t got = ::process_vm_readv(pid_, &to, 1, &from, 1, 0);
    if (got > 0) take(static_cast<std::size_t>(got));
    if (got >= static_cast<ssize_t>(bytes) || bytes <= page_bytes) return;
    // A page that cannot be read ends the piece: go on behind it.
    const std::uint64_t next =
        at + (got > 0 ? static_cast<std::uint64_t>(got) / page_bytes * page_bytes : 0) + page_bytes;
    if (next < at + bytes) read_piece(next, at + bytes);
  }

  // Holes of a sparse file hold nothing.
  void search_file(int file) {
    for (off_t at = 0;;) {
      const off_t data = ::lseek(file, at, SEEK_DATA);
      if (data < 0) return;
      const off_t hole = ::lseek(file, data, SEEK_HOLE);
      for (at = data; at < hole;) {
        const ssize_t got =
            ::pread(file, buffer_.data(), std::min<std::size_t>(piece_bytes, static_cast<std::size_t>(hole - at)), at);
        if (got <= 0) return;
        take(static_cast<std::size_t>(got));
        at += got;
      }
    }
  }

  void take(std::size_t bytes) {
    searched_bytes_ += bytes;
    mark_targets(std::span(buffer_).first(bytes / sizeof(std::uint64_t)), blocks_, marked_);
  }

  pid_t pid_;
  std::span<const address_range> blocks_;
  std::vector<bool>& marked_;
  std::vector<std::uint64_t> buffer_;
  std::uint64_t searched_bytes_ = 0;
  bool lacks_slots_ = false;
};

}  // namespace

void mark_targets(std::span<const std::uint64_t> words, std::span<const address_range> blocks,
                  std::vector<bool>& marked) {
  if (blocks.empty()) return;
  const std::uint64_t first = blocks.front().start;
  const std::uint64_t span = blocks.back().end - first;
  for (const auto word : words) {
    if (word - first > span) continue;
    const auto after = std::upper_bound(blocks.begin(), blocks.end(), word,
                                        [](std::uint64_t at, const address_range& range) { return at < range.start; });
    if (after == blocks.begin()) continue;
    const auto index = static_cast<std::size_t>(after - blocks.begin()) - 1;
    if (word <= blocks[index].end) marked[index] = true;  // one past the end points to it, too
  }
}

witness_result find_unreachable(pid_t pid, std::span<const watcher::stale_block> blocks, const address_range& slots) {
  witness_result result;
  result.info.blocks = blocks.size();
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return blocks[a].address < blocks[b].address; });
  std::vector<address_range> ranges;
  for (const auto i : order) ranges.push_back({blocks[i].address, blocks[i].address + blocks[i].bytes});

  std::vector<bool> marked(ranges.size());
  for (int search = 0; search < searches; ++search) {
    const auto registers = read_registers(pid);
    result.info.stopped_ns = std::max(result.info.stopped_ns, registers.stopped_ns);
    result.info.obstacle = registers.obstacle;
    if (!registers.obstacle.empty()) return result;
    mark_targets(registers.words, ranges, marked);
    searcher memory(pid, ranges, marked);
    bool is_readable = false;
    for (const auto& part : parts_of(pid, slots, is_readable)) memory.search(part);
    result.info.searched_bytes = memory.searched_bytes();
    if (!is_readable || memory.searched_bytes() == 0) result.info.obstacle = "its memory cannot be read";
    if (memory.lacks_slots()) result.info.obstacle = "watched blocks can only be read by root without touching them";
    if (!result.info.obstacle.empty()) return result;
  }
  result.unreachable.resize(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) result.unreachable[order[i]] = !marked[i];
  result.info.unreachable = static_cast<std::uint64_t>(std::count(marked.begin(), marked.end(), false));
  return result;
}

void ask_witness(watcher& watch) {
  const auto blocks = watch.stale_blocks();
  if (blocks.empty()) return;
  const auto& answer = watch.answer();
  const address_range slots{answer.base, answer.base + std::uint64_t{answer.slot_limit} * wire::watch_slot_bytes};
  auto said = find_unreachable(watch.pid(), blocks, slots);
  if (answer.apart_blocks != 0) {
    said.unreachable.clear();
    said.info.unreachable = 0;
    said.info.obstacle = "a fork set watched blocks apart, and what they hold cannot be read";
  }
  watch.set_witness(said.info, said.unreachable, blocks);
}

}  // namespace heapledger::leaks
