#include "tool/report/loss_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tool/analyse/dead_ends.hpp"
#include "tool/analyse/lost_stacks.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/uncounted_text.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

struct words {
  std::string_view name;
  const char* singular;  // follows the count
  const char* plural;
  const char* meaning;
  const char* advice = "";  // where it was the tables' own limit, not want of room for them
};

constexpr std::string_view no_rule_in_jit_mode = "stack_cut_no_rule, jit";

constexpr words losses[] = {
    {"nodes_full", "stack was cut", "stacks were cut",
     "because the table of frames was full; their bytes are counted at the part that was known.",
     " Record with --depth, or only the processes you need (--only)."},
    {"accounts_full", "allocation has", "allocations have",
     "no stack, because the table of stacks was full; totals are right.", " Record with --depth to have fewer stacks."},
    {"cells_full", "event was", "events were", "not booked, because the tables were full: totals are too low by these.",
     " Record with --depth to have fewer stacks."},
    {"threads_full", "event has", "events have",
     "no thread of its own, because there were too many threads; totals are right."},
    {"modules_full", "frame has", "frames have",
     "no module and so no name, because too many libraries were loaded; totals are right."},
    {"stack_cut_depth", "stack was longer", "stacks were longer",
     "than --depth allowed: only the inner part is shown. Record with a larger --depth, or without."},
    {"stack_cut_no_rule", "stack ends", "stacks end",
     "early, at code without unwind information (generated code, assembly, a program built without unwind tables); "
     "totals are right. To go on there by frame pointers: record with --stacks jit."},
    {no_rule_in_jit_mode, "stack ends", "stacks end",
     "early, at code that has neither unwind information nor frame pointers; totals are right."},
    {"stack_cut_bounds", "stack ends", "stacks end", "early, where memory could not be a stack; totals are right."},
    {"large_full", "large block was", "large blocks were",
     "not booked, because the table of large blocks was full: totals are too low by these."},
    {"unbooked", "allocation was", "allocations were",
     "made while heapledger could not book (before it was ready, or in a fork): totals are too low by these."},
    {"foreign_frees", "free was", "frees were",
     "of blocks that heapledger never saw allocated, or cannot know again: from before it was loaded, from another "
     "allocator, or overwritten at the end; passed on, not counted."},
    {"inherited_frees", "free was", "frees were",
     "of blocks from before the fork, or from before the probe was detached; not counted here."},
    {"damaged_cells", "stack has", "stacks have",
     "numbers that cannot be, and were left out: heapledger's own tables were overwritten. See the errors above."},
    {"damaged_threads", "thread has", "threads have",
     "numbers that cannot be, and were left out, as was the timeline from then on: heapledger's own tables were "
     "overwritten. See the errors above."},
    {"overflow_size", "block was", "blocks were",
     "freed whose end had been overwritten, its size with it: freed bytes are too low. Where the overwriting went "
     "on, the stack is lost as well: such a block counts as live there, and as freed without a stack. See the errors "
     "above."},
    {"errors_full", "error was", "errors were", "found beyond those listed above."},
    {"segment_full", "time", "times",
     "the file system had no room for heapledger's tables: free some space in /dev/shm, or give it more. What was lost "
     "by that is told here as well; totals are right where nothing else is said."},
    {"scopes_full", "scope was", "scopes were",
     "counted as their parents, because the table of scopes was full: close scopes, name them by kind, not by number, "
     "and free what they allocate: one that is closed stays there while a block of it lives."},
    {"markers_full", "mark or snapshot was", "marks and snapshots were",
     "not kept, because the table of them was full."},
    {"snapshots_full", "snapshot was", "snapshots were",
     "kept as a mark only, without its stacks, because there was no room for more."},
    {"pools_full", "pool or stack in a pool", "pools or stacks in pools",
     "could not be shown, because the table of pools was full; other totals are right."},
    {"mappings_full", "range of addresses was", "ranges of addresses were",
     "mapped by the program and not booked, because the table of them was full; malloc's totals are right."},
    {"lives_unknown", "free was", "frees were",
     "of a block whose time of birth is not known: the block was overwritten at its end, or there was no room; "
     "it is not in the histogram."},
    {"freers_full", "free was", "frees were",
     "in another scope than the allocation, and not told apart by these scopes, because the table of such pairs was "
     "full; totals are right. Name scopes by kind, not by number."},
    {"refused_most", "block was", "blocks were",
     "chosen for the watch and not watched, because as many were watched already as may be: the estimates stand on "
     "fewer "
     "samples."},
    {"refused_room", "block was", "blocks were",
     "chosen for the watch and not watched, because there was no room or no memory for them."},
    {"set_apart", "watched block was", "watched blocks were",
     "lost sight of at a fork: nothing is known of them since."},
    {"failed_arms", "watched block", "watched blocks", "could not be watched any longer: the kernel refused."},
};

