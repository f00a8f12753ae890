// Gives a segment a layout that fits, a page for each region, so that a fuzzer gets past the checks of the header;
// everything else in it stays as the input has it.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "wire/segment.hpp"

namespace heapledger::fuzz {

constexpr std::size_t page_bytes = 4096;

template <class T>
void place(wire::region& region, std::uint32_t& count, std::size_t& at) {
  region.offset = at;
  region.capacity = page_bytes / sizeof(T);
  count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, region.capacity));
  at += page_bytes;
}

inline void repair(std::string& file) {
  if (file.size() < sizeof(wire::segment_header)) file.resize(sizeof(wire::segment_header));
  wire::segment_header header;
  std::memcpy(&header, file.data(), sizeof header);
  header.magic = wire::segment_magic;
  header.version = wire::segment_version;
  header.header_size = wire::header_bytes;
  std::size_t at = wire::header_bytes;
  place<wire::node>(header.nodes, header.node_count, at);
  place<wire::place>(header.places, header.place_count, at);
  place<wire::cell>(header.accounts, header.account_count, at);
  place<wire::account_key>(header.account_keys, header.account_count, at);
  place<wire::cell>(header.cells, header.cell_count, at);
  place<wire::thread>(header.threads, header.thread_count, at);
  place<wire::writer>(header.writers, header.writer_count, at);
  place<wire::module>(header.modules, header.module_count, at);
  place<char>(header.strings, header.string_bytes, at);
  place<wire::error>(header.errors, header.error_count, at);
  place<wire::scope>(header.scopes, header.scope_count, at);
  place<wire::marker>(header.markers, header.marker_count, at);
  place<char>(header.snapshots, header.snapshot_bytes, at);
  place<wire::pool_kind>(header.pool_kinds, header.pool_kind_count, at);
  place<wire::pool>(header.pools, header.pool_count, at);
  place<wire::pool_site>(header.pool_sites, header.pool_site_count, at);
  place<wire::freer>(header.freers, header.freer_count, at);
  place<wire::writer_book>(header.writer_books, header.writer_count, at);
  place<wire::writer_lifetimes>(header.writer_lifetimes, header.writer_count, at);
  place<wire::account_lifetimes>(header.account_lifetimes, header.account_count, at);
  place<wire::mapping_site>(header.mapping_sites, header.mapping_site_count, at);
  place<wire::mapping>(header.mappings, header.mapping_count, at);
  std::uint32_t none_read = 0;
  place<std::uint32_t>(header.watch_marks, none_read, at);
  place<wire::watch_suspect>(header.watch_suspects, none_read, at);
  place<wire::watch_slot>(header.watch_slots, none_read, at);
  place<wire::watch_arm>(header.watch_arms, none_read, at);
  file.resize(std::max(file.size(), at));
  std::memcpy(file.data(), &header, sizeof header);
}

}  // namespace heapledger::fuzz
