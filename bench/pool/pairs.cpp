// usage: pool_pairs SUBJECT [ROUNDS]
// Prints a line for each pattern: size threads frees order nanoseconds. Frees are local, or remote while the other
// thread is near or far.
#include <cstdio>
#include <cstring>

#include "measure.hpp"
#include "subjects.hpp"

namespace {

using namespace heapledger;

template <class Subject>
void measure(std::size_t bytes, bool any_thread, int rounds) {
  for (int threads = 1; threads <= (any_thread ? 2 : 1); ++threads) {
    for (const bool remote : {false, true}) {
      if (remote && threads == 1) continue;
      for (const auto order : {bench::order::lifo, bench::order::fifo, bench::order::random}) {
        Subject subject{};
        const auto found = bench::time_pair(subject, order, threads, remote, rounds);
        auto print = [&](const char* frees, double ns) {
          if (ns != 0)
            std::printf("%zu %d %s %s %.3f\n", bytes, threads, frees, bench::order_names[static_cast<int>(order)], ns);
        };
        print("local", found.ns);
        print("near", found.near_ns);
        print("far", found.far_ns);
      }
    }
  }
}

template <std::size_t Bytes>
bool measure_size(const char* name, int rounds) {
  auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("single"))
    measure<bench::ours<Bytes, threading::single, no_checks>>(Bytes, false, rounds);
  else if (is("single+checks"))
    measure<bench::ours<Bytes, threading::single, exact_checks>>(Bytes, false, rounds);
  else if (is("single+fill"))
    measure<bench::ours<Bytes, threading::single, all_checks>>(Bytes, false, rounds);
  else if (is("thread_cached"))
    measure<bench::ours<Bytes, threading::thread_cached, no_checks>>(Bytes, true, rounds);
  else if (is("thread_cached+checks"))
    measure<bench::ours<Bytes, threading::thread_cached, exact_checks>>(Bytes, true, rounds);
  else if (is("thread_cached+fill"))
    measure<bench::ours<Bytes, threading::thread_cached, all_checks>>(Bytes, true, rounds);
  else if (is("shared"))
    measure<bench::ours<Bytes, threading::shared, no_checks>>(Bytes, true, rounds);
  else if (is("shared+checks"))
    measure<bench::ours<Bytes, threading::shared, exact_checks>>(Bytes, true, rounds);
  else if (is("shared+fill"))
    measure<bench::ours<Bytes, threading::shared, all_checks>>(Bytes, true, rounds);
  else if (is("free_list"))
    measure<bench::free_list<Bytes>>(Bytes, false, rounds);
  else if (is("malloc"))
    measure<bench::from_malloc<Bytes>>(Bytes, true, rounds);
  else if (is("pmr_unsynchronized"))
    measure<bench::from_pmr<Bytes, std::pmr::unsynchronized_pool_resource>>(Bytes, false, rounds);
  else if (is("pmr_synchronized"))
    measure<bench::from_pmr<Bytes, std::pmr::synchronized_pool_resource>>(Bytes, true, rounds);
#ifdef BENCH_HAS_BOOST
  else if (is("boost_pool"))
    measure<bench::boost_single<Bytes>>(Bytes, false, rounds);
  else if (is("boost_singleton_pool"))
    measure<bench::boost_shared<Bytes>>(Bytes, true, rounds);
#endif
  else
    return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 200;
  if (argc < 2 || rounds < 1) {
    std::fputs("usage: pool_pairs SUBJECT [ROUNDS]\n", stderr);
    return 2;
  }
  if (!measure_size<16>(argv[1], rounds)) {
    std::fprintf(stderr, "pool_pairs: there is no subject '%s' in this build\n", argv[1]);
    return 2;
  }
  measure_size<48>(argv[1], rounds);
  measure_size<128>(argv[1], rounds);
  measure_size<512>(argv[1], rounds);
}
