#include "tool/collect/watch_control.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "tool/collect/watch_wish.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr std::size_t answer_offset = offsetof(wire::segment_header, watch);
constexpr std::uint32_t marks_step = 1024;

// The header may claim any room, and its counts are the program's to write.
std::uint64_t slots_room(const wire::segment_header& header) {
  return std::min(header.watch_slots.capacity, wire::watch_slot_capacity);
}
std::uint64_t suspects_room(const wire::segment_header& header) {
  return std::min(header.watch_suspects.capacity, wire::watch_suspect_capacity);
}

std::uint32_t at_most(std::uint32_t value, std::uint64_t limit) {
  return value < limit ? value : static_cast<std::uint32_t>(limit);
}

template <class T>
std::vector<T> read_array(const segment_file& file, const wire::region& region, std::uint32_t count) {
  std::vector<T> all(count);
  if (!file.read_at(region.offset, all.data(), all.size() * sizeof(T)))
    throw input_error(file.path(), "the segment is cut off where the leak watch is");
  return all;
}

[[noreturn]] void fail(const std::string& path, const char* doing) {
  throw input_error(path, fmt::format("cannot {}: {}", doing, std::strerror(errno)));
}

}  // namespace

std::uint32_t chance_word(double chance) {
  const double scaled = std::ldexp(std::clamp(chance, 0.0, 1.0), 32) - 1;
  return scaled <= 0 ? 0 : static_cast<std::uint32_t>(std::min(scaled, 4294967295.0));
}

double chance_of(std::uint32_t word) {
  return std::ldexp(static_cast<double>(word) + 1, -32);
}

struct flock whole_file(short type) {
  struct flock all {};
  all.l_type = type;
  all.l_whence = SEEK_SET;
  return all;
}

watch_control::watch_control(const std::string& path, links how)
    : segment_(path, how),
      fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | (how == links::refused ? O_NOFOLLOW : 0))) {
  if (!fd_) fail(path, "write to the segment");
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0 || status.st_dev != segment_.device() || status.st_ino != segment_.inode())
    throw input_error(path, "the segment was replaced by another file");
  auto all = whole_file(F_WRLCK);
  if (::fcntl(fd_.get(), F_OFD_SETLK, &all) != 0) {
    if (errno == EAGAIN || errno == EACCES)
      throw input_error(path, "another heapledger watches this process, its run or a leaks PID",
                        "heapledger stop PID ends that watch");
    fail(path, "lock the segment");
  }
  if (!segment_.read_at(request_offset, &asked_, sizeof asked_)) fail(path, "read the segment");
  const auto& header = segment_.header();
  asked_.mark_count = at_most(asked_.mark_count, header.watch_marks.capacity);
  asked_.suspect_count = at_most(asked_.suspect_count, suspects_room(header));
  const auto known = suspects();
  for (std::uint32_t i = 0; i < known.size(); ++i) index_of_.try_emplace(known[i].account, i);
}

