// The kinds of scopes in a segment, checked: what each is called, and what is known of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

class scope_reader {
 public:
  // Fills `scopes` of the profile. A kind whose parent does not stand before it is nobody's child. Throws input_error
  // when all paths together are longer than any program's.
  scope_reader(const segment_copy& segment, profile& to);

  // Fills `freers`: who freed whose memory.
  void add_freers(const segment_copy& segment, profile& to);

  // A scope that is still open may hold more than at the last peak that it was told of: its thread tells it after each
  // 32 KiB. Of the only one of its kind the accounts know that. Where live bytes are limited, what threads have
  // reserved counts as taken: no scope had more than all of its kind allocated.
  void bound_peaks(const segment_copy& segment, std::span<const counters> accounts, profile& to) const;

  // 0 is the whole process, also for an account of a kind that is not there.
  std::uint32_t kind_of(const wire::account_key& key) const { return key.scope < paths_.size() ? key.scope : 0; }
  // Throws input_error when all that was asked for is more than any program has.
  const std::vector<std::string>& path_of(std::uint32_t kind);

 private:
  void count(const std::vector<std::string>& path);

  const std::string& source_;
  std::vector<std::vector<std::string>> paths_;
  std::vector<std::uint32_t> kinds_;  // of the profile's scopes
  std::uint64_t path_bytes_ = 0;      // of all copies
};

}  // namespace heapledger::collect