constexpr words errors[] = {
    {"double-free", "double free", "double frees",
     "A block was freed that had been freed before. The second free may hit a block that is somebody else's by then. "
     "Give the block one owner."},
    {"mismatch", "mismatched free", "mismatched frees",
     "A block was not freed the way it was allocated: malloc goes with free, new with delete, new[] with delete[]."},
    {"overflow", "overflow", "overflows",
     "Something wrote past the end of a block. Check the size that is asked for at this place."},
};

const words* find(const words* first, const words* last, std::string_view name) {
  const words* const found = std::find_if(first, last, [&](const words& entry) { return entry.name == name; });
  return found == last ? nullptr : found;
}

}  // namespace

std::string loss_text(std::string_view name, std::uint64_t count, bool with_advice) {
  const words* const known = find(std::begin(losses), std::end(losses), name);
  if (known == nullptr) {
    return fmt::format("{} {}: a loss that this version of heapledger has no words for.", count_text(count),
                       terminal_text(name));
  }
  return fmt::format("{} {}{}", counted(count, known->singular, known->plural), known->meaning,
                     with_advice ? known->advice : "");
}

std::vector<std::string> loss_texts(const profile& p) {
  const auto lost = analyse::find_lost_stacks(p);
  std::vector<std::string> texts;
  for (const auto& [name, counter] : p.profiler.losses) {
    const bool also_without_frame_pointers = name == "stack_cut_no_rule" && p.process.stacks == "jit";
    auto count = counter;
    // The counter is of attempts to make a place for a stack: not one for each allocation, nor is each of one.
    if (name == "accounts_full") count = lost.count.allocations;
    if (name == "stack_cut_no_rule") count -= std::min(count, analyse::count_fiber_stacks(p));
    if (count == 0) continue;
    const auto text = loss_text(also_without_frame_pointers ? no_rule_in_jit_mode : std::string_view(name), count,
                                !lost.for_want_of_room);
    texts.insert(name == "segment_full" ? texts.begin() : texts.end(), text);
  }
  if (!p.uncounted.empty())
    texts.push_back(fmt::format("Programs that it started are not counted: {}.", uncounted_text(p.uncounted)));
  return texts;
}

std::string lost_stacks_text(const profile& p, double least_share) {
  const auto lost = analyse::find_lost_stacks(p);
  const auto [share, is_of_peak] = analyse::share_of(lost, p);
  if (share == 0 || share < least_share) return {};
  return fmt::format(
      "{:.0f} % of the {} have no stack, because {}", 100 * share, is_of_peak ? "bytes at the peak" : "allocations",
      lost.for_want_of_room ? "there was no room for heapledger's tables (/dev/shm)" : "heapledger's tables were full");
}

std::string error_text(std::string_view kind, std::uint64_t count, std::string_view allocated_by,
                       std::string_view freed_by) {
  const words* const known = find(std::begin(errors), std::end(errors), kind);
  if (known == nullptr) return fmt::format("{} {}", count_text(count), terminal_text(kind));
  const std::string found = counted(count, known->singular, known->plural);
  if (allocated_by.empty() || freed_by.empty()) return fmt::format("{}. {}", found, known->meaning);
  return fmt::format("{}: allocated by {}, freed by {}. {}", found, terminal_text(allocated_by),
                     terminal_text(freed_by), known->meaning);
}

}  // namespace heapledger::report
