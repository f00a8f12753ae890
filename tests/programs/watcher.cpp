// The tool's side of the leak watch for tests: one command a line on standard input, one JSON value a line in reply.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tool/collect/books.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/watch_control.hpp"
#include "tool/collect/watch_pages.hpp"

using namespace heapledger;
using namespace heapledger::collect;

namespace {

std::string accounts(const watch_control& watch) {
  const auto copy = copy_segment(watch.segment());
  const auto sums = add_up(copy);
  std::string list;
  for (std::size_t i = 0; i < sums.accounts.size(); ++i)
    if (sums.accounts[i].allocations != 0)
      list += fmt::format("{}[{}, {}, {}, {}, {}]", list.empty() ? "" : ", ", i, sums.accounts[i].allocations,
                          sums.accounts[i].allocated_bytes, sums.accounts[i].frees, sums.accounts[i].freed_bytes);
  return "[" + list + "]";
}

std::string slots(const watch_control& watch, watch_pages& pages) {
  const auto before = watch.slots();
  const auto answer = watch.answer();
  const auto present = pages.present(answer.base, answer.slot_count);
  constexpr const char* names[] = {"unused", "live", "apart", "freed", "rest"};
  std::string list;
  for (const auto& [index, slot] : before) {
    bool touched = false;
    for (std::uint32_t i = index;
         i < present.size() && (i == index || i * wire::watch_slot_bytes + answer.base < slot.address + slot.bytes);
         ++i)
      touched = touched || present[i];
    list += fmt::format(
        "{}{{\"slot\": {}, \"state\": \"{}\", \"serial\": {}, \"account\": {}, \"address\": {}, \"bytes\": {}, "
        "\"born\": {}, "
        "\"ended\": {}, \"armed\": {}, \"tid\": {}, \"chance\": {}, \"present\": {}}}",
        list.empty() ? "" : ", ", index, names[static_cast<unsigned>(slot.state)], slot.serial, slot.account,
        slot.address, slot.bytes, slot.born_ns, slot.ended_ns, slot.armed_ns, slot.tid, chance_of(slot.chance),
        touched);
  }
  return "[" + list + "]";
}

std::string words(const wire::watch_answer& a) {
  return fmt::format(
      "{{\"state\": {}, \"obstacle\": {}, \"error\": {}, \"base\": {}, \"slot_count\": {}, \"slot_limit\": {}, "
      "\"live\": {}, "
      "\"apart\": {}, \"live_bytes\": {}, \"placed\": {}, \"freed\": {}, \"refused_most\": {}, \"refused_room\": {}, "
      "\"forks\": {}, \"set_apart\": {}, \"locked_arms\": {}, \"failed_arms\": {}}}",
      static_cast<unsigned>(a.state), static_cast<unsigned>(a.obstacle), a.error, a.base, a.slot_count, a.slot_limit,
      a.live_blocks, a.apart_blocks, a.live_bytes, a.placed, a.freed, a.refused_most, a.refused_room, a.forks,
      a.set_apart, a.locked_arms, a.failed_arms);
}

std::string words(const wire::watch_suspect& s) {
  return fmt::format(
      "{{\"chosen\": {}, \"placed\": {}, \"placed_bytes\": {}, \"freed\": {}, "
      "\"freed_bytes\": {}, \"live\": {}}}",
      s.chosen, s.placed, s.placed_bytes, s.freed, s.freed_bytes, s.live);
}

std::string arm_all(watch_control& watch) {
  std::vector<wire::watch_arm> wanted;
  for (const auto& [index, slot] : watch.slots())
    if (slot.state == wire::watch_slot_state::live) wanted.push_back({index, slot.serial});
  const bool taken = watch.arm(wanted);
  watch.publish();
  return taken ? "true" : "false";
}

std::string answer_to(const std::string& line, watch_control& watch, watch_pages& pages) {
  std::istringstream in(line);
  std::string command;
  in >> command;
  if (command == "start") {
    watch_limits limits;
    double lease_s = 1000;
    in >> lease_s >> limits.blocks >> limits.bytes >> limits.each_bytes;
    watch.start(limits, monotonic_ns() + static_cast<std::uint64_t>(lease_s * 1e9));
  } else if (command == "stop") {
    watch.stop();
  } else if (command == "suspect") {
    std::uint32_t account = 0, most = 30;
    double chance = 1;
    in >> account >> chance >> most;
    double inclusion = 0;
    if (!(in >> inclusion)) inclusion = chance;
    const bool taken = watch.suspect(account, chance, most, inclusion);
    watch.publish();
    return taken ? "true" : "false";
  } else if (command == "acquit") {
    std::uint32_t account = 0;
    in >> account;
    watch.acquit(account);
    watch.publish();
  } else if (command == "accounts") {
    return accounts(watch);
  } else if (command == "slots") {
    return slots(watch, pages);
  } else if (command == "arm") {
    return arm_all(watch);
  } else if (command == "answer") {
    return words(watch.answer());
  } else if (command == "heeded") {
    return watch.is_heeded() && watch.has_armed() ? "true" : "false";
  } else if (command == "scans") {
    return pages.scans() ? "true" : "false";
  } else if (command == "time") {  // one question about so many slots, seconds
    std::uint32_t count = 0;
    in >> count;
    const auto before = monotonic_ns();
    const auto found = pages.present(watch.answer().base, count);
    return fmt::format("[{}, {}]", static_cast<double>(monotonic_ns() - before) / 1e9, found.size());
  } else if (command == "counters") {
    std::uint32_t account = 0;
    in >> account;
    return words(watch.counters(account));
  } else {
    return "\"unknown command\"";
  }
  return "null";
}

// Requests that no tool of ours would write, each published, with a word of garbage in every place in turn.
int be_hostile(const char* path) {
  const segment_file segment(path);
  const unique_fd fd(::open(path, O_RDWR | O_CLOEXEC));
  const auto& header = segment.header();
  wire::watch_request request{};
  if (!segment.read_at(offsetof(wire::segment_header, watch_asked), &request, sizeof request)) return 1;
  const auto put = [&](std::uint64_t offset, const void* from, std::size_t bytes) {
    if (::pwrite(fd.get(), from, bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes)) ::abort();
  };
  const std::vector<std::uint32_t> garbage(1 << 16, 0xfffffffe);
  put(header.watch_marks.offset, garbage.data(), 4096);
  put(header.watch_arms.offset, garbage.data(), garbage.size() * sizeof garbage[0]);
  put(header.watch_suspects.offset + sizeof(wire::watch_suspect), garbage.data(), sizeof(wire::watch_suspect));
  request.mark_count = request.suspect_count = request.arm_count = 0xffffffff;
  request.most_bytes = request.most_each_bytes = request.lease_ns = ~std::uint64_t{0};
  ++request.arm_batch;
  ++request.mark_sequence;
  ++request.sequence;
  put(offsetof(wire::segment_header, watch_asked), &request, sizeof request);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  try {
    if (count > 2 && std::string(arguments[2]) == "hostile") return be_hostile(arguments[1]);
    watch_control watch(arguments[1]);
    const bool read_only = count > 2 && std::string(arguments[2]) == "read-only";
    watch_pages pages(static_cast<pid_t>(watch.segment().header().pid),
                      read_only ? pagemap_way::read_only : pagemap_way::best);
    std::cout << "\"ready\"" << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << answer_to(line, watch, pages) << std::endl;
  } catch (const std::exception& error) {
    std::cout << fmt::format("{{\"error\": \"{}\"}}", error.what()) << std::endl;
    return 1;
  }
}
