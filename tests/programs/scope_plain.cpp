// Scopes in code that has neither exceptions nor RTTI, alone or beside code that has both.
#include <heapledger/coroutine.hpp>
#include <heapledger/expect.hpp>
#include <heapledger/periodic.hpp>
#include <heapledger/run.hpp>

#include "scopes.hpp"

heapledger::scope plain_limited() {
  return heapledger::scope("limited", test::failing(1000));
}

#ifdef ALONE
int main() {
  if (!heapledger::active()) return 3;
  const heapledger::scope limited = plain_limited();
  const heapledger::enter in(limited);
  void* block = test::take(600);
  CHECK(block && !test::take(600) && limited.exceeded());
  free(block);
  heapledger::scope_resource resource(limited);
  CHECK(resource == resource && limited.used().live_bytes == 0);
}
#endif
