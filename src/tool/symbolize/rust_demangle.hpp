// Rust's two manglings. Each function gives an empty string for a name that is not of its kind, is malformed, or uses
// a construct it does not know; the caller then keeps the mangled name. Time and output are bounded.
#pragma once

#include <string>
#include <string_view>

namespace heapledger::symbols {

// _ZN4core3fmt5Write9write_fmt17h0123456789abcdefE: Itanium in form, told from C++ by the hash at its end.
std::string demangle_rust_legacy(std::string_view name);

// _RNvCs4fqI2P2rA04_7mycrate3foo, without the crates' hashes.
std::string demangle_rust_v0(std::string_view name);

}  // namespace heapledger::symbols
