// How long things last when many of them have not ended yet: Kaplan and Meier's estimate over times in logarithmic
// buckets, so that a stack of a million samples takes as much room as one of ten.
//
// Leaked blocks never end. The curve of a stack that leaks falls and then stays level: what ends at all is described by
// the falling part alone (a cure model), and deadlines are quantiles of that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace heapledger::leaks {

class survival {
 public:
  void add_ended(double seconds, std::uint32_t times = 1) { ended_[bucket_of(seconds)] += times; }
  void add_unfinished(double seconds) { ++unfinished_[bucket_of(seconds)]; }

  std::uint64_t ended() const;
  std::uint64_t observed() const;  // ended or not

  // The share that lasts longer than so many seconds.
  double after(double seconds) const;
  // The mean of after() from 0 to `seconds`: the share of that time that a thing is there.
  double mean_until(double seconds) const;
  // By when a share `q` of those that end has ended. Nothing when fewer than `fewest` have been seen to end.
  std::optional<double> quantile_of_ending(double q, std::uint64_t fewest = 1) const;

 private:
  static constexpr std::size_t per_octave = 4;
  static constexpr std::size_t buckets = 44 * per_octave;  // from 2^-20 s to half a year
  static std::size_t bucket_of(double seconds);
  static double end_of(std::size_t bucket);

  template <class Step>
  void walk(Step&& step) const;

  std::array<std::uint32_t, buckets> ended_{};
  std::array<std::uint32_t, buckets> unfinished_{};
};

}  // namespace heapledger::leaks
