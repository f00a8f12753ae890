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
    {"", "watch", "heapledger leaks PID, or heapledger top PID"},
    {"", "list", "heapledger ps"},
    {"", "memcheck", "heapledger run --leaks -- PROGRAM"},
    {"", "--leak-check", "heapledger run --leaks -- PROGRAM"},
    {"", "massif", "heapledger run -- PROGRAM"},
    {"", "dhat", "heapledger run --lifetimes -- PROGRAM"},
    {"", "--tool", "heapledger run -- PROGRAM; with --leaks for memcheck, with --lifetimes for dhat"},
    {"", "ms_print", "heapledger report PROFILE"},
    {"", "heaptrack_print", "heapledger report PROFILE"},
    {"", "heaptrack_gui", "heapledger html PROFILE"},
    {"", "jeprof", "heapledger report PROFILE"},
    {"", "pprof", "heapledger export --format pprof PROFILE"},
    {"", "convert", "heapledger export --format FORMAT PROFILE"},
    {"", "transform", "heapledger export --format FORMAT PROFILE"},
    {"", "compare", "heapledger diff OLD NEW"},
    {"", "--analyze", "heapledger html PROFILE"},
    {"", "-a", "heapledger html PROFILE"},
    {"", "--pid", "heapledger attach PID"},
    {"", "-p", "heapledger attach PID"},
    {"run", "--pid", "heapledger attach PID"},
    {"run", "-p", "heapledger attach PID"},
    {"run", "--leak-check", "heapledger run --leaks -- PROGRAM"},
    {"run", "--show-leak-kinds", "heapledger run --leaks -- PROGRAM"},
    {"run", "--tool", "heapledger run -- PROGRAM; with --leaks for memcheck, with --lifetimes for dhat"},
    {"run", "--num-callers", "heapledger run --depth N -- PROGRAM; all callers are kept unless it is given"},
    {"run", "--log-file", "heapledger run -o FILE -- PROGRAM"},
    {"run", "--error-exitcode", "heapledger run --leaks --leaks-error-exitcode N -- PROGRAM"},
    {"run", "--suppressions", "heapledger run --leaks --leaks-suppressions FILE -- PROGRAM"},
    {"run", "--native", "heapledger run --stacks jit -- python3 -X perf PROGRAM"},
    {"run", "--live", "heapledger run -- PROGRAM, and heapledger top beside it"},
    {"run", "--trace-children", "heapledger run -- PROGRAM; children are followed unless --no-follow is given"},
    {"run", "--follow-fork", "heapledger run -- PROGRAM; children are followed unless --no-follow is given"},
    {"attach", "--pid", "heapledger attach PID"},
    {"attach", "-p", "heapledger attach PID"},
    {"detach", "-p", "heapledger detach PID"},
    {"top", "-p", "heapledger top PID"},
    {"top", "-n", "heapledger top --count N PID"},
    {"leaks", "-p", "heapledger leaks PID"},
    {"export", "flamegraph",
     "heapledger export --format folded PROFILE, for flamegraph.pl; or heapledger html PROFILE"},
    {"export", "svg", "heapledger export --format folded PROFILE, for flamegraph.pl; or heapledger html PROFILE"},
    {"export", "collapsed", "heapledger export --format folded PROFILE"},
    {"export", "json", "heapledger report --json PROFILE"},
    {"export", "text", "heapledger report PROFILE"},
    {"export", "html", "heapledger html PROFILE"},
    {"report", "--leaks", "heapledger leaks PROFILE"},
    {"report", "-l", "heapledger report --by live PROFILE"},
    {"report", "--print-leaks", "heapledger report --by live PROFILE"},
    {"report", "--print-peaks", "heapledger report --by peak PROFILE"},
    {"report", "--print-allocators", "heapledger report --by count PROFILE"},
    {"report", "--print-temporary", "heapledger report --by temporary PROFILE"},
    {"report", "--print-flamegraph", "heapledger export --format folded PROFILE"},
    {"report", "--print-massif", "heapledger export --format massif PROFILE"},
    {"report", "--inuse_space", "heapledger report --by live PROFILE"},
    {"report", "--alloc_space", "heapledger report --by allocated PROFILE"},
    {"report", "--text", "heapledger report PROFILE"},
    {"report", "--file", "heapledger report PROFILE"},
    {"report", "-f", "heapledger report PROFILE"},
    {"report", "--base", "heapledger diff OLD NEW"},
    {"report", "--limit", "heapledger report --top N PROFILE"},
    {"report", "--sort", "heapledger report --by MEASURE PROFILE"},
    {"report", "-n", "heapledger report --top N PROFILE"},
    {"report", "--html", "heapledger html PROFILE"},
    {"report", "--output", "heapledger report PROFILE >FILE"},
    {"report", "-o", "heapledger report PROFILE >FILE"},
    {"report", "--format", "heapledger report --json PROFILE, or heapledger export --format FORMAT PROFILE"},
    {"report", "-a", "heapledger report --by count PROFILE"},
    {"report", "-p", "heapledger report --by peak PROFILE"},
    {"report", "-T", "heapledger report --by temporary PROFILE"},
    {"report", "--peak", "heapledger report --by peak PROFILE"},
    {"report", "--live", "heapledger report --by live PROFILE"},
    {"report", "--temporary", "heapledger report --by temporary PROFILE"},
    {"report", "-F", "heapledger export --format folded PROFILE"},
    {"report", "-M", "heapledger export --format massif PROFILE"},
    {"report", "--diff", "heapledger diff OLD NEW"},
    {"report", "-d", "heapledger diff OLD NEW"},
};

}  // namespace

std::string_view peers_word(std::string_view command, std::string_view word) {
  if (word.starts_with("--")) word = word.substr(0, word.find('='));
  for (const habit& each : habits)
    if (each.command == command && each.theirs == word) return each.ours;
  return {};
}

}  // namespace heapledger::cli
