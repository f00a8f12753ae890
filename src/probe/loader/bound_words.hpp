// The words in loaded modules that hold the address of a function which the loader bound there: exchanged for another
// definition of the same name, and back. With the loader's lock held.
//
// A word is only ever changed from the one definition to the other, at one stroke: what is not bound yet, or to
// something else, stays as it is.
#pragma once

#include <cstddef>

#include "probe/base/attributes.hpp"

namespace heapledger::probe {

// What gives blocks back, or asks about them, comes first: then no block is ours that somebody else gives back. An
// operator new comes before what it calls. `never`: left as it is.
enum class exchange_turn { never, releases, makes, allocates };

struct binding {
  const char* name;
  void* ours;
  void* theirs;    // nullptr: nobody's, and not to be exchanged
  void* stand_in;  // image::stand_in of the program: leads to what a word of the program holds
  exchange_turn turn;
};

struct bindings {
  const binding* first;
  std::size_t count;
};

enum class binding_side { theirs, ours };

// Whether every word that holds `theirs` can be written, and the loader's own words are where they should be.
enum class exchange_obstacle { none, unknown_loader, fixed_words };
exchange_obstacle try_exchange(const bindings& names);

// Binds to one side all words that are bound to the other, and whose turn it is.
void exchange(const bindings& names, binding_side to, exchange_turn turn);

}  // namespace heapledger::probe
