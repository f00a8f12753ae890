// Debug files from the servers that DEBUGINFOD_URLS names, or fetched from them before: by elfutils' own client, which
// is loaded when it is wanted. The protocol, the cache, the time limits and their variables are its own: debuginfod(8).
#pragma once

#include <memory>
#include <string>

namespace heapledger::symbols {

class debuginfod {
 public:
  debuginfod();  // throws input_error: there is no client, or no server is named
  ~debuginfod();

  // The debug file's path; empty when no server has one. Once the servers could not be asked nothing is asked of them
  // any more: each question may wait for 90 s.
  std::string fetch(const std::string& build_id);
  const std::string& trouble() const { return trouble_; }  // why they could not be asked; empty: they could

 private:
  struct client;
  std::unique_ptr<client> client_;
  std::string trouble_;
};

}  // namespace heapledger::symbols
