// What the watch may cost the program in all, whatever it allocates: offers and armings are each held to well under a
// hundredth of the processor time that it uses, by the prices that bench/watch.py prints.
#pragma once

#include <span>

namespace heapledger::leaks {

// For a program that keeps one processor busy.
struct budget {
  double offers_per_s = 200'000;  // an allocation of a suspect takes 20 to 30 ns more, chosen or not
  double armed_per_s = 2500;      // 1 us, and the fault of the touch that may follow
};

// Where suspects allocate so often: the rate up to which each is offered all the time. One that allocates more often is
// offered only part of the time, this rate over its own; so that all together make `most_per_s`.
double offered_per_s_each(std::span<const double> rates, double most_per_s);

// How many processors the program keeps busy, lately; at least a little, and for a budget never more than one.
class usage {
 public:
  void see(double now_s, double processor_s);
  double processors() const { return processors_; }

 private:
  double processors_ = 1;
  double last_s_ = -1;
  double last_processor_s_ = 0;
};

// What may be spent at a look: what time has brought, and never more than a second of it.
class allowance {
 public:
  // How many of so many, at so many a second; at least one comes in the end, however little time passes between looks.
  std::size_t take(std::size_t wanted, double per_s, double now_s);

 private:
  double left_ = 0;
  double last_s_ = -1;
};

}  // namespace heapledger::leaks
