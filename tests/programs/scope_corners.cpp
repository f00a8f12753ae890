// What is rare in the life of scopes; each case checks itself. Argument: CASE.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <heapledger/expect.hpp>
#include <heapledger/run.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
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

void recycle_what_can_be() {
  for (int i = 0; i < 3000; ++i) {
    const owned_scope other("other");
    const enter in(other);
    free(take(8));
  }
}

// What C code hung on a scope is not taken for what C++ hangs there, nor the other way round.
void attached_in_c(unsigned, unsigned) {
  static int destroyed = 0;
  constexpr auto destroy = [](void* user) { destroyed += *static_cast<int*>(user); };
  int mine = 7, other = 0;
  {
    const owned_scope server("server");
    const owned_scope theirs("theirs", {}, server);
    CHECK(heapledger_scope_attach(theirs->handle(), &mine, nullptr, destroy) == &mine);
    CHECK(!theirs->stop_token().stop_possible() && !theirs->exceeded());
    theirs->request_stop();
    CHECK(!theirs->at_fraction(0.5, [](scope, usage) {}));
    CHECK(heapledger_scope_attach(theirs->handle(), &other, nullptr, destroy) == &mine);
    CHECK(heapledger_scope_attach_as(theirs->handle(), 1, &other, nullptr, destroy) == nullptr);
    const enter in(theirs);
    const owned_scope below("below");
    const std::stop_token asked = below->stop_token();
    server->request_stop();
    CHECK(asked.stop_requested());
  }
  const owned_scope ours("ours");
  CHECK(ours->stop_token().stop_possible());
  CHECK(heapledger_scope_attach(ours->handle(), &other, nullptr, destroy) == nullptr);
  ours->request_stop();
  CHECK(ours->stop_token().stop_requested());
  recycle_what_can_be();
  CHECK(destroyed == mine);
}

// A token is asked for while another thread ends the scope, and the next ones.
void asked_while_it_ends(unsigned count, unsigned) {
  std::atomic<std::uint64_t> latest{0};
  std::atomic<bool> ended{false};
  std::thread asks([&] {
    while (!ended) {
      const scope request = scope::from_handle(latest);
      CHECK(!request.exceeded());
      request.request_stop();
      CHECK(!request.stop_token().stop_possible() || request.stop_token().stop_requested() ||
            request.state() == heapledger::scope_state::gone);
    }
  });
  for (unsigned i = 0; i < count; ++i) {
    const owned_scope request("request", {.live_bytes = 1000});
    latest = request->handle();
  }
  ended = true;
  asks.join();
}

struct knows_its_end {
  bool* gone;
  ~knows_its_end() { *gone = true; }
};

// What is called because of a budget lives as long as the call, whoever closes the scope.
void closed_in_a_reaction(unsigned, unsigned) {
  scope server("server"), request("request", {.live_bytes = 1000}, server);
  bool gone = false, called = false;
  CHECK(request.at_fraction(0.5, [mine = knows_its_end{&gone}, &called](scope where, usage) {
    *mine.gone = false;
    where.close();
    recycle_what_can_be();
    CHECK(!*mine.gone);
    called = true;
  }));
  heapledger::run_in(request, [] { free(take(600)); });
  CHECK(called);
  recycle_what_can_be();
  CHECK(gone && request.state() == heapledger::scope_state::gone);

  scope below("below", {.live_bytes = 1000}, server);
  const std::stop_callback ends(below.stop_token(), [&] {
    below.close();
    recycle_what_can_be();
  });
  server.request_stop();
  recycle_what_can_be();
  CHECK(below.state() == heapledger::scope_state::gone);
}

// A thread in a closed scope stays there, whatever begins and ends within: guards, callbacks, transfers.
void back_into_closed(unsigned, unsigned) {
  scope server("server"), request("request", {}, server), other("other");
  request.request_stop();
  const enter in(request);
  void* block = take(10);
  request.close();
  { const enter inner(scope::process()); }
  CHECK(scope::current() == request);
  { const enter inner(server); }
  CHECK(heapledger::transfer(block, other) && heapledger::add_foreign(other, 5));
  CHECK(scope::current() == request);
  free(block);
  for (int i = 0; i < 300; ++i) run_in(owned_scope("one of many"), [] { free(take(1)); });  // its slot is taken
  block = take(20);
  CHECK(scope::current() == request && request.used().live_bytes == 20 && server.used_alone().allocations == 0);
  {
    const enter outside(scope::process()), again(request);  // closed
    CHECK(scope::current() == server);
  }
  free(block);

  scope watched("watched", {.live_bytes = 1000}, server);
  CHECK(watched.at_fraction(0.5, [](scope where, usage) { where.close(); }));
  run_in(watched, [&] {
    free(take(600));
    CHECK(scope::current() == watched && watched.used().allocated_bytes == 600);
  });
}

