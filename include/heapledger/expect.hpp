// Assertions on what code allocates, for tests of any framework:
//
//     const auto parsed = heapledger::expect_no_allocations([&] { parse(line); });
//     assert(parsed);                                 // or print parsed.text: it names the stacks that allocated
//     heapledger::expect_at_most({.allocations = 3, .peak_bytes = 4096}, [&] { load(file); }).or_abort();
//
// What is counted is what the calling thread does, and what other threads do in the scope, if it is handed on
// (heapledger::bind). Exact: no sampling, every size, libraries included; the peak, too, whatever threads make it.
// Where the probe is not in the process, or the program's allocations do not reach it (a sanitizer, an allocator of its
// own), nothing can be known: the expectation is met, and says that it was not measured, and why.
#pragma once

#include <cxxabi.h>
#include <dlfcn.h>
#include <heapledger/detail/counted.hpp>
#include <heapledger/detail/unnamed_frames.hpp>
#include <heapledger/scope.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace heapledger {

// What code may allocate; peak_bytes is the most that may live at once.
struct allocation_limits {
  std::uint64_t bytes = unlimited;
  std::uint64_t allocations = unlimited;
  std::uint64_t peak_bytes = unlimited;
};

// A place that allocated, and how much.
struct site {
  std::uint64_t allocations = 0, allocated_bytes = 0, live_bytes = 0;
  std::vector<const void*> frames;  // return addresses, from the allocation outward
};

struct measurement {
  bool measured = false;  // allocations are counted, and there was room for a scope, not nested too deep; and this is
                          // not a forked child, which knows nothing of its parent's scopes
  usage used;
  std::vector<site> sites;          // most bytes first
  const char* why_unmeasured = "";  // a few words
};

// Calls f in a scope of its own. What f throws is let through. Measurements that run in several threads at once may
// see each other's sites, but not each other's usage.
template <class F>
measurement measure(F&& f);

// The stacks as lines of text: functions where the dynamic symbols know them, else module+offset, as addr2line wants
// it.
inline std::string to_string(const site& of);

struct [[nodiscard]] expectation {
  bool met = true;
  bool measured = false;
  usage used;
  std::string text;  // what was expected, what came, and from where; or why it was not measured; else empty

  explicit operator bool() const noexcept { return met; }
  void or_abort() const {
    if (met) return;
    std::fputs(text.c_str(), stderr);
    std::abort();
  }
};

inline expectation check(const measurement& of, const allocation_limits& most);

template <class F>
expectation expect_at_most(const allocation_limits& most, F&& f) {
  return check(measure(std::forward<F>(f)), most);
}
template <class F>
expectation expect_no_allocations(F&& f) {
  return expect_at_most({.bytes = 0, .allocations = 0}, std::forward<F>(f));
}

namespace detail {

inline std::vector<heapledger_site> raw_sites(scope of) {
  std::vector<heapledger_site> all;
  if (heapledger_scope_sites == nullptr) return all;
  for (std::size_t room = 64;; room *= 4) {
    all.resize(room);
    const std::size_t found = heapledger_scope_sites(of.handle(), all.data(), room);
    if (found > room) continue;
    all.resize(found);
    return all;
  }
}

// What came since `before`; both are in the order of ids.
inline std::vector<site> difference(const std::vector<heapledger_site>& before,
                                    const std::vector<heapledger_site>& after) {
  std::vector<site> result;
  auto old = before.begin();
  for (const heapledger_site& now : after) {
    while (old != before.end() && old->id < now.id) ++old;
    const heapledger_site was = old != before.end() && old->id == now.id ? *old : heapledger_site{};
    if (now.allocations == was.allocations) continue;
    site& fresh = result.emplace_back();
    fresh.allocations = now.allocations - was.allocations;
    fresh.allocated_bytes = now.allocated_bytes - was.allocated_bytes;
    fresh.live_bytes = fresh.allocated_bytes - (now.freed_bytes - was.freed_bytes);
    for (std::uint32_t i = 0; i < now.frame_count; ++i)
      fresh.frames.push_back(reinterpret_cast<const void*>(now.frames[i]));
  }
  std::sort(result.begin(), result.end(),
            [](const site& a, const site& b) { return a.allocated_bytes > b.allocated_bytes; });
  return result;
}

inline std::string frame_text(const void* return_address) {
  const auto address = reinterpret_cast<std::uintptr_t>(return_address) - 1;  // in the call
  char line[64];
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(address), &found) == 0 || found.dli_fname == nullptr) {
    std::snprintf(line, sizeof line, "0x%" PRIxPTR, address);
    return line;
  }
  std::snprintf(line, sizeof line, "+0x%" PRIxPTR, address - reinterpret_cast<std::uintptr_t>(found.dli_fbase));
  std::string place = std::string(found.dli_fname) + line;
  if (found.dli_sname == nullptr) return place;
  int status = -1;
  char* const readable = abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, &status);
  place = std::string(status == 0 ? readable : found.dli_sname) + "  (" + place + ")";
  std::free(readable);
  return place;
}

