#include "tool/collect/session.hpp"

#include <dirent.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/collect/process.hpp"
#include "tool/collect/uncounted.hpp"

namespace heapledger::collect {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::uint64_t first_pause_ns = 5 * ns_per_ms;
constexpr std::uint64_t pause_without_timeline_ns = 200 * ns_per_ms;
constexpr std::uint64_t sampling_cost_share = 50;

enum event_source : std::uint64_t { from_signals, from_inotify, from_pidfd };  // in the upper half; below it the pid

void add_event(const unique_fd& epoll, int fd, event_source source, pid_t pid = 0) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = (source << 32) | static_cast<std::uint32_t>(pid);
  ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event);
}

// Two descriptors for each process that runs at the same time.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// The pauses between samples: short at first, for short programs have memory too; then the interval, or longer where
// sampling takes long.
class pacing {
 public:
  explicit pacing(std::uint32_t interval_ms)
      : interval_ns_(interval_ms == 0 ? pause_without_timeline_ns : interval_ms * ns_per_ms),
        pause_ns_(std::min(first_pause_ns, interval_ns_)),
        next_ns_(monotonic_ns() + pause_ns_) {}

  int timeout_ms(std::uint64_t now_ns) const {
    return now_ns >= next_ns_ ? 0 : static_cast<int>((next_ns_ - now_ns + ns_per_ms - 1) / ns_per_ms);
  }
  bool is_due(std::uint64_t now_ns) const { return now_ns >= next_ns_; }
  void sampled(std::uint64_t began_ns, std::uint64_t cost_ns) {
    pause_ns_ = std::min(pause_ns_ * 2, interval_ns_);
    next_ns_ = std::max(began_ns + pause_ns_, monotonic_ns() + cost_ns * sampling_cost_share);
  }

 private:
  std::uint64_t interval_ns_;
  std::uint64_t pause_ns_;
  std::uint64_t next_ns_;
};

}  // namespace

session::session(std::string directory, session_options options)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (inotify_ && ::inotify_add_watch(inotify_.get(), directory_.c_str(), IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO) < 0)
    inotify_.reset();
  if (inotify_) add_event(epoll_, inotify_.get(), from_inotify);
}

int session::watch(pid_t root, held_signals& signals) {
  root_ = root;
  std::optional<int> status;
  go_on(signals, [&] {
    signals.pass_on(root);
    status = try_wait(root);
    return status.has_value();
  });
  scan();
  place_images(true);
  process_ended(root, status);
  end_those_gone(false);
  sample_all(monotonic_ns());
  return *status;
}

bool session::watch_other(pid_t root, held_signals& signals, const std::function<bool()>& is_over) {
  root_ = root;
  const auto end = open_pidfd(root);
  if (end) add_event(epoll_, end.get(), from_pidfd, root);
  bool has_ended = false;
  go_on(signals, [&] {
    const bool is_asked = signals.were_to_end_us();
    pollfd ready{.fd = end.get(), .events = POLLIN, .revents = 0};
    has_ended = end ? ::poll(&ready, 1, 0) == 1 : ::kill(root, 0) != 0 && errno == ESRCH;
    return has_ended || is_asked || is_over();
  });
  scan();
  place_images(true);
  if (has_ended) process_ended(root, {});
  end_those_gone(false);
  sample_all(monotonic_ns());
  return has_ended;
}

void session::take_in() {
  find_new();
  sample_all(monotonic_ns());
}

void session::find_new() {
  scan();
  place_images(true);
  end_those_gone(false);
}

std::vector<pid_t> session::running() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, image] : running_) pids.push_back(pid);
  return pids;
}

void session::go_on(held_signals& signals, const std::function<bool()>& is_done) {
  raise_descriptor_limit();
  add_event(epoll_, signals.fd(), from_signals);
  pacing pace(options_.interval_ms);
  for (bool done = false; !done;) {
    std::array<epoll_event, 64> events{};
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), pace.timeout_ms(monotonic_ns()));
    done = is_done();
    drain_inotify();  // before any end is booked: a process's files are older than its end
    for (int i = 0; i < count; ++i) {
      const auto data = events[static_cast<std::size_t>(i)].data.u64;
      const auto pid = static_cast<pid_t>(data & UINT32_MAX);
      if (data >> 32 == from_pidfd && pid != root_) process_ended(pid, {});
    }
    reap_orphans();
    const auto now_ns = monotonic_ns();
    if (!done && pace.is_due(now_ns)) {
      pace.sampled(now_ns, sample_all(now_ns));
    }
  }
}

void session::scan() {
  const std::unique_ptr<DIR, int (*)(DIR*)> files(::opendir(directory_.c_str()), ::closedir);
  while (files) {
    const dirent* entry = ::readdir(files.get());
    if (entry == nullptr) break;
    see_file(entry->d_name);
  }
}

