// What a scope uses, told at intervals, from when this is asked until the scope is closed and its last byte was freed:
//
//     heapledger::report_every(query, 1s, [](heapledger::scope s, heapledger::usage u) { gauge.set(u.live_bytes); });
//
// The last report says 0 live bytes, so that sums over scopes come back to what is really there. Intervals are above 0;
// what was missed is not made up for. What the callback refers to must live until the last report: of a scope that is
// never closed, until the program ends. Reports are made by one thread of the program, which the first call starts,
// outside of all scopes; they may ask for further reports, and must not throw. Signals of the process are left to the
// program's own threads: that one blocks them. It ends when static objects are destroyed, after the report that it is
// at; who asks later gets no reports. A child process has no such thread, and reports nothing. A program that has an
// event loop may rather keep a report_schedule of its own and run it from a timer.
#pragma once

#include <signal.h>
#include <unistd.h>
#include <heapledger/scope.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace heapledger {

// Used by one thread at a time.
class report_schedule {
 public:
  using clock = std::chrono::steady_clock;
  using callback = std::function<void(scope, usage)>;

  // Nothing is ever reported for process() or where the probe is absent.
  void add(scope of, clock::duration interval, callback report, clock::time_point now = clock::now()) {
    if (of == scope::process() || !active()) return;
    const enter outside(scope::process());
    entries_.push_back({of, interval, now + interval, {}, std::move(report)});
  }

  // Makes the reports that are due; returns when the next one is, time_point::max() for never. A report may add()
  // others, but not run(). Lets through what a report throws, which is then due again after its interval.
  clock::time_point run(clock::time_point now = clock::now()) {
    const enter outside(scope::process());
    clock::time_point next = clock::time_point::max();
    for (auto at = entries_.begin(); at != entries_.end();) {
      if (at->due <= now && report(*at, now)) {
        at = entries_.erase(at);
      } else {
        next = std::min(next, at->due);
        ++at;
      }
    }
    return next;
  }

  bool empty() const noexcept { return entries_.empty(); }

 private:
  struct entry {
    scope of;
    clock::duration interval;
    clock::time_point due;
    usage last;
    callback report;
  };

  // Whether it was the last one.
  static bool report(entry& of, clock::time_point now) {
    const scope_state state = of.of.state();
    if (state == scope_state::gone) {
      // Recycled since the last look: everything that lived was freed.
      of.last.frees += static_cast<std::uint64_t>(of.last.live_blocks);
      of.last.live_bytes = of.last.live_blocks = 0;
    } else {
      of.last = of.of.used();
    }
    of.due += of.interval;
    if (of.due <= now) of.due = now + of.interval;
    const bool ended = state != scope_state::open && of.last.live_bytes == 0 && of.last.live_blocks == 0;
    of.report(of.of, of.last);
    return ended;
  }

  std::list<entry> entries_;  // a report that adds others stays where it is
};

namespace detail {

class report_thread {
 public:
  // It is never destroyed: other threads, and static objects that end later, may still ask for reports.
  static report_thread& instance() {
    static report_thread& one = *new report_thread;
    static const ending when_static_objects_end{one};
    return one;
  }
  void add(scope of, report_schedule::clock::duration interval, report_schedule::callback report) {
    if (getpid() != process_) return;
    {
      const std::lock_guard held(mutex_);
      if (ended_) return;
      fresh_.push_back({of, interval, std::move(report), report_schedule::clock::now()});
    }
    changed_.notify_one();
  }

 private:
  struct ending {
    report_thread& of;
    ~ending() { of.end(); }
  };
  struct request {
    scope of;
    report_schedule::clock::duration interval;
    report_schedule::callback report;
    report_schedule::clock::time_point since;
  };

  // A child process has neither the thread nor, perhaps, the lock; and where a report called exit(), this is the thread
  // itself.
  void end() {
    if (getpid() != process_) return;
    {
      const std::lock_guard held(mutex_);
      ended_ = true;
    }
    if (std::this_thread::get_id() == thread_.get_id()) return;
    thread_.request_stop();
    thread_.join();
  }

  void work(const std::stop_token& ends) {
    report_schedule schedule;
    auto next = report_schedule::clock::time_point::max();
    std::vector<request> taken;
    while (!ends.stop_requested()) {
      {
        std::unique_lock held(mutex_);
        const auto asked = [this] { return !fresh_.empty(); };
        if (next == report_schedule::clock::time_point::max())
          changed_.wait(held, ends, asked);
        else
          changed_.wait_until(held, ends, next, asked);
        taken.swap(fresh_);
      }
      // Callbacks run without the lock: they may ask for further reports.
      for (request& each : taken) schedule.add(each.of, each.interval, std::move(each.report), each.since);
      taken.clear();
      next = schedule.run();
    }
  }

  // A thread begins with the mask of who makes it. What a crash raises is not blocked: it has its handler.
  class signals_blocked {
   public:
    signals_blocked() {
      sigset_t most;
      sigfillset(&most);
      for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&most, crash);
      pthread_sigmask(SIG_SETMASK, &most, &before_);
    }
    ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;

   private:
    sigset_t before_;
  };
  std::jthread begin() {
    const signals_blocked meanwhile;
    return std::jthread([this](const std::stop_token& ends) { work(ends); });
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<request> fresh_;
  bool ended_ = false;
  std::jthread thread_ = begin();
};

}  // namespace detail

inline void report_every(scope of, report_schedule::clock::duration interval, report_schedule::callback report) {
  if (of == scope::process() || !active()) return;
  const enter outside(scope::process());
  detail::report_thread::instance().add(of, interval, std::move(report));
}

}  // namespace heapledger
