#pragma once

namespace heapledger::probe {

void start_fork();  // looks up what is behind the hook in fork.cpp

}  // namespace heapledger::probe