// Foreign memory that outlives its scope goes back to it, not to its parent.
void foreign_outlives(unsigned, unsigned) {
  scope server("server"), request("request", {}, server);
  CHECK(heapledger::add_foreign(request, 1000));
  request.close();
  recycle_what_can_be();
  CHECK(request.used().live_bytes == 1000);
  CHECK(heapledger::add_foreign(request, -1000));
  CHECK(request.used().live_bytes == 0 && server.used_alone().frees == 0);
  recycle_what_can_be();
  CHECK(request.state() == heapledger::scope_state::gone && server.used().live_bytes == 0);
}

// One object charges its scope after that was closed, and gives it back: both to the scope above, which had both.
void foreign_late(unsigned, unsigned) {
  scope server("server"), request("request", {}, server);
  void* const block = heapledger::run_in(request, [] { return take(10); });
  CHECK(heapledger::add_foreign(request, 600));
  request.close();
  CHECK(heapledger::add_foreign(request, 1000) && server.used_alone().live_bytes == 1000);
  CHECK(heapledger::add_foreign(request, -1000));
  CHECK(server.used_alone().live_bytes == 0 && request.used_alone().live_bytes == 610);
  CHECK(heapledger::add_foreign(request, 100) && heapledger::add_foreign(request, -700));  // of both at once
  CHECK(server.used_alone().live_bytes == 0 && request.used_alone().live_bytes == 10);
  CHECK(server.used().live_blocks == 1);
  CHECK(heapledger::add_foreign(request, 50));
  free(block);
  recycle_what_can_be();
  CHECK(request.state() == heapledger::scope_state::closed && heapledger::add_foreign(request, -50));
  recycle_what_can_be();
  CHECK(request.state() == heapledger::scope_state::gone && server.used().live_blocks == 0);
}

