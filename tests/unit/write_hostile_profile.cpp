// Writes hostile_profile() to a file, for the test of the page in a browser.
#include <cstdio>
#include <exception>

#include "hostile_profile.hpp"
#include "tool/profile/write.hpp"

int main(int argc, char** argv) {
  try {
    if (argc == 2) heapledger::write_profile(heapledger::hostile_profile(), argv[1], true);
    return argc == 2 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
