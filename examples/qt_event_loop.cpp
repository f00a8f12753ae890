// What Qt's event loop is given to allocate, seen through a pool: events of several sizes, which timers in three
// threads and a thread without a loop post, and which Qt deletes when they were handled or when their receiver is gone.
// Their class brings operator new and delete along.
//
// usage: qt_event_loop [ROUNDS]     prints lines for plot.py: what, from, to, count; fails if an event was not freed
#include <QCoreApplication>
#include <QEvent>
#include <QThread>
#include <QTimerEvent>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "heapledger/pool/pooled.hpp"
#include "pool_rows.hpp"

namespace {

using pools = counted_pools<heapledger::threading::thread_cached>::type;

enum class kind { plain, key, move, text, block, request, answer, finished };

struct message : QEvent, heapledger::pooled<message, pools> {
  explicit message(kind of) : QEvent(static_cast<Type>(User + static_cast<int>(of))) {}
  kind what() const { return static_cast<kind>(type() - User); }
};
template <kind Kind, std::size_t Bytes>
struct message_with : message {
  message_with() : message(Kind) {}
  char payload[Bytes] = {};
};
using key_message = message_with<kind::key, 8>;
using move_message = message_with<kind::move, 24>;
using text_message = message_with<kind::text, 88>;
using block_message = message_with<kind::block, 900>;
struct request_message : message {
  explicit request_message(QObject* from) : message(kind::request), asks(from) {}
  QObject* asks;
};

// Counted apart from the pools.
std::atomic<std::uint64_t> posted{0};

void post(QObject& to, message* made, Qt::EventPriority priority = Qt::NormalEventPriority) {
  ++posted;
  QCoreApplication::postEvent(&to, made, priority);
}

// Handles events of all threads, answers requests, and ends the loop when all sources are through.
class receiver : public QObject {
 public:
  explicit receiver(int number_of_sources) : sources_(number_of_sources) {}

 protected:
  void customEvent(QEvent* some) override {
    if (handled_++ % 100 == 0) print_in_use(message::pools(), start_);
    const auto& one = static_cast<message&>(*some);
    if (one.what() == kind::request) {
      post(*static_cast<request_message&>(*some).asks, new message_with<kind::answer, 232>);
    } else if (one.what() == kind::finished && --sources_ == 0) {
      QCoreApplication::quit();
    }
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t handled_ = 0;
  int sources_;
};

// Posts some events whenever its timer fires, now and then many, and is through when all its requests are answered.
class source : public QObject {
 public:
  source(QObject& to, int number_of_rounds, int every_ms) : to_(to), rounds_(number_of_rounds) { startTimer(every_ms); }

 protected:
  void timerEvent(QTimerEvent* of) override {
    const int round = round_++;
    post(to_, new move_message);
    post(to_, new message(kind::plain), Qt::LowEventPriority);
    if (round % 3 == 0) post(to_, new key_message, Qt::HighEventPriority);
    if (round % 5 == 0) post(to_, new text_message);
    if (round % 10 == 0) {
      post(to_, new request_message(this));
      ++unanswered_;
    }
    if (round % 20 == 0) post(to_, new block_message);
    if (round % 100 == 0) {
      for (int i = 0; i < 1000; ++i) post(to_, new move_message);
    }
    // What still waits for a receiver that goes away is deleted unseen.
    QObject closed;
    post(closed, new text_message);
    if (round_ == rounds_) {
      killTimer(of->timerId());
      finish_if_through();
    }
  }
  void customEvent(QEvent*) override {
    --unanswered_;
    finish_if_through();
  }

 private:
  void finish_if_through() {
    if (round_ == rounds_ && unanswered_ == 0) post(to_, new message(kind::finished), Qt::LowEventPriority);
  }

  QObject& to_;
  const int rounds_;
  int round_ = 0, unanswered_ = 0;
};

class sending_thread final : public QThread {
 public:
  sending_thread(QObject& to, int rounds) : to_(to), rounds_(rounds) { start(); }
  ~sending_thread() override {
    quit();
    wait();
  }

 protected:
  void run() override {
    source in_this_thread(to_, rounds_, 2);
    exec();
  }

 private:
  QObject& to_;
  const int rounds_;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;
  if (argc > 2 || rounds < 1) {
    std::fputs("usage: qt_event_loop [ROUNDS]\n", stderr);
    return 2;
  }
  QCoreApplication application(argc, argv);
  {
    receiver all(4);
    source here(all, rounds, 1);
    sending_thread one(all, rounds), other(all, rounds);
    std::thread without_loop([&] {
      for (int i = 0; i < 10 * rounds; ++i) post(all, new key_message);
      post(all, new message(kind::finished), Qt::LowEventPriority);
    });
    QCoreApplication::exec();
    without_loop.join();
  }
  print_chunks(message::pools());
  print_histograms(message::pools());
  const std::uint64_t allocated = sum(message::pools(), [](auto& a) { return a.allocations.value(); });
  const std::uint64_t freed = sum(message::pools(), [](auto& a) { return a.frees.value(); });
  if (allocated != posted || freed != posted) {
    std::fprintf(stderr, "qt_event_loop: %llu events posted, %llu allocated, %llu freed\n",
                 static_cast<unsigned long long>(posted), static_cast<unsigned long long>(allocated),
                 static_cast<unsigned long long>(freed));
    return 1;
  }
}