void watch_control::write(std::uint64_t offset, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes != 0) {
    const ssize_t done = ::pwrite(fd_.get(), at, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail(segment_.path(), "write to the segment");
    at += done;
    offset += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
}

template <class T>
void watch_control::write_word(std::size_t offset_in_request, T value) {
  write(request_offset + offset_in_request, &value, sizeof value);
}

#define HEAPLEDGER_SET(field, value)                                \
  do {                                                              \
    asked_.field = (value);                                         \
    write_word(offsetof(wire::watch_request, field), asked_.field); \
  } while (false)

void watch_control::start(const watch_limits& limits, std::uint64_t lease_ns) {
  HEAPLEDGER_SET(most_blocks, limits.blocks);
  HEAPLEDGER_SET(most_bytes, limits.bytes);
  HEAPLEDGER_SET(most_each_bytes, limits.each_bytes);
  HEAPLEDGER_SET(lease_ns, lease_ns);
  HEAPLEDGER_SET(on, 1);
  publish();
}

void watch_control::stop() {
  HEAPLEDGER_SET(on, 0);
  publish();
}

void watch_control::release() {
  auto all = whole_file(F_UNLCK);
  ::fcntl(fd_.get(), F_OFD_SETLK, &all);
}

void watch_control::publish() {
  HEAPLEDGER_SET(sequence, asked_.sequence + 1);
}

std::uint64_t watch_control::suspect_offset(std::uint32_t index) const {
  return segment_.header().watch_suspects.offset + index * sizeof(wire::watch_suspect);
}

// Marks are zero until they are something else; the probe reads none that was not written.
void watch_control::cover_marks(std::uint32_t account) {
  if (account < asked_.mark_count) return;
  const auto& region = segment_.header().watch_marks;
  const std::uint64_t wanted = (std::uint64_t{account} / marks_step + 1) * marks_step;
  const auto to = static_cast<std::uint32_t>(std::min(wanted, region.capacity));
  const std::vector<std::uint32_t> zeros(to - asked_.mark_count);
  write(region.offset + asked_.mark_count * sizeof(std::uint32_t), zeros.data(), zeros.size() * sizeof(std::uint32_t));
  HEAPLEDGER_SET(mark_count, to);
}

void watch_control::mark(std::uint32_t account, std::uint32_t value) {
  write(mark_offset(account), &value, sizeof value);
  if ((account & wire::watch_pool_site) != 0) return;  // looked at for every chunk
  HEAPLEDGER_SET(mark_sequence, asked_.mark_sequence + 1);
}

// A pool site's mark is in the site.
std::uint64_t watch_control::mark_offset(std::uint32_t account) const {
  const auto& header = segment_.header();
  if (const auto site = account & ~wire::watch_pool_site; site != account)
    return header.pool_sites.offset + site * sizeof(wire::pool_site) + offsetof(wire::pool_site, mark);
  return header.watch_marks.offset + account * sizeof(std::uint32_t);
}

bool watch_control::suspect(std::uint32_t account, double chance, std::uint32_t most, double inclusion) {
  const auto& header = segment_.header();
  const bool is_site = (account & wire::watch_pool_site) != 0;
  const auto marks = is_site ? header.pool_sites.capacity : header.watch_marks.capacity;
  if ((account & ~wire::watch_pool_site) >= marks) return false;
  const auto found = index_of_.find(account);
  const std::uint32_t index = found != index_of_.end() ? found->second : asked_.suspect_count;
  if (index >= suspects_room(header)) return false;
  const std::uint32_t words[2] = {chance_word(chance), chance > 0 ? most : 0};
  const std::uint32_t recorded = chance_word(inclusion);
  if (found != index_of_.end()) {
    write(suspect_offset(index) + offsetof(wire::watch_suspect, inclusion), &recorded, sizeof recorded);
    write(suspect_offset(index) + offsetof(wire::watch_suspect, chance), words, sizeof words);
  } else {
    wire::watch_suspect fresh{};
    fresh.account = account;
    fresh.chance = words[0];
    fresh.most = words[1];
    fresh.inclusion = recorded;
    write(suspect_offset(index), &fresh, sizeof fresh);
    HEAPLEDGER_SET(suspect_count, index + 1);
    index_of_.emplace(account, index);
  }
  if (!is_site) cover_marks(account);
  std::uint32_t now = 0;
  if (!segment_.read_at(mark_offset(account), &now, sizeof now) || now != index + 1) mark(account, index + 1);
  return true;
}

void watch_control::acquit(std::uint32_t account) {
  const bool is_site = (account & wire::watch_pool_site) != 0;
  if (index_of_.count(account) != 0 && (is_site || account < asked_.mark_count)) mark(account, 0);
}

void watch_control::conclude(std::uint32_t account, const watch_conclusion& said) {
  const auto found = index_of_.find(account);
  if (found == index_of_.end()) return;
  auto& before = concluded_[account];
  if (before == said) return;
  before = said;
  const std::uint64_t bytes[2] = {said.lost_bytes, said.lost_bytes_per_hour};
  static_assert(offsetof(wire::watch_suspect, lost_bytes_per_hour) ==
                offsetof(wire::watch_suspect, lost_bytes) + sizeof bytes[0]);
  write(suspect_offset(found->second) + offsetof(wire::watch_suspect, lost_bytes), bytes, sizeof bytes);
  write(suspect_offset(found->second) + offsetof(wire::watch_suspect, verdict), &said.verdict, sizeof said.verdict);
}

bool watch_control::arm(std::span<const wire::watch_arm> wanted) {
  const auto& region = segment_.header().watch_arms;
  if (!has_armed() || wanted.size() > region.capacity) return false;
  if (wanted.empty()) return true;
  write(region.offset, wanted.data(), wanted.size_bytes());
  HEAPLEDGER_SET(arm_count, static_cast<std::uint32_t>(wanted.size()));
  HEAPLEDGER_SET(arm_batch, asked_.arm_batch + 1);
  return true;
}

wire::watch_answer watch_control::answer() const {
  wire::watch_answer result{};
  if (!segment_.read_at(answer_offset, &result, sizeof result)) fail(segment_.path(), "read the segment");
  result.slot_count = at_most(result.slot_count, slots_room(segment_.header()));
  return result;
}

bool watch_control::is_heeded() const {
  return answer().seen_sequence == asked_.sequence;
}

bool watch_control::has_armed() const {
  const auto now = answer();
  return asked_.arm_batch == 0 || (now.arm_batch == asked_.arm_batch && now.arm_done >= asked_.arm_count);
}

std::vector<watched_slot> watch_control::slots() const {
  const auto all = read_array<wire::watch_slot>(segment_, segment_.header().watch_slots, answer().slot_count);
  std::vector<watched_slot> used;
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].state == wire::watch_slot_state::live || all[i].state == wire::watch_slot_state::apart ||
        all[i].state == wire::watch_slot_state::freed)
      used.push_back({i, all[i]});
  return used;
}

std::vector<wire::watch_suspect> watch_control::suspects() const {
  return read_array<wire::watch_suspect>(segment_, segment_.header().watch_suspects, asked_.suspect_count);
}

wire::watch_suspect watch_control::counters(std::uint32_t account) const {
  wire::watch_suspect result{};
  const auto found = index_of_.find(account);
  if (found != index_of_.end() && !segment_.read_at(suspect_offset(found->second), &result, sizeof result))
    fail(segment_.path(), "read the segment");
  return result;
}

}  // namespace heapledger::collect
