// usage: bound_operators_client theirs|ours: who allocates; the other frees.
#include "bound_operators.hpp"

#include <cstring>

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "theirs") == 0) {
    delete make_thing();
  } else {
    end_thing(make_thing());  // so that the library is seen
    auto* volatile ours = new thing{};
    end_thing(ours);
  }
}