inline std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

inline void compare(std::string& text, std::uint64_t is, const char* what, const char* how, std::uint64_t most) {
  if (is > most) text += counted(is, what) + how + ", at most " + std::to_string(most) + " expected\n";
}

// Of an older probe a limit is met only if it was for certain.
inline std::uint64_t highest(const usage& of) {
  return std::min(static_cast<std::uint64_t>(of.peak_bytes + of.error_bytes), of.allocated_bytes);
}

}  // namespace detail

template <class F>
measurement measure(F&& f) {
  measurement result;
  const char* const uncounted = detail::why_not_counted();
  const scope around = scope::current();
  owned_scope own("measured", budget{}, around);
  if (own != around && heapledger_scope_exact_peak != nullptr) heapledger_scope_exact_peak(own->handle());
  std::vector<heapledger_site> before;
  {
    const enter outside(scope::process());
    before = detail::raw_sites(own);
  }
  {
    const enter in(own);
    result.measured = uncounted == nullptr && active() && own != around && scope::current() == own;
    static_cast<void>(std::forward<F>(f)());
  }
  const enter outside(scope::process());
  const char* const why_not = uncounted != nullptr ? uncounted
                              : !result.measured   ? "there was no room for a scope, or it is nested too deep"
                              : own->state() == scope_state::gone
                                  ? "a forked child knows nothing of its parent's scopes"
                                  : nullptr;
  if (why_not != nullptr) {
    result.measured = false;
    result.why_unmeasured = why_not;
    return result;
  }
  result.used = own->used();
  if (result.used.allocations != 0) result.sites = detail::difference(before, detail::raw_sites(own));
  return result;
}

inline std::string to_string(const site& of) {
  std::string text = detail::counted(of.allocated_bytes, "byte") + " in " +
                     detail::counted(of.allocations, "allocation") + ", " + detail::counted(of.live_bytes, "byte") +
                     " not freed, from\n";
  for (const void* each : of.frames) text += "    " + detail::frame_text(each) + "\n";
  return text;
}

inline expectation check(const measurement& of, const allocation_limits& most) {
  const enter outside(scope::process());
  expectation result;
  result.measured = of.measured;
  result.used = of.used;
  detail::compare(result.text, of.used.allocated_bytes, "byte", " allocated", most.bytes);
  detail::compare(result.text, of.used.allocations, "allocation", "", most.allocations);
  detail::compare(result.text, detail::highest(of.used), "byte", " live at once", most.peak_bytes);
  result.met = result.text.empty();
  constexpr std::size_t shown = 10;
  detail::unnamed_frames unnamed;
  for (std::size_t i = 0; !result.met && i < of.sites.size() && i < shown; ++i) {
    result.text += "  " + to_string(of.sites[i]);
    for (const void* each : of.sites[i].frames) unnamed.add(each);
  }
  if (!result.met && of.sites.size() > shown) result.text += "  and from other places\n";
  result.text += unnamed.advice();
  if (!result.measured) result.text += std::string("not measured: ") + of.why_unmeasured + "\n";
  return result;
}

}  // namespace heapledger
