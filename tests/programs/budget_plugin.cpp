// A library with its own copy of the headers, that makes a scope with a budget and ends it; to be unloaded.
#include <heapledger/scope.hpp>

extern "C" __attribute__((visibility("default"))) void plugin_work() {
  const heapledger::owned_scope work("plugin", {.live_bytes = 1000, .action = heapledger::on_exceed::fail});
}
