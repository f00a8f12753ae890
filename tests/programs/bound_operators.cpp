#include "bound_operators.hpp"

thing* make_thing() {
  return new thing{};
}

void end_thing(thing* one) {
  delete one;
}
