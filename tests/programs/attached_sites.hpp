// Places that allocate in every way, bound by the loader in every way, and keep books of it.
#pragma once

#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "books.hpp"

namespace {

// Words of every kind that the loader binds.
void* (*const pointer_in_data)(std::size_t) = malloc;
void (*const free_in_data)(void*) = free;

}  // namespace

SITE void* site_plain(test::books& mine, std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  mine.took("site_plain", p, bytes);
  return p;
}
SITE void* site_pointer(test::books& mine, std::size_t bytes) {
  void* p = const_cast<void* (*const volatile&)(std::size_t)>(pointer_in_data)(bytes);
  CHECK(p);
  mine.took("site_pointer", p, bytes);
  return p;
}
SITE void* site_new(test::books& mine, std::size_t bytes) {
  void* p = ::operator new(bytes);
  mine.took("site_new", p, bytes);
  return p;
}
SITE void* site_array(test::books& mine, std::size_t bytes) {
  void* p = ::operator new[](bytes, std::nothrow);
  mine.took("site_array", p, bytes);
  return p;
}
SITE void* site_aligned(test::books& mine, std::size_t bytes) {
  void* p = ::operator new (bytes, std::align_val_t{64});
  CHECK(test::aligned(p, 64));
  mine.took("site_aligned", p, bytes);
  return p;
}
SITE void* site_library(test::books& mine, std::size_t bytes) {  // libc calls malloc
  char text[512];
  std::memset(text, 'x', bytes - 1);
  text[bytes - 1] = 0;
  void* p = strdup(text);
  mine.took("site_library", p, bytes);
  return p;
}
SITE void* site_string(test::books& mine, std::size_t bytes) {  // libstdc++ calls operator new
  auto* p = ::new std::string(bytes - 1, 'x');
  mine.took("site_string", p, sizeof(std::string));
  mine.took("site_string", p->data(), bytes);
  return p;
}
SITE void* site_resized(test::books& mine, void* p, std::size_t old_bytes, std::size_t bytes, bool ours) {
  if (ours) mine.gave("site_resized", p, old_bytes);
  void* fresh = realloc(p, bytes);
  CHECK(fresh);
  mine.took("site_resized", fresh, bytes);
  if (p) mine.at("site_resized").reallocations++;
  return fresh;
}
SITE void* site_mailed(test::books& mine, std::size_t bytes) {
  void* p = calloc(1, bytes);
  CHECK(p);
  mine.took("site_mailed", p, bytes);
  return p;
}

static void round_of_all(test::books& mine, unsigned i) {
  const std::size_t bytes = 20 + i % 300 + (i % 50 == 0 ? 70'000 : 0);
  void* p = site_plain(mine, bytes);
  void* q = site_pointer(mine, bytes);
  test::fill(p, bytes, i);
  test::fill(q, bytes, i + 1);
  CHECK(malloc_usable_size(p) >= bytes && test::holds(p, bytes, i));
  mine.gave("site_pointer", q, bytes);
  const_cast<void (*const volatile&)(void*)>(free_in_data)(q);
  mine.gave("site_plain", p, bytes);
  free(p);
  p = site_new(mine, bytes);
  q = site_array(mine, bytes);
  void* r = site_aligned(mine, bytes);
  test::fill(r, bytes, i);
  mine.gave("site_new", p, bytes);
  ::operator delete(p);
  mine.gave("site_array", q, bytes);
  ::operator delete[](q);
  mine.gave("site_aligned", r, bytes);
  ::operator delete (r, std::align_val_t{64});
  p = site_library(mine, 20 + i % 300);
  mine.gave("site_library", p, 20 + i % 300);
  free(p);
  if (i % 5 != 0) return;
  auto* text = static_cast<std::string*>(site_string(mine, 40 + i % 300));
  mine.gave("site_string", text->data(), 40 + i % 300);
  mine.gave("site_string", text, sizeof(std::string));
  delete text;
  p = site_resized(mine, nullptr, 0, 100, true);
  test::fill(p, 100, i);
  p = site_resized(mine, p, 100, 90'000, true);
  CHECK(test::holds(p, 100, i));
  p = site_resized(mine, p, 90'000, 10, true);
  if (i % 10 == 0) return;  // lives on
  mine.gave("site_resized", p, 10);
  free(p);
}
