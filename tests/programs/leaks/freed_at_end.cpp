// Two lists that only grow and are never looked at: one is freed in the end, when nobody looks any more.
#include <utility>

#include "scenario.hpp"

corpus::place lost{"leak_to_list"};

struct node {
  node* next;
  char text[56];
};
node* kept = nullptr;
node* forgotten = nullptr;

[[gnu::noinline]] void leak_to_list() {
  auto* const fresh = static_cast<node*>(lost.lose(sizeof(node)));
  fresh->next = forgotten;
  forgotten = fresh;
}

[[gnu::noinline]] void keep_in_list() {
  auto* const fresh = static_cast<node*>(std::malloc(sizeof(node)));
  std::memset(fresh->text, 1, sizeof fresh->text);
  fresh->next = kept;
  kept = fresh;
}

int main(int count, char** arguments) {
  const bool leaks = count < 3;
  corpus::play(arguments, [&](unsigned long tick, double) {
    if (tick % 4 == 0) keep_in_list();
    if (leaks && tick % 4 == 2) leak_to_list();
  });
  while (kept != nullptr) std::free(std::exchange(kept, kept->next));
  corpus::finish({&lost});
}
