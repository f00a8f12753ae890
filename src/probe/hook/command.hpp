#pragma once

namespace heapledger::probe {

void start_commands();  // looks up what is behind the hooks in command.cpp

}  // namespace heapledger::probe