// What a forked child gives back was charged in its parent.
void foreign_inherited(unsigned, unsigned) {
  const scope work("work");
  CHECK(heapledger::add_foreign(scope::process(), 1'000'000) && heapledger::add_foreign(work, 2'000'000));
  const pid_t child = fork();
  if (child == 0) {
    test::escape(take(10));
    for (const scope& each : {scope::process(), work})
      for (const std::int64_t bytes : {1'000'000, 2'000'000}) CHECK(heapledger::add_foreign(each, -bytes));
    const usage used = scope::process().used();
    CHECK(used.live_bytes == 10 && used.frees == 0);
    CHECK(heapledger::add_foreign(work, 50) && heapledger::add_foreign(work, -50));
    CHECK(scope::process().used().live_bytes == 10);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(work.used().live_bytes == 2'000'000);
}

// To make a scope with a budget tells dlerror() nothing, and takes no memory of the program's.
void first_budget(unsigned, unsigned) {
  const scope before("before");
  CHECK(dlopen("/no/such/plugin.so", RTLD_NOW) == nullptr);
  const usage earlier = scope::process().used();
  const std::uint64_t limit = 1000;
  const heapledger_budget failing{limit, HEAPLEDGER_UNLIMITED, HEAPLEDGER_UNLIMITED, HEAPLEDGER_FAIL, 0};
  CHECK(heapledger_scope_create("limited", 7, 0, &failing) != 0);
  CHECK(scope::process().used().allocations == earlier.allocations);
  const char* const error = dlerror();
  CHECK(error != nullptr && std::string_view(error).find("/no/such/plugin.so") != std::string_view::npos);
}

// A result that is returned by reference is copied in the scope.
void copied_result(unsigned, unsigned) {
  const std::string text(1000, 'x');
  const auto copied = heapledger::run("copies", {}, [&]() -> const std::string& { return text; });
  CHECK(copied.value == text && copied.used.allocations == 1 && copied.escaped_bytes() == 1001);
}

// What a library left to be called when a budget refuses, and when its scope is recycled, outlives its dlclose().
void unloaded(unsigned own_first, unsigned) {
  std::optional<owned_scope> own;
  if (own_first != 0) own.emplace("own", test::failing(1000));
  void* library = dlopen(test::beside_program("budget_plugin.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(library);
  reinterpret_cast<void (*)()>(dlsym(library, "plugin_work"))();
  CHECK(dlclose(library) == 0);
  recycle_what_can_be();
  if (own_first == 0) own.emplace("own", test::failing(1000));
  bool refused = false;
  try {
    heapledger::run_in(*own, [] { ::operator delete(::operator new(5000)); });
  } catch (const heapledger::budget_exceeded&) {
    refused = true;
  }
  CHECK(refused);
}

// The probe is there, and keeps no books: what nobody counts is over no budget.
int uncounted() {
  scope work("work", test::failing(10));
  CHECK(heapledger::add_foreign(work, 1000) && work.name().empty());
  const std::unique_ptr<char[]> block(new char[1000]);
  CHECK(heapledger::transfer(block.get(), work));
  char name[] = "before";
  CHECK(heapledger_scope_name(work.handle(), name, sizeof name) == 0 && name[0] == 0);
  return 0;
}

// Without the probe a handle, from a log or from another process, is one of a scope that is gone.
int absent() {
  scope old = scope::from_handle(std::uint64_t{7} << 32 | 3);
  old.close();
  old.request_stop();
  CHECK(old.state() == heapledger::scope_state::gone && old.name().empty() && old.parent() == scope::process());
  CHECK(old.used() == usage{} && old.limits() == heapledger::budget{} && old.remaining() == heapledger::budget{});
  CHECK(!old.exceeded() && !old.stop_token().stop_possible() && !old.at_fraction(0.5, [](scope, usage) {}));
  CHECK(heapledger::run_in(old, [] { return scope::current(); }) == scope::process());
  const std::unique_ptr<char[]> block(new char[1000]);
  CHECK(heapledger::transfer(block.get(), old) && heapledger::add_foreign(old, 1000));
  return 0;
}

// A realloc that a budget refuses, and what is called because of it frees what another thread allocated, in so many
// accounts that this thread's part of the block's own is added to the others' before the free is taken back.
void refused_and_folded(unsigned count, unsigned) {
  void* block = nullptr;
  std::vector<void*> others;
  std::thread([&] {
    block = take(100);
    for (unsigned i = 0; i < count; ++i) {
      const owned_scope one("number " + std::to_string(i));
      const enter in(one);
      others.push_back(take(10));
    }
  }).join();
  scope limited("limited", test::failing(1000));
  const std::stop_callback frees(limited.stop_token(), [&] {
    for (void* each : others) free(each);
    others.clear();
  });
  const enter in(limited);
  CHECK(!realloc(block, 5000) && others.empty());  // and it lives to the end
}

// What is called because of a budget forks, and the child, which has allocated since, goes on with the same allocation.
void forked_in_a_reaction(unsigned, unsigned) {
  static pid_t child = -1;
  scope limited("limited", test::failing(1000));
  const std::stop_callback forks(limited.stop_token(), [] {
    child = fork();
    if (child == 0) free(take(50));
  });
  {
    const enter in(limited);
    free(take(5000));
    free(take(20));
  }
  if (child == 0) _exit(0);
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

constexpr test::test_case cases[] = {
    {"table_full", table_full},
    {"asked_while_it_ends", asked_while_it_ends, 100'000},
    {"closed_in_a_reaction", closed_in_a_reaction},
    {"back_into_closed", back_into_closed},
    {"refused_and_folded", refused_and_folded, 500},
    {"forked_in_a_reaction", forked_in_a_reaction},
    {"foreign_outlives", foreign_outlives},
    {"foreign_late", foreign_late},
    {"foreign_inherited", foreign_inherited},
    {"first_budget", first_budget},
    {"copied_result", copied_result},
    {"attached_in_c", attached_in_c},
    {"unloaded_before", unloaded, 0},
    {"unloaded_after", unloaded, 1},
};

}  // namespace

int main(int argc, char** argv) {
  if (!heapledger::active() && argc > 1 && std::string_view(argv[1]) == "absent") return absent();
  if (!heapledger::active() && argc > 1 && std::string_view(argv[1]) == "uncounted") return uncounted();
  return test::run_case(cases, argc, argv);
}
