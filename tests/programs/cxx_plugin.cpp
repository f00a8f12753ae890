// A plugin of a C program that brings a C++ library with it: what operator new does without memory is that library's.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "heapledger/heapledger.h"

namespace {

int handled = 0;

template <class F>
void attempt(const char* what, F call) {
  try {
    std::printf("%s: %s\n", what, call() != nullptr ? "a block" : "null");
  } catch (const std::bad_alloc&) {
    std::printf("%s: bad_alloc, %d handled\n", what, handled);
  }
}

volatile std::size_t far_too_much = std::size_t{1} << 60;

// A limit refuses, too; without the probe there is none, and nothing is said.
void refuse() {
  if (heapledger_scope_create == nullptr || std::getenv("SAY_REFUSED") == nullptr) return;
  const heapledger_budget budget = {1000, HEAPLEDGER_UNLIMITED, HEAPLEDGER_UNLIMITED, HEAPLEDGER_FAIL, 0};
  const heapledger_scope scope = heapledger_scope_create("plugin", 6, 0, &budget);
  const heapledger_scope before = heapledger_scope_enter(scope);
  attempt("refused", [] { return ::operator new(10'000); });
  heapledger_scope_leave(before);
  heapledger_scope_close(scope);
}

}  // namespace

extern "C" void use_it() {
  attempt("new", [] { return ::operator new(far_too_much); });
  attempt("new[]", [] { return ::operator new[](far_too_much); });
  attempt("nothrow", [] { return ::operator new(far_too_much, std::nothrow); });
  attempt("aligned", [] { return ::operator new (far_too_much, std::align_val_t{64}); });
  std::set_new_handler([] {
    if (++handled == 3) std::set_new_handler(nullptr);
  });
  attempt("handler", [] { return ::operator new(far_too_much); });
  const std::vector<std::string> texts(100, std::string(100, 'x'));
  std::printf("%zu texts\n", texts.size());
  refuse();
}
