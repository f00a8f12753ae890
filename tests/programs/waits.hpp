// What the modes of `waits` have in common.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace {

long wanted_ms = 1000;

timespec of_ms(long ms) {
  return {ms / 1000, ms % 1000 * 1'000'000};
}

timespec from_now(clockid_t clock, long ms) {
  timespec now{};
  clock_gettime(clock, &now);
  now.tv_sec += ms / 1000;
  now.tv_nsec += ms % 1000 * 1'000'000;
  if (now.tv_nsec >= 1'000'000'000) ++now.tv_sec, now.tv_nsec -= 1'000'000'000;
  return now;
}

double now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void ready() {
  std::fputs("ready\n", stdout);
  std::fflush(stdout);
}

[[noreturn]] void fail(const char* what) {
  std::printf("%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}

// A wait of its whole time. errno is what it was, unless the wait itself sets it.
void timed(const std::function<void()>& wait) {
  const double begin = now_s();
  ready();
  wait();
  expect(now_s() - begin >= static_cast<double>(wanted_ms) / 1000, "it came back before its time");
}

}  // namespace
