// A pool that a shared library and the program use, both built with -fvisibility=hidden.
#pragma once

#include "heapledger/pool.hpp"

namespace heapledger::tests {

template <class Threading>
using library_pool = pool<48, Threading, no_header, no_analyzer, exact_checks>;

#define HEAPLEDGER_EXPORTED [[gnu::visibility("default")]]
HEAPLEDGER_EXPORTED library_pool<threading::single>& pool_of_library(threading::single);
HEAPLEDGER_EXPORTED library_pool<threading::shared>& pool_of_library(threading::shared);
HEAPLEDGER_EXPORTED library_pool<threading::thread_cached>& pool_of_library(threading::thread_cached);
HEAPLEDGER_EXPORTED void* allocate_in_library(threading::single);
HEAPLEDGER_EXPORTED void* allocate_in_library(threading::shared);
HEAPLEDGER_EXPORTED void* allocate_in_library(threading::thread_cached);
#undef HEAPLEDGER_EXPORTED

}  // namespace heapledger::tests