void session::drain_inotify() {
  alignas(inotify_event) std::array<char, 16384> buffer;
  bool lost_some = false;
  for (;;) {
    const ssize_t got = inotify_ ? ::read(inotify_.get(), buffer.data(), buffer.size()) : 0;
    if (got <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      lost_some = lost_some || (event->mask & IN_Q_OVERFLOW) != 0;
      if (event->len != 0) see_file(event->name);
      at += sizeof *event + event->len;
    }
  }
  if (lost_some) scan();
  place_images(false);
}

void session::see_file(const std::string& name) {
  if (auto word = take_word(directory_, name)) {
    limited_.pids.insert(word->pid);
    add_uncounted({{.path = std::move(word->program), .reason = std::move(word->reason), .times = 1}},
                  limited_.programs);
    return;
  }
  const auto parts = parse_segment_name(name);
  if (!parts || seen_files_.contains(std::string_view(name))) return;
  seen_files_.emplace(name);
  images_.emplace_back(directory_ + "/" + name, parts->pid, parts->serial, options_.interval_ms != 0);
  unplaced_.push_back(&images_.back());
}

void session::place_images(bool all) {
  std::erase_if(unplaced_, [&](process_watch* image) {
    image->try_open();
    if (!all && image->segment() == nullptr) return false;
    place(*image);
    return true;
  });
  retire_ended();  // a process may go on as one program after the other, and none of them ends
}

void session::place(process_watch& image) {
  if (image.pid() == 0) {
    end_image(image, process_watch::state::ended, {});
    return;
  }
  const auto known = running_.find(image.pid());
  if (known != running_.end() && known->second->serial() > image.serial()) {
    end_image(image, process_watch::state::replaced, {});
    return;
  }
  if (known != running_.end()) end_image(*known->second, process_watch::state::replaced, {});
  running_[image.pid()] = &image;
  if (image.pidfd()) add_event(epoll_, image.pidfd().get(), from_pidfd, image.pid());
}

void session::process_ended(pid_t pid, std::optional<int> wait_status) {
  const auto found = running_.find(pid);
  if (found == running_.end()) return;
  auto& image = *found->second;
  running_.erase(found);
  if (!wait_status) wait_status = wait_status_of(image.pidfd(), pid);
  end_image(image, process_watch::state::ended, wait_status);
  retire_ended();
}

// Whose parents have ended, where we are process 1 of a container: nobody else waits for them.
void session::reap_orphans() {
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    const pid_t pid = ended.si_pid;
    if (pid == 0 || pid == root_) return;
    drain_inotify();  // its files are older than its end
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) != pid) return;
    process_ended(pid, status);
  }
}

void session::end_image(process_watch& image, process_watch::state how, std::optional<int> wait_status) {
  if (how == process_watch::state::replaced) image.set_image_number(++replaced_images_[image.pid()]);
  image.end(how, monotonic_ns(), wait_status);
  held_bytes_ += image.resident_bytes();
}

void session::end_those_gone(bool only_without_pidfd) {
  std::vector<pid_t> gone;
  for (const auto& [pid, image] : running_) {
    pollfd ready{.fd = image->pidfd().get(), .events = POLLIN, .revents = 0};
    if (pid == root_ || (only_without_pidfd && image->pidfd())) continue;
    const bool ended = image->pidfd() ? ::poll(&ready, 1, 0) == 1 : ::kill(pid, 0) != 0 && errno == ESRCH;
    if (ended) gone.push_back(pid);
  }
  for (const auto pid : gone) process_ended(pid, {});
}

std::uint64_t session::sample_all(std::uint64_t now_ns) {
  std::uint64_t self_paced_ns = 0;
  if (!inotify_) scan();
  place_images(false);
  end_those_gone(true);
  for (const auto& [pid, image] : running_) {
    const auto before_ns = image->sorting_time_ns();
    image->sample(now_ns);
    self_paced_ns += image->sorting_time_ns() - before_ns;
    if (options_.look) {
      const auto look_ns = monotonic_ns();
      options_.look(*image, look_ns);
      self_paced_ns += monotonic_ns() - look_ns;
    }
  }
  const auto spent_ns = monotonic_ns() - now_ns;
  return spent_ns - std::min(spent_ns, self_paced_ns);
}

void session::retire_ended() {
  if (held_bytes_ <= options_.held_bytes_limit || !options_.retire) return;
  if (options_.is_retiring && options_.is_retiring() && held_bytes_ / 2 <= options_.held_bytes_limit) return;
  std::list<process_watch> ended;
  for (auto image = images_.begin(); image != images_.end();) {
    const auto here = image++;
    const bool is_root = here->pid() == root_ && here->now() == process_watch::state::ended;
    if (here->now() != process_watch::state::running && !is_root) ended.splice(ended.end(), images_, here);
  }
  for (const auto& image : ended) held_bytes_ -= std::min(held_bytes_, image.resident_bytes());
  if (!ended.empty()) options_.retire(std::move(ended));
}

}  // namespace heapledger::collect
