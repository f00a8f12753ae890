// What an event loop allocates, seen through a pool: an echo server and its clients on Asio, over the loopback
// interface. Every operation that waits is an object that Asio allocates with its handler's allocator; here that is a
// set of pools that count.
//
// usage: event_loop [CLIENTS] [MESSAGES]     prints lines for plot.py: what, from, to, count
#include <asio.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "heapledger/pool/allocator.hpp"
#include "pool_rows.hpp"

namespace {

using pools = counted_pools<heapledger::threading::single>::type;

pools the_pools;

// A handler that brings the allocator along.
template <class F>
struct pooled_handler {
  using allocator_type = heapledger::pool_allocator<void*, pools>;
  F work;
  allocator_type get_allocator() const noexcept { return {&the_pools}; }
  template <class... Argument>
  void operator()(Argument&&... arguments) {
    work(std::forward<Argument>(arguments)...);
  }
};
template <class F>
pooled_handler<F> pooled(F work) {
  return {std::move(work)};
}

using tcp = asio::ip::tcp;

struct connection : std::enable_shared_from_this<connection> {
  explicit connection(tcp::socket of) : socket(std::move(of)) {}
  tcp::socket socket;
  char buffer[512];

  void read() {
    socket.async_read_some(asio::buffer(buffer),
                           pooled([self = shared_from_this()](asio::error_code failed, std::size_t n) {
                             if (!failed) self->write(n);
                           }));
  }
  void write(std::size_t bytes) {
    asio::async_write(socket, asio::buffer(buffer, bytes),
                      pooled([self = shared_from_this()](asio::error_code failed, std::size_t) {
                        if (!failed) self->read();
                      }));
  }
};

struct server {
  tcp::acceptor acceptor;
  void accept(int left) {
    acceptor.async_accept(pooled([this, left](asio::error_code failed, tcp::socket socket) {
      if (failed) return;
      std::make_shared<connection>(std::move(socket))->read();
      if (left > 1) accept(left - 1);
    }));
  }
};

// Sends, waits for the echo, thinks for a moment, and begins again; a timer watches that it does not take too long.
struct client : std::enable_shared_from_this<client> {
  client(asio::io_context& io, int number_of_messages)
      : socket(io), pause(io), patience(io), messages(number_of_messages) {}
  tcp::socket socket;
  asio::steady_timer pause, patience;
  int messages;
  char buffer[512] = {};

  void send() {
    if (messages-- == 0) {
      patience.cancel();
      socket.close();
      return;
    }
    patience.expires_after(std::chrono::seconds(20));
    patience.async_wait(pooled([self = shared_from_this()](asio::error_code cancelled) {
      if (!cancelled) self->socket.close();
    }));
    const std::size_t bytes = 1 + static_cast<std::size_t>(messages) % sizeof buffer;
    asio::async_write(socket, asio::buffer(buffer, bytes),
                      pooled([self = shared_from_this(), bytes](asio::error_code failed, std::size_t) {
                        if (!failed) self->receive(bytes);
                      }));
  }
  void receive(std::size_t bytes) {
    asio::async_read(socket, asio::buffer(buffer, bytes),
                     pooled([self = shared_from_this()](asio::error_code failed, std::size_t) {
                       if (failed) return;
                       self->pause.expires_after(std::chrono::microseconds(50 * (self->messages % 7)));
                       self->pause.async_wait(pooled([self](asio::error_code stopped) {
                         if (!stopped) self->send();
                       }));
                     }));
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int clients = argc > 1 ? std::atoi(argv[1]) : 200;
  const int messages = argc > 2 ? std::atoi(argv[2]) : 200;
  if (clients < 1 || messages < 1) {
    std::fputs("usage: event_loop [CLIENTS] [MESSAGES]\n", stderr);
    return 2;
  }
  {
    asio::io_context io;
    server echo{tcp::acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0))};
    echo.accept(clients);
    for (int i = 0; i < clients; ++i) {
      auto one = std::make_shared<client>(io, messages);
      one->socket.async_connect(echo.acceptor.local_endpoint(), pooled([one](asio::error_code failed) {
                                  if (!failed) one->send();
                                }));
    }
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t events = 0; io.run_one() != 0; ++events) {
      if (events % 500 == 0) print_in_use(the_pools, start);
    }
  }
  print_histograms(the_pools);
}
