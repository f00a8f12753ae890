#pragma once

namespace heapledger::probe {

void start_setenv();  // looks up what is behind the hooks in setenv.cpp

}  // namespace heapledger::probe
