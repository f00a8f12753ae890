// Folded stacks, for flame graphs: "main;parse;operator new 4096", the outermost frame first, one line a stack.

#include "tool/export/folded_text.hpp"
#include "tool/export/format.hpp"
#include "tool/export/text_out.hpp"

namespace heapledger::exports {

notes write_folded(const profile& p, std::optional<analyse::measure> by, const sink& out) {
  text_out text(out);
  folded_text folded(p);
  for (const stack_entry& stack : p.stacks) {
    const std::int64_t value = analyse::value_of(stack.count, by.value_or(analyse::measure::peak));
    if (value <= 0) continue;
    text.put(folded.stack(stack));
    text.add(" {}\n", value);
  }
  text.flush();
  return {};
}

}  // namespace heapledger::exports
