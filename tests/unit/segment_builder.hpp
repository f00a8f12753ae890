// Makes segments as the probe lays them out, and broken ones. The file is memory only and goes with its owner.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "wire/segment.hpp"

namespace heapledger::testing {

class segment_builder {
 public:
  segment_builder() {
    header.magic = wire::segment_magic;
    header.version = wire::segment_version;
    header.header_size = wire::header_bytes;
    header.pid = 4194304 + 1;  // above the kernel's limit: no such process
    header.state = wire::lifecycle::running;
    header.start_monotonic_ns = 1'000'000'000;
    header.start_realtime_ns = 1'700'000'000'000'000'000;
    header.tag_bytes_each = 8;
    header.peak_epoch = 1;
    header.exe = text("/usr/bin/program");
    header.command = text(std::string_view("program\0-x\0two words", 20));
    header.command_bytes = 20;
    nodes.resize(1);
    places.resize(1);
    add_account(0);
    threads.resize(1);
  }

  std::uint32_t text(std::string_view value) {
    const auto at = static_cast<std::uint32_t>(strings.size());
    strings.append(value).push_back('\0');
    return at;
  }
  std::uint32_t add_module(std::uint64_t start, std::uint64_t end, std::uint64_t bias, std::string_view path) {
    wire::module module{};
    module.start = start;
    module.end = end;
    module.bias = bias;
    module.path = text(path);
    modules.push_back(module);
    return static_cast<std::uint32_t>(modules.size());  // index + 1, as in place.where
  }
  std::uint32_t add_node(std::uint32_t parent, std::uint64_t address, std::uint64_t module = 0) {
    places.push_back({.where = address | (module << wire::place_module_shift)});
    nodes.push_back({.place = static_cast<std::uint32_t>(places.size() - 1), .parent = parent});
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  std::uint32_t add_account(std::uint32_t node) {
    accounts.push_back({});
    account_keys.push_back({.node = node, .scope = 0, .shared = 0, .owner = 0, .path = 0});
    return static_cast<std::uint32_t>(accounts.size() - 1);
  }
  std::uint32_t add_scope(std::uint32_t parent, std::string_view name) {
    wire::scope scope{};
    scope.name = text(name);
    scope.parent = parent;
    for (auto& limit : scope.limit) limit = -1;
    scopes.push_back(scope);
    return static_cast<std::uint32_t>(scopes.size() - 1);
  }
  wire::error& add_error(wire::error_kind kind, std::uint32_t account, std::uint64_t count) {
    auto& error = errors.emplace_back();
    error.kind = kind;
    error.account = account;
    error.count = count;
    return error;
  }
  // A cell of another writer.
  wire::cell& add_cell(std::uint32_t account) {
    cells.push_back({});
    cells.back().id = account + 1;
    return cells.back();
  }
  wire::thread& add_thread(std::uint32_t tid, std::string_view name) {
    wire::thread thread{};
    thread.tid = tid;
    thread.state = wire::thread_state::running;
    name.copy(thread.name, sizeof thread.name - 1);
    threads.push_back(thread);
    return threads.back();
  }

  // The bytes of the file; places and counts come from the vectors, each region with some room to spare.
  std::string bytes() {
    std::string file(wire::header_bytes, '\0');
    header.node_count = place(file, header.nodes, nodes);
    header.place_count = place(file, header.places, places);
    header.account_count = place(file, header.accounts, accounts);
    place(file, header.account_keys, account_keys);
    header.cell_count = place(file, header.cells, cells);
    header.thread_count = place(file, header.threads, threads);
    header.writer_count = place(file, header.writers, writers);
    header.module_count = place(file, header.modules, modules);
    header.string_bytes = place(file, header.strings, strings);
    header.error_count = place(file, header.errors, errors);
    header.scope_count = place(file, header.scopes, scopes);
    header.marker_count = place(file, header.markers, markers);
    header.snapshot_bytes = place(file, header.snapshots, snapshots);
    header.pool_kind_count = place(file, header.pool_kinds, pool_kinds);
    header.pool_count = place(file, header.pools, pools);
    header.pool_site_count = place(file, header.pool_sites, pool_sites);
    place(file, header.watch_marks, watch_marks);
    header.watch_asked.suspect_count = place(file, header.watch_suspects, watch_suspects);
    header.watch.slot_count = place(file, header.watch_slots, watch_slots);
    place(file, header.watch_arms, watch_arms);
    header.freer_count = place(file, header.freers, freers);
    header.mapping_site_count = place(file, header.mapping_sites, mapping_sites);
    header.mapping_count = place(file, header.mappings, mappings);
    writer_books.resize(writers.size());
    place(file, header.writer_books, writer_books);
    // Where lives were timed there is an element for each writer and account; else no room for any.
    if (!account_lifetimes.empty()) writer_lifetimes.resize(writers.size());
    if (!account_lifetimes.empty()) account_lifetimes.resize(accounts.size());
    place(file, header.writer_lifetimes, writer_lifetimes);
    place(file, header.account_lifetimes, account_lifetimes);
    if (account_lifetimes.empty()) header.writer_lifetimes.capacity = header.account_lifetimes.capacity = 0;
    header.file_bytes = file.size();
    if (change_header != nullptr) change_header(header);
    std::memcpy(file.data(), &header, sizeof header);
    return file;
  }

  wire::segment_header header{};
  std::vector<wire::node> nodes;
  std::vector<wire::place> places;
  std::vector<wire::cell> accounts;
  std::vector<wire::account_key> account_keys;
  std::vector<wire::cell> cells;
  std::vector<wire::thread> threads;
  std::vector<wire::writer> writers;
  std::vector<wire::module> modules;
  std::vector<wire::error> errors;
  std::vector<wire::scope> scopes = {wire::scope{}};
  std::vector<wire::marker> markers;
  std::vector<wire::pool_kind> pool_kinds;
  std::vector<wire::pool> pools;
  std::vector<wire::pool_site> pool_sites;
  std::vector<wire::mapping_site> mapping_sites;
  std::vector<wire::mapping> mappings;
  std::vector<std::uint32_t> watch_marks;
  std::vector<wire::watch_suspect> watch_suspects;
  std::vector<wire::watch_slot> watch_slots;
  std::vector<wire::watch_arm> watch_arms;
  std::vector<wire::freer> freers = {wire::freer{}};
  std::vector<wire::writer_book> writer_books;
  std::vector<wire::writer_lifetimes> writer_lifetimes;
  std::vector<wire::account_lifetimes> account_lifetimes;
  std::string strings;
  std::string snapshots;
  void (*change_header)(wire::segment_header&) = nullptr;  // the last word before the header is written

 private:
  template <class Container>
  static std::uint32_t place(std::string& file, wire::region& region, const Container& elements) {
    constexpr std::size_t page_bytes = 4096;
    const std::size_t bytes = elements.size() * sizeof elements[0];
    region.offset = file.size();
    file.resize((file.size() + bytes + 2 * page_bytes) / page_bytes * page_bytes);
    region.capacity = (file.size() - region.offset) / sizeof elements[0];
    if (bytes != 0) std::memcpy(file.data() + region.offset, elements.data(), bytes);
    return static_cast<std::uint32_t>(elements.size());
  }
};

// A file in memory with these bytes, reachable by its path while this lives.
class memory_file {
 public:
  explicit memory_file(std::string_view bytes) : fd_(::memfd_create("segment", MFD_CLOEXEC)) {
    if (::ftruncate(fd_, static_cast<off_t>(bytes.size())) != 0 ||
        ::pwrite(fd_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      ::abort();
  }
  ~memory_file() { ::close(fd_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  std::string path() const { return "/dev/fd/" + std::to_string(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace heapledger::testing
