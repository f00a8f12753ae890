// Any words of a program to the leak watch, changing between looks: the tool must come to its end with them, and ask
// only about what can be. The program is a process that sleeps; what it says is the input's.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <string_view>

#include "sound_header.hpp"
#include "tool/collect/watch_control.hpp"
#include "tool/collect/watch_wish.hpp"
#include "tool/leaks/watcher.hpp"
#include "tool/leaks/witness.hpp"
#include "tool/profile/error.hpp"

namespace {

using namespace heapledger;

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr int looks = 4;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

class input {
 public:
  explicit input(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T take() {
    T value{};
    const auto taken = bytes_.substr(0, sizeof value);
    std::memcpy(&value, taken.data(), taken.size());
    bytes_.remove_prefix(taken.size());
    return value;
  }
  // Up to `most` bytes of the input over those that are there.
  void pour(std::string& to, std::uint64_t at, std::size_t most) {
    const auto taken = bytes_.substr(0, std::min<std::size_t>(most, take<std::uint16_t>()));
    taken.copy(to.data() + at, taken.size());
    bytes_.remove_prefix(std::min(taken.size(), bytes_.size()));
  }

 private:
  std::string_view bytes_;
};

pid_t start_program() {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execl("/bin/sleep", "sleep", "infinity", nullptr);
  _exit(1);
}

class program {
 public:
  explicit program(input& from) : from_(from), fd_(memfd_create("segment", MFD_CLOEXEC)) {
    wire::segment_header header{};
    header.account_count = header.pool_site_count = UINT32_MAX;  // as many as there is room for
    file_.assign(reinterpret_cast<const char*>(&header), sizeof header);
    fuzz::repair(file_);
    write();
  }
  ~program() { close(fd_); }
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

  // What the tool has written stays, but where the input says otherwise.
  void go_on() {
    require(pread(fd_, file_.data(), file_.size(), 0) == static_cast<ssize_t>(file_.size()));
    wire::segment_header header;
    std::memcpy(&header, file_.data(), sizeof header);
    from_.pour(file_, offsetof(wire::segment_header, watch_asked), sizeof(wire::watch_request));
    from_.pour(file_, offsetof(wire::segment_header, watch), sizeof(wire::watch_answer));
    std::memcpy(&header.watch, file_.data() + offsetof(wire::segment_header, watch), sizeof header.watch);
    if (from_.take<std::uint8_t>() % 4 != 0) {  // where a program can have memory
      header.watch.base &= 0x7fff'ffff'0000;
      std::memcpy(file_.data() + offsetof(wire::segment_header, watch), &header.watch, sizeof header.watch);
    }
    for (const auto* region : {&header.watch_slots, &header.watch_suspects, &header.accounts, &header.pool_sites})
      from_.pour(file_, region->offset, 4096);
    write();
  }

 private:
  void write() const { require(pwrite(fd_, file_.data(), file_.size(), 0) == static_cast<ssize_t>(file_.size())); }

  input& from_;
  int fd_;
  std::string file_;
};

void ask(const std::string& path, input& from) {
  collect::watch_control control(path);
  control.start({}, second_ns);
  for (int left = from.take<std::uint8_t>() % 8; left > 0; --left) {
    const auto account = from.take<std::uint32_t>() & 0x8000'00ff;
    control.suspect(account, from.take<std::uint16_t>() / 65536.0, from.take<std::uint16_t>());
    control.conclude(account, {wire::watch_verdict::leak, from.take<std::uint64_t>(), 0});
    if (from.take<std::uint8_t>() % 2 == 0) control.acquit(account);
    control.counters(account);
    const wire::watch_arm wanted[] = {{account, 1}};
    control.arm(wanted);
    control.publish();
  }
  require(control.suspects().size() <= wire::watch_suspect_capacity);
  for (const auto& slot : control.slots()) require(slot.index < wire::watch_slot_capacity);
  control.is_heeded();
  collect::add_wish(control.segment(), collect::read_wish(control.segment()).is_new());
  control.stop();
}

void hunt(program& of, input& from, pid_t pid) {
  leaks::hunt_options options;
  options.suspicious_s = options.access_s = options.rest_s = 1;
  leaks::watcher watch(of.path(), collect::links::followed, pid, options, 0);
  std::uint64_t now_ns = second_ns;
  for (int look = 0; look < looks; ++look, now_ns += from.take<std::uint16_t>() * second_ns / 64) {
    of.go_on();
    if (!watch.look(now_ns)) break;
  }
  if (!watch.stale_blocks().empty()) leaks::ask_witness(watch);
  watch.look_at_end();
  watch.found();
}

void look_for_pointers(input& from, pid_t pid) {
  std::vector<leaks::watcher::stale_block> blocks;
  std::vector<collect::watched_slot> records;
  for (int left = from.take<std::uint8_t>() % 8; left > 0; --left) {
    blocks.push_back({left % 2U, from.take<std::uint64_t>(), from.take<std::uint64_t>()});
    records.push_back({from.take<std::uint32_t>(), from.take<wire::watch_slot>()});
  }
  const leaks::address_range slots{from.take<std::uint64_t>(), from.take<std::uint64_t>()};
  const auto said = leaks::find_unreachable(pid, blocks, slots, records);
  require(said.unreachable.size() == (said.info.obstacle.empty() ? blocks.size() : 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const pid_t pid = start_program();
  input from({reinterpret_cast<const char*>(data), size});
  const auto wanted = from.take<std::uint8_t>();
  try {
    program said(from);
    said.go_on();
    if (wanted % 2 == 0) ask(said.path(), from);
    hunt(said, from, pid);
    if (wanted % 16 == 0) look_for_pointers(from, pid);
  } catch (const input_error&) {
  }
  return 0;
}
