// What a sample says of the whole: the interval for a share, from hits among trials.
#pragma once

namespace heapledger::leaks {

struct share_interval {
  double low = 0;
  double high = 1;
};

// Clopper and Pearson's: it holds the true share at least as often as `confidence` says, however few the trials.
// Numbers need not be whole: a weighted sample counts as so many trials as its weights are worth (Korn and Graubard).
share_interval share_of(double hits, double trials, double confidence = 0.95);

// The same with half of the probability of what was seen on either side (Lancaster's mid-P): it holds the true share as
// often as it says on average, where the one above is always on the safe side, and wider.
share_interval middle_share_of(double hits, double trials, double confidence = 0.95);

// The regularised incomplete beta function.
double beta_distribution(double x, double a, double b);

// How many equally weighted elements say as much as these.
class effective_size {
 public:
  void add(double weight) {
    sum_ += weight;
    squares_ += weight * weight;
  }
  double sum() const { return sum_; }
  double value() const { return squares_ > 0 ? sum_ * sum_ / squares_ : 0; }

 private:
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace heapledger::leaks
