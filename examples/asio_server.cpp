// A server on Asio, with one scope and one budget for each request. It and its clients run here, over the loopback
// interface; requests are coroutines that hop over the threads of the server. Every tenth request is greedy: it meets
// its budget, ends there, and is answered so; the others do not notice.
//
// Compiled with heapledger::asio (see asio_tracking.hpp), so that scopes follow handlers and coroutines by themselves.
//
// usage: asio_server [CONNECTIONS [REQUESTS]]
#include <array>
#include <asio.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <heapledger/asio.hpp>
#include <heapledger/scope.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

constexpr std::uint64_t request_limit_bytes = 64 * 1024, reserve_bytes = 1024;
constexpr std::uint32_t refused = UINT32_MAX;

struct statistics {
  std::atomic<unsigned> served{0}, refused{0}, hops{0};
  std::atomic<unsigned> over_limit{0}, left_something{0}, in_wrong_scope{0}, badly_answered{0};
};
statistics seen;

// Rows of a hundred bytes, and a change of threads after every few.
awaitable<std::uint32_t> handle(std::uint32_t wanted, heapledger::scope request) {
  std::vector<std::string> rows;
  for (std::uint32_t i = 0; i < wanted; ++i) {
    rows.emplace_back(100, 'x');
    if (i % 8 != 0) continue;
    const auto before = std::this_thread::get_id();
    co_await asio::post(use_awaitable);
    if (std::this_thread::get_id() != before) ++seen.hops;
    if (heapledger::scope::current() != request) ++seen.in_wrong_scope;
  }
  co_return static_cast<std::uint32_t>(rows.size());
}

awaitable<std::uint32_t> in_budget(std::uint32_t wanted, heapledger::scope server) {
  // Asio begins operations where nothing may be thrown; the reserve is for them.
  heapledger::scope request(
      "request",
      {.live_bytes = request_limit_bytes, .action = heapledger::on_exceed::fail, .reserve_bytes = reserve_bytes},
      server);
  std::uint32_t answer = refused;
  {
    const heapledger::enter inside(request);  // over all threads, until the end of this block
    try {
      answer = co_await handle(wanted, request);
    } catch (const heapledger::budget_exceeded&) {
      // what() says which budget, how much of it was used, and what was asked for
    }
  }
  const heapledger::usage used = request.used();
  if (used.peak_bytes > static_cast<std::int64_t>(request_limit_bytes)) ++seen.over_limit;
  if (used.live_bytes != 0 || used.live_blocks != 0) ++seen.left_something;
  request.close();
  ++(answer == refused ? seen.refused : seen.served);
  co_return answer;
}

awaitable<void> session(tcp::socket socket, heapledger::scope server) {
  try {
    for (std::array<std::uint32_t, 1> message;;) {
      co_await asio::async_read(socket, asio::buffer(message), use_awaitable);
      message[0] = co_await in_budget(message[0], server);
      co_await asio::async_write(socket, asio::buffer(message), use_awaitable);
    }
  } catch (const asio::system_error&) {
    // the client has what it wanted
  }
}

awaitable<void> accept(tcp::acceptor& acceptor, heapledger::scope server, unsigned connections) {
  for (unsigned i = 0; i < connections; ++i) {
    tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
    heapledger::spawn_in(server, acceptor.get_executor(), session(std::move(socket), server), asio::detached);
  }
}

awaitable<void> client(tcp::endpoint at, unsigned requests) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(at, use_awaitable);
  for (unsigned i = 0; i < requests; ++i) {
    const std::uint32_t wanted = i % 10 == 0 ? 2000 : 30;
    std::array<std::uint32_t, 1> message{wanted};
    co_await asio::async_write(socket, asio::buffer(message), use_awaitable);
    co_await asio::async_read(socket, asio::buffer(message), use_awaitable);
    if (heapledger::active() && message[0] != (wanted == 2000 ? refused : wanted)) ++seen.badly_answered;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int connections = argc > 1 ? std::atoi(argv[1]) : 16, requests = argc > 2 ? std::atoi(argv[2]) : 250;
  if (connections < 1 || requests < 1) return std::fputs("usage: asio_server [CONNECTIONS [REQUESTS]]\n", stderr), 2;
  const heapledger::owned_scope server("server"), clients("clients");
  {
    asio::io_context io;
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    heapledger::spawn_in(server, io, accept(acceptor, server, static_cast<unsigned>(connections)), asio::detached);
    for (int i = 0; i < connections; ++i)
      heapledger::spawn_in(clients, io, client(acceptor.local_endpoint(), static_cast<unsigned>(requests)),
                           asio::detached);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&io] { io.run(); });
  }
  std::printf("%u served, %u refused, %u over their limit, %u left something, %u in a wrong scope, %u badly answered\n",
              seen.served.load(), seen.refused.load(), seen.over_limit.load(), seen.left_something.load(),
              seen.in_wrong_scope.load(), seen.badly_answered.load());
  std::printf("%s hopped, %lld bytes left of the server\n", seen.hops != 0 ? "coroutines" : "nobody",
              static_cast<long long>(server->used().live_bytes));
}
