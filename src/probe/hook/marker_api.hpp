// A snapshot whenever a signal comes, for those who asked for it (HEAPLEDGER_SNAPSHOT_SIGNAL). Else the probe has no
// signal handler.
#pragma once

namespace heapledger::probe {

void snapshot_at(int signal);
void end_snapshots();  // what the program had for that signal, if it still has ours

}  // namespace heapledger::probe
