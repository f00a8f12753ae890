#include "tool/leaks/witness.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "tool/collect/process.hpp"
#include "tool/collect/unique_fd.hpp"
#include "tool/leaks/thread_stop.hpp"

namespace heapledger::leaks {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;
constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t block_limit = std::uint64_t{64} << 20;  // none that is watched is larger
constexpr std::uint64_t slots_limit = wire::watch_slot_capacity * wire::watch_slot_bytes;
constexpr int searches = 2;

// The same bytes, where no one watches.
std::optional<std::uint64_t> beside(const memory_parts& parts, std::uint64_t address) {
  for (const auto& seen : parts.watched) {
    if (address < seen.range.start || address >= seen.range.end) continue;
    const auto at = address - seen.range.start + seen.offset;
    for (const auto& other : parts.beside)
      if (other.inode == seen.inode && at >= other.offset && at - other.offset < other.range.end - other.range.start)
        return other.range.start + (at - other.offset);
  }
  return {};
}

class searcher {
 public:
  searcher(pid_t pid, std::span<const address_range> blocks, std::vector<bool>& marked)
      : tid_(collect::thread_with_memory(pid)),
        blocks_(blocks),
        marked_(marked),
        buffer_(piece_bytes / sizeof(std::uint64_t)),
        pages_(open_file("pagemap")),
        memory_(open_file("mem")) {}

  std::uint64_t searched_bytes() const { return searched_bytes_; }
  const std::string& obstacle() const { return obstacle_; }

  void search(const memory_parts& parts, const address_range& slots, std::span<const collect::watched_slot> records) {
    for (const auto& part : parts.plain) read_range(part);
    for (const auto& part : parts.apart) read_present(part, way::as_the_program);
    for (const auto& part : parts.sparse) read_present(part, way::as_the_program);
    for (const auto& part : parts.locked) read_present(part, way::as_a_debugger);
    // The records are the program's: blocks that are apart from each other have no more bytes than the slots.
    auto left = slots.end > slots.start ? std::min(slots.end - slots.start, slots_limit) : 0;
    for (const auto& each : records) {
      const auto& record = each.record;
      const bool is_apart = record.state == wire::watch_slot_state::apart;
      if (!is_apart && record.state != wire::watch_slot_state::live) continue;
      const auto bytes = std::min(record.bytes, block_limit);
      if (record.address < slots.start || record.address >= slots.end) continue;
      if (bytes > slots.end - record.address || bytes > left) continue;
      left -= bytes;
      if (is_apart) {
        read_range({record.address, record.address + bytes});
        continue;
      }
      const auto at = beside(parts, record.address);
      if (!at) obstacle_ = "watched blocks cannot be read without touching them";
      if (at) read_range({*at, *at + bytes});
    }
  }

 private:
  enum class way { as_the_program, as_a_debugger };

  collect::unique_fd open_file(const char* name) const {
    return collect::unique_fd(::open(fmt::format("/proc/{}/{}", tid_, name).c_str(), O_RDONLY | O_CLOEXEC));
  }

  void read_range(const address_range& range, way how = way::as_the_program) {
    for (auto at = range.start; at < range.end; at += std::min<std::uint64_t>(piece_bytes, range.end - at))
      read_piece(at, range.end, how);
  }

  // Of what a fork made private, pages that this process has touched since: a pointer to a block that is younger can be
  // nowhere else. Of the rest, what the program has ever written.
  void read_present(const address_range& range, way how) {
    constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62, guard = std::uint64_t{1} << 58;
    std::vector<std::uint64_t> entries(4096);
    address_range found;
    for (auto at = range.start; at < range.end; at += entries.size() * page_bytes) {
      const auto count = std::min<std::uint64_t>(entries.size(), (range.end - at) / page_bytes);
      const auto offset = static_cast<off_t>(at / page_bytes * sizeof entries[0]);
      const ssize_t got = ::pread(pages_.get(), entries.data(), count * sizeof entries[0], offset);
      if (got < 0) obstacle_ = "which of its pages are there cannot be read";
      for (std::size_t i = 0; got > 0 && i < static_cast<std::size_t>(got) / sizeof entries[0]; ++i) {
        if ((entries[i] & present_or_swapped) == 0 || (entries[i] & guard) != 0) continue;
        const auto page = at + i * page_bytes;
        if (page != found.end) {
          read_range(found, how);
          found.start = page;
        }
        found.end = page + page_bytes;
      }
    }
    read_range(found, how);
  }

  ssize_t read_bytes(std::uint64_t at, std::size_t bytes, way how) {
    if (how == way::as_a_debugger) {
      const ssize_t got = ::pread(memory_.get(), buffer_.data(), bytes, static_cast<off_t>(at));
      if (got < 0) obstacle_ = "memory that the program has locked cannot be read";
      return got;
    }
    iovec to{buffer_.data(), bytes};
    iovec from{reinterpret_cast<void*>(at), bytes};
    return ::process_vm_readv(tid_, &to, 1, &from, 1, 0);
  }

  void read_piece(std::uint64_t at, std::uint64_t end, way how) {
    const std::size_t bytes = std::min<std::uint64_t>(piece_bytes, end - at);
    const ssize_t got = read_bytes(at, bytes, how);
    if (got > 0) take(static_cast<std::size_t>(got));
    if (got >= static_cast<ssize_t>(bytes) || bytes <= page_bytes) return;
    // A page that cannot be read ends the piece: go on behind it.
    const std::uint64_t next =
        at + (got > 0 ? static_cast<std::uint64_t>(got) / page_bytes * page_bytes : 0) + page_bytes;
    if (next < at + bytes) read_piece(next, at + bytes, how);
  }

  void take(std::size_t bytes) {
    searched_bytes_ += bytes;
    mark_targets(std::span(buffer_).first(bytes / sizeof(std::uint64_t)), blocks_, marked_);
  }

  pid_t tid_;
  std::span<const address_range> blocks_;
  std::vector<bool>& marked_;
  std::vector<std::uint64_t> buffer_;
  std::uint64_t searched_bytes_ = 0;
  collect::unique_fd pages_;
  collect::unique_fd memory_;
  std::string obstacle_;
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

witness_result find_unreachable(pid_t pid, std::span<const watcher::stale_block> blocks, const address_range& slots,
                                std::span<const collect::watched_slot> records, const collect::segment_file* segment) {
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
    const auto parts = pointer_memory_of(pid, slots, segment);
    memory.search(parts, slots, records);
    result.info.searched_bytes = memory.searched_bytes();
    result.info.obstacle = parts.obstacle.empty() ? memory.obstacle() : parts.obstacle;
    if (result.info.obstacle.empty() && memory.searched_bytes() == 0)
      result.info.obstacle = "its memory cannot be read";
    if (!result.info.obstacle.empty()) return result;
  }
  result.unreachable.resize(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) result.unreachable[order[i]] = !marked[i];
  result.info.unreachable = static_cast<std::uint64_t>(std::count(marked.begin(), marked.end(), false));
  return result;
}

bool ask_witness(watcher& watch) {
  const auto blocks = watch.stale_blocks();
  if (blocks.empty()) return true;
  const auto& answer = watch.answer();
  const address_range slots{answer.base, answer.base + std::uint64_t{answer.slot_limit} * wire::watch_slot_bytes};
  const auto said = find_unreachable(watch.pid(), blocks, slots, watch.slots_now(), &watch.segment());
  watch.set_witness(said.info, said.unreachable, blocks);
  return said.info.obstacle.empty();
}

}  // namespace heapledger::leaks
