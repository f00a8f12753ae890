// A list that is only ever added to, and never looked at again: reachable to the end, and lost all the same.
#include "scenario.hpp"

corpus::place lost{"leak_to_list"};

struct node {
  node* next;
  char text[56];
};
node* head = nullptr;

[[gnu::noinline]] void leak_to_list() {
  auto* const fresh = static_cast<node*>(lost.lose(sizeof(node)));
  fresh->next = head;
  head = fresh;
}

int main(int, char** arguments) {
  corpus::play(arguments, [](unsigned long tick, double) {
    if (tick % 4 == 0) leak_to_list();
  });
  corpus::finish({&lost});
}
