// The dynamic loader's global scope: the list of modules in which it looks a name up, first in the program itself. A
// library that is preloaded stands second in it, one that is opened later at its end.
//
// The list is private to the loader: it is recognised in the memory of the program's link_map, by what it holds. All of
// this with the loader's lock held, but for what says otherwise.
#pragma once

#include <link.h>

#include <cstdint>

namespace heapledger::probe {

// The probe itself; nullptr in a namespace of its own (dlmopen).
link_map* own_map();
link_map* program_map();

// What the given module, or one that was loaded after it, defines by this name; nullptr: nothing. Takes no lock, and no
// memory to say so: dlsym has an error text from the program's allocator, which may be the program's own, and not
// ready.
void* defined_from(const link_map* first, const char* name);

// The probe came by dlopen, after the program's start, and for its own sake: no other module needs it.
bool came_late();

class loader_scope {
 public:
  // False: there is not exactly one list that can be it, or the probe is not in it.
  bool find();

  // What a name means behind the program and the probe; nullptr: nothing.
  void* next(const char* name) const;
  // The module that an address lies in, of those in the scope; nullptr: in none.
  link_map* holder(const void* address) const;

  // Second, as a preloaded library is. A lookup at the same moment finds every other module, and some twice.
  void put_second();
  // Last, in a copy of the list, from the allocator that gave the loader its own; that one stays for those who are
  // reading it.
  void put_last(void* (*allocate)(std::size_t), std::size_t (*usable_size)(void*));

 private:
  // The loader's own struct.
  struct searched {
    link_map** modules;
    std::uint32_t count;
  };
  static bool is_scope(const searched& candidate);
  std::uint32_t own_place() const;

  searched* list_ = nullptr;
};

}  // namespace heapledger::probe
