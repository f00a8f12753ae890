#pragma once

#include <link.h>

namespace heapledger::probe {

// What a name means to a module that was loaded for its own sake, or for that of another one, where the global scope
// has nothing by it: what that one defines itself, or what it needs defines, the nearest first, or any other module;
// nullptr: nothing. Nobody loads or unloads meanwhile.
//
// dlsym cannot be asked: of a module that is only needed by one that was opened the loader has no list, and reads where
// none is.
void* nearest_definition(const link_map* module, const char* name);

}  // namespace heapledger::probe
