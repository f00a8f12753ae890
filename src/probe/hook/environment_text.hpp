// The environment's text as the kernel keeps it: one string behind the other, which /proc/PID/environ shows.
#pragma once

namespace heapledger::probe {

// One past the text; nullptr if it is not where the kernel puts it. Before the entries are changed.
char* end_of_environment_text();

// Ends the text at `end`. What stood from there to `before`, its end until now, is overwritten with zeros; where the
// kernel cannot be told, /proc/PID/environ shows these.
void shorten_environment_text(char* end, char* before);

}  // namespace heapledger::probe
