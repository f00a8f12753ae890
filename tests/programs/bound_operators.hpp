// A thing that is made on one side of a library and ended on the other.
#pragma once

struct thing {
  int numbers[10];
};

thing* make_thing();
void end_thing(thing* one);
