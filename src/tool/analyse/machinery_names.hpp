// Names that say what a frame is for, whatever program it is of.
#pragma once

#include <string_view>

namespace heapledger::analyse {

bool is_allocation_wrapper(std::string_view function);   // malloc, operator new, xstrdup, std::vector<int>::reserve
bool is_malloc_of_a_library(std::string_view function);  // of those, xstrdup and the like
bool is_rust_library(std::string_view function);         // of std, core, alloc: of a Rust program
bool is_start_code(std::string_view function);           // _start, __libc_start_main, start_thread, std::thread's own
bool is_rust_begin(std::string_view function);           // what Rust calls main and a thread's function from
bool is_system_runtime(std::string_view module_path);    // libc, libstdc++, the loader
bool is_rust_library_source(std::string_view file);
bool is_foreign_source(std::string_view file);  // headers of installed libraries, inlined into the program

}  // namespace heapledger::analyse
