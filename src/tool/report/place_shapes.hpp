// Beside a place in the text report, the shape of what it held over time.
#pragma once

#include <string>

#include "tool/analyse/place_timeline.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

class place_shapes {
 public:
  explicit place_shapes(const profile& p) : p_(p), timeline_(p) {}

  bool has_any() const { return !timeline_.times_ns().empty(); }
  // What the shapes are, for the line above them.
  std::string legend() const;
  // With the shape at the end of the line, where there is room for it.
  std::string beside(const page& page, std::string line, const analyse::site& of) const;

 private:
  const profile& p_;
  analyse::place_timeline timeline_;
};

}  // namespace heapledger::report
