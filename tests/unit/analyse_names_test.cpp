#include <gtest/gtest.h>

#include <string>

#include "tool/analyse/function_name.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/report/names.hpp"

namespace heapledger::analyse {
namespace {

TEST(function_name, finds_the_qualified_name) {
  const std::pair<const char*, const char*> cases[] = {
      {"main", "main"},
      {"ns::f(int, char const*)", "ns::f"},
      {"void ns::f<int>(char const*) const", "ns::f<int>"},
      {"unsigned long ns::g<std::vector<int, std::allocator<int> > >(int)",
       "ns::g<std::vector<int, std::allocator<int> > >"},
      {"operator new(unsigned long)", "operator new"},
      {"operator new[](unsigned long, std::nothrow_t const&)", "operator new[]"},
      {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>"},
      {"bool ns::operator<(ns::a const&, ns::a const&)", "ns::operator<"},
      {"ns::a::operator()(int) const", "ns::a::operator()"},
      {"ns::a::operator std::string() const", "ns::a::operator std::string"},
      {"ns::a::operator->() const", "ns::a::operator->"},
      {"ns::operator\"\" _kb(unsigned long long)", "ns::operator\"\" _kb"},
      {"ns::text ns::operator\"\" _t<char>(char const*)", "ns::operator\"\" _t<char>"},
      {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
      {"ns::(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f"},
      {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
      {"ns::f(int)::local::g()", "ns::f(int)::local::g"},
      {"ns::f(int) const::{lambda()#1}::operator()() const", "ns::f(int) const::{lambda()#1}::operator()"},
      {"ns::f(int) [clone .part.0]", "ns::f"},
      {"f [clone .cold]", "f"},
      {"ns::f[abi:cxx11](int)", "ns::f[abi:cxx11]"},
      {"decltype (f(x)) ns::g<int>(int)", "ns::g<int>"},
      {"<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<alloc::vec::Vec<T> as core::clone::Clone>::clone"},
      {"core::ops::FnOnce<fn() -> i32>::call", "core::ops::FnOnce<fn() -> i32>::call"},
  };
  for (const auto& [whole, name] : cases) EXPECT_EQ(qualified_name(whole), name) << whole;
}

TEST(function_name, finds_what_all_spellings_have_in_common) {
  const std::pair<const char*, const char*> cases[] = {
      {"main", "main"},
      {"helper(int)", "helper"},
      {"void* ns::(anonymous namespace)::f<long>(long)", "ns::(anonymous namespace)::f"},
      {"ns::(anonymous namespace)::f<long int>", "ns::(anonymous namespace)::f"},
      {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda}::operator()"},
      {"main::{lambda}::operator()", "main::{lambda}::operator()"},
      {"ns::f(int) const::{lambda()#2}::operator()() const", "ns::f::{lambda}::operator()"},
      {"ns::f[abi:cxx11](int)", "ns::f"},
      {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<< "},
      {"a<b", "a<b"},
      {"", ""},
  };
  for (const auto& [whole, plain] : cases) EXPECT_EQ(plain_name(whole), plain) << whole;
  EXPECT_TRUE(has_parameters("helper()"));
  EXPECT_TRUE(has_parameters("ns::a::operator()() const"));
  for (const char* bare : {"helper", "main::{lambda}::operator()", "(anonymous namespace)::f", "f [clone .cold]", ""})
    EXPECT_FALSE(has_parameters(bare)) << bare;
}

TEST(function_name, returns_what_does_not_scan_whole) {
  for (const char* odd : {"", ")", ">", "((((", "a<b", "operator", "operator ", "<<<>", "f(", "::", " ", "a b c "}) {
    EXPECT_FALSE(qualified_name(odd).empty() && *odd != '\0') << odd;
    base_name(odd);
  }
  EXPECT_EQ(qualified_name("a<b"), "a<b");
}

// Megabytes of this took minutes.
TEST(function_name, takes_a_hostile_name_for_what_its_beginning_is) {
  std::string name;
  while (name.size() < 4 << 20) name += "operator a ";
  EXPECT_LE(qualified_name(name).size(), 64U << 10);
  EXPECT_LE(base_name(name).size(), 64U << 10);
  std::string scopes;
  while (scopes.size() < 60'000) scopes += "a::";
  EXPECT_EQ(report::short_function(scopes + "f", 20), "...::a::a::a::a::f");
}

TEST(function_name, finds_the_base_name) {
  EXPECT_EQ(base_name("void ns::f<int>(char const*) const"), "f");
  EXPECT_EQ(base_name("ns::a::~a()"), "~a");
  EXPECT_EQ(base_name("ns::a::operator<<(int)"), "operator<<");
  EXPECT_EQ(base_name("ns::operator\"\" _kb(unsigned long long)"), "operator\"\" _kb");
  EXPECT_EQ(base_name("std::vector<a::b>::push_back(int)"), "push_back");
  EXPECT_EQ(base_name("ns::f[abi:cxx11](int)"), "f");
}

TEST(machinery, knows_wrappers_from_the_programs_own_code) {
  for (const char* name : {"malloc",
                           "__libc_malloc",
                           "operator new(unsigned long)",
                           "xmalloc",
                           "g_malloc0",
                           "PyMem_RawMalloc",
                           "xstrdup",
                           "sqlite3MemRealloc",
                           "std::vector<int, std::allocator<int> >::reserve(unsigned long)",
                           "void std::vector<int>::_M_realloc_insert<int>(int&&)",
                           "__gnu_cxx::new_allocator<int>::allocate(unsigned long)",
                           "my::pool_allocator<int>::allocate(unsigned long)",
                           "sqlite3Malloc",
                           "sqlite3MallocZero",
                           "sqlite3DbMallocRawNN",
                           "sqlite3DbReallocOrFree",
                           "sqlite3DbStrDup",
                           "sqlite3_malloc64",
                           "mallocWithAlarm",
                           "pcache1Alloc",
                           "g_malloc0_n",
                           "g_strdup_printf",
                           "av_mallocz_array",
                           "CRYPTO_zalloc",
                           "zmalloc_usable",
                           "xmallocz_gently",
                           "xmalloc_or_die",
                           "stgMallocBytes",
                           "av_buffer_allocz",
                           "_nc_doalloc",
                           "system__pool_global__allocate",
                           "system__storage_pools__subpools__allocate_any_controlled",
                           "palloc0",
                           "ns::node::operator new(unsigned long)",
                           "ns::node::operator new[](unsigned long, ns::arena*)",
                           "_talloc_zero",
                           "talloc_named_const",
                           "VSIMallocAlignedAutoVerbose",
                           "VSIMalloc3Verbose",
                           "_MagickReallocateResourceLimitedMemory",
                           "Rf_allocVector3",
                           "AllocateHeap(unsigned long, MEMFLAGS)",
                           "MemoryContextAlloc"}) {
    EXPECT_TRUE(is_allocation_wrapper(name)) << name;
  }
  for (const char* name :
       {"main", "allocate_widgets", "ns::malloc_statistics()", "parse(std::vector<int>)", "stdlike::f()",
        "ns::operator new_thing()", "ns::node::operator newest()", "talloc_free", "convert_string_talloc",
        "strbuf_grow", "malloc_trim", "sqlite3MallocSize", "callocate",
        "base_ForeignziMarshalziAlloc_mallocBytes1_info", "core::engine::load()", "alloc::arena::grow()", ""}) {
    EXPECT_FALSE(is_allocation_wrapper(name)) << name;
  }
}

TEST(machinery, knows_the_rust_library_by_name_and_by_file) {
  for (const char* name :
       {"alloc::raw_vec::RawVec<T,A>::reserve", "__rust_alloc", "<alloc::string::String as core::clone::Clone>::clone",
        "<alloc::vec::Vec<u8>>::with_capacity", "core::iter::traits::iterator::Iterator::for_each",
        "hashbrown::raw::RawTable<T>::reserve"}) {
    EXPECT_TRUE(is_rust_library(name)) << name;
  }
  for (const char* name : {"prog::main", "<prog::item as core::clone::Clone>::clone", "corelib::f", ""})
    EXPECT_FALSE(is_rust_library(name)) << name;
  for (const char* file : {"/rustc/59807616e1fa2540/library/core/src/ops/function.rs", "library/alloc/src/slice.rs",
                           "/rust/deps/hashbrown-0.16.1/src/raw/mod.rs", "/usr/src/rustc-1.63.0/library/std/src/rt.rs"})
    EXPECT_TRUE(is_rust_library_source(file)) << file;
  for (const char* file : {"src/main.rs", "library/core/src/engine.cpp", "/home/me/library/std/src/lib.rs", ""})
    EXPECT_FALSE(is_rust_library_source(file)) << file;
}

TEST(machinery, knows_start_code) {
  for (const char* name :
       {"_start", "__libc_start_main", "start_thread", "clone3",
        "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)()> > >::_M_run()",
        "void std::__invoke_impl<void, void (*)()>(std::__invoke_other, void (*&&)())", "std::rt::lang_start_internal",
        "std::panic::catch_unwind", "std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>",
        "<fn() as core::ops::function::FnOnce<()>>::call_once"}) {
    EXPECT_TRUE(is_start_code(name)) << name;
  }
  for (const char* name : {"main", "start", "cloned", "my::thread::run()"}) EXPECT_FALSE(is_start_code(name)) << name;
}

TEST(machinery, knows_the_system_runtime) {
  EXPECT_TRUE(is_system_runtime("/lib/x86_64-linux-gnu/libc.so.6"));
  EXPECT_TRUE(is_system_runtime("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"));
  EXPECT_TRUE(is_system_runtime("ld-linux-x86-64.so.2"));
  EXPECT_FALSE(is_system_runtime("/usr/lib/libcrypto.so.3"));
  EXPECT_FALSE(is_system_runtime("/usr/bin/program"));
}

TEST(machinery, knows_headers_of_installed_libraries) {
  for (const char* file : {"/usr/include/c++/12/bits/new_allocator.h", "/usr/lib/llvm-19/bin/../include/c++/v1/vector",
                           "/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_tree.h"})
    EXPECT_TRUE(is_foreign_source(file)) << file;
  for (const char* file : {"/usr/src/prog/main.cpp", "/usr/include/../src/main.cpp", "../include/prog.hpp", ""})
    EXPECT_FALSE(is_foreign_source(file)) << file;
}

TEST(short_address, keeps_the_offset) {
  EXPECT_EQ(report::short_address("libfoo.so+0x12", 14), "libfoo.so+0x12");
  EXPECT_EQ(report::short_address("_multiarray_umath.cpython-311-x86_64-linux-gnu.so+0xde137", 20),
            "_multiarr...+0xde137");
  EXPECT_EQ(report::short_address("0x7f0012345678", 20), "0x7f0012345678");
  EXPECT_EQ(report::short_address("a+0x1\x1b", 9), "a+0x1\\x1b");
}

TEST(short_function, drops_what_a_reader_does_not_need) {
  using report::short_function;
  EXPECT_EQ(short_function("int ns::f(std::string const&, int) const", 80), "ns::f");
  EXPECT_EQ(short_function(
                "ns::g<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >(int)", 80),
            "ns::g<std::string>");
  EXPECT_EQ(short_function("std::__1::unique_ptr<ns::t> std::__1::make_unique[abi:ne190107]<ns::t, int&>(int&)", 80),
            "std::make_unique<ns::t, int&>");
  EXPECT_EQ(short_function("ns::f[abi:cxx11][abi:b](int)", 80), "ns::f");
  EXPECT_EQ(short_function("ns::f[abi:", 80), "ns::f[abi:");
}

TEST(short_function, collapses_template_arguments_from_the_inside) {
  const char* name = "ns::f<a<b<c, d>, e>, g>(int)";
  EXPECT_EQ(report::short_function(name, 40), "ns::f<a<b<c, d>, e>, g>");
  EXPECT_EQ(report::short_function(name, 22), "ns::f<a<b<...>, e>, g>");
  EXPECT_EQ(report::short_function(name, 18), "ns::f<a<...>, g>");
  EXPECT_EQ(report::short_function(name, 12), "ns::f<...>");
}

TEST(short_function, drops_outer_scopes_then_cuts) {
  EXPECT_EQ(report::short_function("one::two::three::function(int)", 22), "...::three::function");
  EXPECT_EQ(report::short_function("one::two::three::function(int)", 14), "...::function");
  EXPECT_EQ(report::short_function("a_function_of_a_long_name", 10), "a_funct...");
}

TEST(short_function, keeps_the_type_of_a_function_of_rust) {
  using report::short_function;
  const std::string name = "<alloc::vec::Vec<app::item::Item> as core::iter::traits::FromIterator<I>>::from_iter";
  EXPECT_EQ(short_function(name, 100), name);
  EXPECT_EQ(short_function(name, 46), "<Vec<...> as FromIterator<...>>::from_iter");
  EXPECT_EQ(short_function(name, 30), "<Vec<...>>::from_iter");
  EXPECT_EQ(short_function(name, 16), "...::from_iter");
  EXPECT_EQ(short_function("<app::pool::Pool>::acquire::{closure#0}", 30), "<Pool>::acquire::{closure#0}");
  EXPECT_EQ(short_function("<app::pool::Pool<fn() -> app::T>>::acquire", 20), "<Pool<...>>::acquire");
  EXPECT_EQ(short_function("<&dyn app::pool::Source + Send>::acquire", 20), "...::acquire");
}

TEST(short_function, stays_within_its_width_whatever_comes) {
  const char* names[] = {
      "operator<<<<<<",      "a::b::c<d>::e(f)::g", ">>>>>>>>>>>>>>>>>>>>>>",   "f<((((((((((((((((((((",
      "\xff\xfe\x1b[31mred", "operator bool",       "::::::::::::::::::::::::", "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc"};
  for (const char* name : names) {
    for (std::size_t width = 1; width < 30; ++width) {
      std::size_t code_points = 0;
      for (const char c : report::short_function(name, width)) {
        EXPECT_GE(static_cast<unsigned char>(c), 0x20) << name;
        if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++code_points;
      }
      EXPECT_LE(code_points, width) << name;
    }
  }
}

TEST(short_path, keeps_the_file_and_one_folder) {
  EXPECT_EQ(report::short_path("/home/me/project/src/parse.cpp", 40), "src/parse.cpp");
  EXPECT_EQ(report::short_path("/home/me/project/src/parse.cpp", 10), "parse.cpp");
  EXPECT_EQ(report::short_path("parse.cpp", 40), "parse.cpp");
  EXPECT_EQ(report::short_path("../parse.cpp", 40), "parse.cpp");
  EXPECT_EQ(report::short_path("/a_very_long_file_name.cpp", 12), "..._name.cpp");
  EXPECT_EQ(report::short_path("/", 12), "/");
}

}  // namespace
}  // namespace heapledger::analyse
