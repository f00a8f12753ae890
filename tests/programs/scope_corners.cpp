// What is rare in the life of scopes; each case checks itself. Argument: CASE.
#include <heapledger/expect.hpp>
#include <heapledger/run.hpp>

#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::owned_scope;
using heapledger::scope;
using heapledger::usage;
using test::take;

namespace {

// What finds no room in the table is its parent's, and ends nothing when it ends.
void table_full(unsigned, unsigned) {
  scope server("server");
  const enter in(server);
  std::vector<scope> all;
  for (;;) {
    scope connection("connection");
    if (connection == server) {
      connection.close();
      break;
    }
    all.push_back(connection);
  }
  CHECK(server.state() == heapledger::scope_state::open);
  {
    const owned_scope request("request");
    CHECK(request == server);
  }
  const auto ran = heapledger::run("work", {}, [] { return take(100); });
  CHECK(ran.used == usage{});
  free(ran.value);
  CHECK(!heapledger::measure([] { free(take(100)); }).measured);
  CHECK(server.state() == heapledger::scope_state::open && scope::current() == server);
  for (scope& each : all) each.close();
}

constexpr test::test_case cases[] = {{"table_full", table_full}};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}
