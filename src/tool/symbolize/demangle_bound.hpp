// How long a mangled C++ name may become, estimated before it is demangled: a short hostile name can stand for
// terabytes, because a substitution may repeat what itself consists of substitutions.
#pragma once

#include <cstdint>
#include <string_view>

namespace heapledger::symbols {

// Saturating. A substitution or template parameter stands for something that was complete before it, so it is charged
// like the largest such thing. Where the text is ambiguous without a full parse, brackets are closed early, which
// makes the estimate larger.
std::uint64_t demangled_bound_bytes(std::string_view mangled);

}  // namespace heapledger::symbols
