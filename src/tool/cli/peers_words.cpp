#include "tool/cli/peers_words.hpp"

namespace heapledger::cli {
namespace {

struct habit {
  std::string_view command;
  std::string_view theirs;
  std::string_view ours;
};

constexpr habit habits[] = {
    {"", "record", "heapledger run -- PROGRAM"},
    {"", "profile", "heapledger run -- PROGRAM"},
    {"", "print", "heapledger report PROFILE"},
    {"", "table", "heapledger report PROFILE"},
    {"", "tree", "heapledger report PROFILE"},
    {"", "stats", "heapledger report PROFILE"},
    {"", "summary", "heapledger report PROFILE"},
    {"", "flamegraph", "heapledger html PROFILE"},
    {"", "gui", "heapledger html PROFILE"},
    {"", "view", "heapledger html PROFILE"},
    {"", "live", "heapledger top PID"},
    {"", "transform", "heapledger export --format FORMAT PROFILE"},
    {"", "compare", "heapledger diff OLD NEW"},
    {"", "--analyze", "heapledger html PROFILE"},
    {"", "-a", "heapledger html PROFILE"},
    {"", "--pid", "heapledger attach PID"},
    {"", "-p", "heapledger attach PID"},
    {"run", "--pid", "heapledger attach PID"},
    {"run", "-p", "heapledger attach PID"},
    {"run", "--leak-check", "heapledger run --leaks -- PROGRAM"},
    {"run", "--trace-children", "heapledger run -- PROGRAM; children are followed unless --no-follow is given"},
    {"run", "--follow-fork", "heapledger run -- PROGRAM; children are followed unless --no-follow is given"},
    {"attach", "--pid", "heapledger attach PID"},
    {"attach", "-p", "heapledger attach PID"},
    {"detach", "-p", "heapledger detach PID"},
    {"top", "-p", "heapledger top PID"},
    {"leaks", "-p", "heapledger leaks PID"},
    {"report", "--leaks", "heapledger leaks PROFILE"},
    {"report", "--sort", "heapledger report --by MEASURE PROFILE"},
    {"report", "-n", "heapledger report --top N PROFILE"},
    {"report", "--diff", "heapledger diff OLD NEW"},
    {"report", "-d", "heapledger diff OLD NEW"},
};

}  // namespace

std::string_view peers_word(std::string_view command, std::string_view word) {
  for (const habit& each : habits)
    if (each.command == command && each.theirs == word) return each.ours;
  return {};
}

}  // namespace heapledger::cli
