#include "tool/html/html.hpp"

namespace heapledger::html {

std::string_view page_shell() {
  return {};
}

std::string_view page_shell_missing() {
  return "this heapledger was built without node and npm, so it has no page: install both, run cmake and build again";
}

}  // namespace heapledger::html
