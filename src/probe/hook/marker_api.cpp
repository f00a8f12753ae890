// heapledger_mark and heapledger_snapshot of include/heapledger/heapledger.h.
#define HEAPLEDGER_WEAK
#include "probe/hook/marker_api.hpp"

#include <csignal>

#include "heapledger/heapledger.h"
#include "probe/account/snapshot.hpp"
#include "probe/hook/process.hpp"

HL_EXPORT void heapledger_mark(const char* name) {
  const heapledger::probe::booking event(__builtin_dwarf_cfa());
  if (event) heapledger::probe::add_mark(name);
}

HL_EXPORT void heapledger_snapshot(const char* name) {
  const heapledger::probe::booking event(__builtin_dwarf_cfa());
  if (event) heapledger::probe::add_snapshot(name);
}

namespace heapledger::probe {
namespace {

void on_signal(int) {
  heapledger_snapshot(nullptr);
}

}  // namespace

constinit int signal_taken = 0;
constinit struct sigaction action_before = {};

void snapshot_at(int signal) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  if (sigaction(signal, &action, &action_before) == 0) signal_taken = signal;
}

void end_snapshots() {
  struct sigaction now {};
  if (signal_taken == 0 || sigaction(signal_taken, nullptr, &now) != 0 || now.sa_handler != on_signal) return;
  sigaction(signal_taken, &action_before, nullptr);
  signal_taken = 0;
}

}  // namespace heapledger::probe
