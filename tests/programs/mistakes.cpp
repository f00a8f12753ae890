// Programs with one planted mistake, or two of one block: mistakes double_free | double_free_after_realloc |
// double_free_after_mismatch | double_free_after_overflow | double_delete | malloc_delete | new_free | array | scalar |
// overflow BYTES [BEYOND] | new_realloc | threads_first_free | free_in_scope |
// scopes_after | double_free_at_top | double_free_at_arenas_end | realloc_at_top | clean. The block always
// comes from site_planted.
#include <heapledger/scope.hpp>

#include <string>
#include <thread>

#include "books.hpp"

static std::string mode;

SITE void* site_planted(std::size_t bytes) {
  const bool plain = mode == "malloc_delete" || mode == "overflow" || mode.starts_with("double_free");
  void* block = plain ? malloc(bytes) : mode == "array" ? ::operator new[](bytes) : ::operator new(bytes);
  test::escape(block);
  return block;
}

SITE void* site_freed(void* block) {
  void* moved = nullptr;
  if (mode == "new_realloc")
    moved = realloc(block, 5000);
  else
    free(block);
  test::escape(moved);  // no tail call
  return moved;
}

static void other_work() {
  for (std::size_t n = 0; n < 300; ++n) {
    free(realloc(malloc(n), n * 2 + 1));
    ::operator delete(::operator new(n));
    ::operator delete[](::operator new[](n), n);
    void* block;
    CHECK(!posix_memalign(&block, 256, n));
    test::fill(block, n, 1);
    free(block);
  }
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  mode = argv[1];
  void* (*taken)(std::size_t) = ::operator new;  // in a program at a fixed place an address within the program
  asm volatile("" : "+r"(taken));
  other_work();
  if (mode == "double_free") {
    void* block = site_planted(24);
    free(block);
    test::escape(block);
    free(block);
  } else if (mode == "double_free_after_realloc") {
    void* block = site_planted(24);
    test::escape(realloc(block, 5000));
    test::escape(block);
    free(block);
  } else if (mode == "double_free_after_mismatch") {
    void* block = site_planted(24);
    ::operator delete(block);
    test::escape(block);
    free(block);
  } else if (mode == "double_free_after_overflow") {
    auto* block = static_cast<volatile char*>(site_planted(32));
    block[32] = static_cast<char>(block[32] + 1);
    free(const_cast<char*>(block));
    test::escape(const_cast<char*>(block));
    free(const_cast<char*>(block));
  } else if (mode == "double_delete") {
    void* block = site_planted(200);
    ::operator delete(block);
    test::escape(block);
    ::operator delete(block);
  } else if (mode == "malloc_delete") {
    ::operator delete(site_planted(100));
  } else if (mode == "new_free") {
    free(site_planted(100));
  } else if (mode == "new_realloc") {
    void* const block = site_planted(100);
    free(site_freed(block));
  } else if (mode == "threads_first_free") {
    std::thread([block = site_planted(100)] { site_freed(block); }).join();
  } else if (mode == "free_in_scope") {
    heapledger::scope request("request");
    void* const block = site_planted(100);
    heapledger::run_in(request, [&] { site_freed(block); });
    request.close();
  } else if (mode == "scopes_after") {  // take over what the first had
    for (int i = 0; i < 1000; ++i) {
      heapledger::scope request("request");
      heapledger::run_in(request, [&] {
        if (i == 0) site_freed(site_planted(100));
        if (i != 0) other_work();
      });
      request.close();
    }
  } else if (mode == "array") {  // new[], delete
    ::operator delete(site_planted(100));
  } else if (mode == "scalar") {  // new, delete[]
    ::operator delete[](site_planted(100));
  } else if (mode == "double_free_at_top" || mode == "realloc_at_top") {
    // Freed, the block becomes a part of what is left of the heap, down to less than 64 KiB.
    void* block = nullptr;
    const auto left = [&] { return static_cast<std::size_t>(static_cast<char*>(sbrk(0)) - static_cast<char*>(block)); };
    do block = malloc(2000);
    while (left() > 32 * 1024);
    CHECK(left() > 4096);
    free(block);
    test::escape(block);
    if (mode == "realloc_at_top")
      test::escape(realloc(block, 3000));
    else
      free(block);
  } else if (mode == "double_free_at_arenas_end") {
    // As many blocks as there may be what is left of a thread's heap: beyond it nothing can be read.
    std::thread([] {
      void* block = nullptr;
      for (int i = 0; i < 50; ++i) block = malloc(2000);
      free(block);
      test::escape(block);
      free(block);
    }).join();
  } else if (mode == "overflow") {
    CHECK(argc >= 3);
    const std::size_t bytes = std::strtoull(argv[2], nullptr, 10);
    const std::size_t beyond = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
    auto* block = static_cast<volatile char*>(site_planted(bytes));
    for (std::size_t i = bytes; i < bytes + beyond; ++i)  // too far, and sure to change what is there
      block[i] = static_cast<char>(block[i] + 1 + 7 * (i - bytes));
    free(const_cast<char*>(block));
  }
  other_work();
  test::put(1, "%s\n", argv[1]);
}
