#include "tool/live/names.hpp"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tool/symbolize/cut_off_guard.hpp"
#include "tool/symbolize/debug_files.hpp"
#include "tool/symbolize/frame_interner.hpp"
#include "tool/symbolize/mapped_files.hpp"
#include "tool/symbolize/resolver.hpp"

namespace heapledger::live {
namespace {

constexpr std::size_t batch_addresses = 64;

using module_key = std::pair<std::string, std::string>;  // path, build-id

struct named_frame {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
};

struct module_names {
  std::unordered_map<std::uint64_t, std::vector<named_frame>> known;  // empty: nothing is to be known
  std::set<std::uint64_t> wanted;
};

bool is_virtual(const std::string& path) {
  return path.empty() || path.starts_with('[');
}

// A new thread would else get signals that are meant for the one that knows what to do.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

struct symbol_names::state {
  std::mutex mutex;
  std::condition_variable asked;
  std::condition_variable answered;
  std::map<module_key, module_names> modules;
  std::size_t open = 0;  // addresses asked for and not answered
  bool stop = false;
  std::atomic<pid_t> process = 0;

  // The worker's own.
  std::map<module_key, std::unique_ptr<symbols::resolver>> resolvers;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      asked.wait(lock, [&] { return stop || open != 0; });
      if (stop) return;
      for (auto& [key, module] : modules) {
        if (module.wanted.empty()) continue;
        std::vector<std::uint64_t> batch;
        for (const auto address : module.wanted) {
          if (batch.size() == batch_addresses) break;
          batch.push_back(address);
        }
        lock.unlock();
        auto found = look_up(key, batch);
        lock.lock();
        for (const auto address : batch) module.wanted.erase(address);
        module.known.merge(found);
        open -= batch.size();
        answered.notify_all();
        if (stop) return;
      }
    }
  }

  std::unordered_map<std::uint64_t, std::vector<named_frame>> look_up(const module_key& key,
                                                                      const std::vector<std::uint64_t>& addresses) {
    std::unordered_map<std::uint64_t, std::vector<named_frame>> found;
    for (const auto address : addresses) found[address];
    if (is_virtual(key.first)) return found;
    const symbols::cut_off_guard guard;
    try {
      auto& resolver = resolvers[key];
      if (resolver == nullptr) {
        const debug_places places{.mapped = symbols::mapped_files(process)};
        resolver =
            std::make_unique<symbols::resolver>(symbols::find_module_files(key.first, key.second, places), places);
      }
      if (!resolver->has_file()) return found;
      resolver->resolve(addresses, [&](std::size_t index, std::span<const symbols::resolved_frame> frames) {
        auto& to = found[addresses[index]];
        for (const auto& frame : frames)
          to.push_back({std::string(frame.function), std::string(frame.file), frame.line});
      });
      if (symbols::file_was_cut_off() || !resolver->is_as_it_was()) {  // what was known before is shown on
        for (auto& [address, frames] : found) frames.clear();
        resolver = nullptr;
      }
    } catch (const std::exception&) {
      return found;  // addresses without names, then
    }
    return found;
  }
};

symbol_names::symbol_names() : state_(std::make_shared<state>()) {
  const signals_blocked quiet;
  try {
    std::thread([shared = state_] { shared->work(); }).detach();
  } catch (const std::system_error& error) {
    throw std::runtime_error(fmt::format("cannot start a thread: {} (ulimit -u)", error.code().message()));
  }
}

symbol_names::~symbol_names() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->asked.notify_all();
}

void symbol_names::of_process(pid_t pid) {
  state_->process = pid;
}

void symbol_names::apply(profile& to) {
  symbols::frame_interner interner(to);
  const std::lock_guard lock(state_->mutex);
  for (auto& place : to.locations) {
    if (place.module >= to.modules.size()) continue;
    const auto& in = to.modules[place.module];
    auto& module = state_->modules[{in.path, in.build_id}];
    const auto known = module.known.find(place.address);
    if (known == module.known.end()) {
      if (module.wanted.insert(place.address).second) ++state_->open;
      continue;
    }
    place.symbols.clear();
    for (const auto& frame : known->second)
      place.symbols.push_back(interner.frame({frame.function, frame.file, frame.line}));
  }
  if (state_->open != 0) state_->asked.notify_all();
}

void symbol_names::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->answered.wait(lock, [&] { return state_->open == 0; });
}

bool symbol_names::is_busy() const {
  const std::lock_guard lock(state_->mutex);
  return state_->open != 0;
}

}  // namespace heapledger::live
