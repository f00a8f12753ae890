// Every field of the payload with its number, once, for both directions: the twin of heapledger.proto.
//
// fields(archive, object) names each member to the archive. archive(number, member) stores or loads it;
// archive.table(number, ...) holds columns: one packed field for each member of all rows. A number is never given a
// second meaning; a new member gets a new number, and old readers skip it.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "tool/profile/columns.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::format {

template <class T, class U>
concept is = std::same_as<std::remove_const_t<T>, U>;

// Scopes form a tree as stacks do. Scope 0 is the whole process and is not in the table: entry i is scope i + 1.
struct scope_entry {
  std::string name;
  std::uint32_t parent = 0;
};

// A scope_info without its path: `scope` as in stacks.
struct scope_row {
  std::uint32_t scope = 0;
  scope_info info;
};

// A freer_info without its paths.
struct freer_row {
  std::uint32_t owner = 0;
  std::uint32_t by = 0;
  freer_info info;
};

// The lives of one stack.
struct life_row {
  std::uint32_t stack = 0;  // index into stacks
  lives life;
};

// What the file keeps flat where the model has a vector in each row.
struct flat_columns {
  std::vector<scope_entry> scopes;
  std::vector<scope_row> scope_rows;
  std::vector<freer_row> freer_rows;
  std::vector<life_row> life_rows;
  std::vector<std::uint32_t> stack_scopes;   // a row for each stack
  std::vector<std::uint32_t> symbol_counts;  // a row for each location
  std::vector<std::uint32_t> symbols;        // of all locations, one after the other
};

// What a column holds of its row, beside a plain member.
inline constexpr auto itself = [](auto& row) -> auto& {
  return row;
};
template <class Member>
auto counted(Member counters::*member) {
  return [member](auto& stack) -> auto& {
    return stack.count.*member;
  };
}

template <class Member>
auto changed(Member counters::*member) {
  return [member](auto& change) -> auto& {
    return change.by.*member;
  };
}

void fields(auto& archive, is<process_info> auto& p) {
  archive(1, p.pid);
  archive(2, p.parent_pid);
  archive(3, p.exe);
  archive(4, p.command);
  archive(5, p.start_realtime_ns);
  archive(6, p.duration_ns);
  archive(7, p.ended);
  archive(8, p.exit_code);
  archive(9, p.signal);
  archive(10, p.forked);
  archive(11, p.stacks);
  archive(12, p.depth_limit);
  archive(13, p.host);
  archive(14, p.lives_timed);
  archive(15, p.replaced);
  archive(16, p.attached_after_ns);
  archive(17, p.detached);
}

void fields(auto& archive, is<peak_info> auto& p) {
  archive(1, p.error_bytes);
  archive(2, p.time_ns);
}

void fields(auto& archive, is<module_info> auto& m) {
  archive(1, m.start);
  archive(2, m.end);
  archive(3, m.bias);
  archive(4, m.path);
  archive(5, m.build_id);
  archive(6, m.loaded_ns);
  archive(7, m.unloaded_ns);
  archive(8, m.symbol_advice);
}

void fields(auto& archive, is<thread_info> auto& t) {
  archive(1, t.tid);
  archive(2, t.name);
  archive(3, t.start_ns);
  archive(4, t.end_ns);
  archive(5, t.allocations);
  archive(6, t.frees);
  archive(7, t.allocated_bytes);
  archive(8, t.freed_bytes);
}

void fields(auto& archive, is<size_bucket> auto& b) {
  archive(1, b.from);
  archive(2, b.to);
  archive(3, b.allocations);
}

void fields(auto& archive, is<lifetime_bucket> auto& b) {
  archive(1, b.from_ns);
  archive(2, b.to_ns);
  archive(3, b.frees);
  archive(4, b.freed_bytes);
}

void fields(auto& archive, is<pool_site> auto& s) {
  archive(1, s.node);
  archive(2, s.allocations);
  archive(3, s.allocated_bytes);
  archive(4, s.frees);
  archive(5, s.freed_bytes);
}

void fields(auto& archive, is<pool_info> auto& p) {
  archive(1, p.name);
  archive(2, p.chunk_bytes);
  archive(3, p.opened);
  archive(4, p.closed);
  archive(5, p.allocations);
  archive(6, p.frees);
  archive(7, p.allocated_bytes);
  archive(8, p.pages);
  archive(9, p.page_bytes);
  archive(10, p.peak_page_bytes);
  archive(11, p.arenas);
  archive(12, p.sizes);
  archive(13, p.sites);
}

void fields(auto& archive, is<mapped_site> auto& s) {
  archive(1, s.node);
  archive(2, s.kind);
  archive(3, s.calls);
  archive(4, s.mapped_bytes);
  archive(5, s.unmapped_bytes);
  archive(6, s.ranges);
  archive(7, s.resident_bytes);
  archive(8, s.most_resident_bytes);
}

void fields(auto& archive, is<mapped_info> auto& m) {
  archive(1, m.peak_bytes);
  archive(2, m.seen_ns);
  archive(3, m.sites);
}

void fields(auto& archive, is<memory_map> auto& m) {
  archive(1, m.time_ns);
  archive(2, m.rss_bytes);
  archive(3, m.live_bytes);
  archive(4, m.tag_bytes);
  archive(5, m.profiler_bytes);
  archive(6, m.allocator_bytes);
  archive(7, m.file_bytes);
  archive(8, m.stack_bytes);
  archive(9, m.other_bytes);
  archive(10, m.mapped_bytes);
}

void fields(auto& archive, is<marker_info> auto& m) {
  archive(1, m.name);
  archive(2, m.time_ns);
  archive(3, m.live_bytes);
  archive(4, m.live_blocks);
  archive(5, m.snapshot);
}

void columns(auto& table, is<std::vector<stack_change>> auto& rows) {
  table.column(1, rows, &stack_change::stack, delta{});
  table.column(2, rows, changed(&counters::allocations), signed_plain{});
  table.column(3, rows, changed(&counters::allocated_bytes), signed_plain{});
  table.column(4, rows, changed(&counters::frees),
               left_of{[&rows](std::size_t row) { return rows[row].by.allocations; }});
  table.column(5, rows, changed(&counters::freed_bytes),
               left_of{[&rows](std::size_t row) { return rows[row].by.allocated_bytes; }});
  table.column(6, rows, changed(&counters::temporaries), signed_plain{});
  table.column(7, rows, changed(&counters::reallocations), signed_plain{});
  table.column(8, rows, changed(&counters::peak_bytes), signed_plain{});
}

void fields(auto& archive, is<snapshot_info> auto& s) {
  archive.table(1, [&](auto& table) { columns(table, s.changes); });
}

void fields(auto& archive, is<error_entry> auto& e) {
  archive(1, e.kind);
  archive(2, e.stack);
  archive(3, e.count);
  archive(4, e.freed_node);
  archive(5, e.allocated_by);
  archive(6, e.freed_by);
}

void fields(auto& archive, is<uncounted_info> auto& u) {
  archive(1, u.path);
  archive(2, u.reason);
  archive(3, u.times);
}

void fields(auto& archive, is<profiler_info> auto& p) {
  archive(1, p.segment_bytes);
  archive(2, p.private_bytes);
  archive(3, p.tag_bytes);
  archive(4, p.accounts);
  archive(5, p.nodes);
  archive(6, p.inherited_freed_bytes);
  archive(7, p.checked_stacks);
  archive(8, p.checked_differences);
  archive(9, p.losses);
}

void fields(auto& archive, is<leak_entry> auto& l) {
  archive(1, l.stack);
  archive(2, l.verdict);
  archive(3, l.witnesses);
  archive(4, l.bytes);
  archive(5, l.bytes_low);
  archive(6, l.bytes_high);
  archive(7, l.bytes_per_hour);
  archive(8, l.bytes_per_hour_low);
  archive(9, l.bytes_per_hour_high);
  archive(10, l.blocks);
  archive(11, l.oldest_age_ns);
  archive(12, l.sampled);
  archive(13, l.untouched);
  archive(14, l.least_bytes);
  archive(15, l.most_bytes);
  archive(16, l.growth_stopped);
  archive(17, l.pool);
  archive(18, l.node);
}

void fields(auto& archive, is<reachability_info> auto& r) {
  archive(1, r.blocks);
  archive(2, r.unreachable);
  archive(3, r.stopped_ns);
  archive(4, r.searched_bytes);
  archive(5, r.obstacle);
}

void fields(auto& archive, is<leak_info> auto& l) {
  archive(1, l.since_realtime_ns);
  archive(2, l.duration_ns);
  archive(3, l.watched);
  archive(4, l.acquitted);
  archive(5, l.taken_back);
  archive(6, l.entries);
  archive(7, l.losses);
  archive(8, l.reachability);
  archive(9, l.obstacle);
}

void fields(auto& archive, is<scope_entry> auto& s) {
  archive(1, s.name);
  archive(2, s.parent);
}

void fields(auto& archive, is<scope_row> auto& s) {
  archive(1, s.scope);
  archive(2, s.info.opened);
  archive(3, s.info.closed);
  archive(4, s.info.refusals);
  archive(5, s.info.overdrafts);
  archive(6, s.info.peak_bytes);
  archive(7, s.info.live_bytes_limit);
  archive(8, s.info.allocated_bytes_limit);
  archive(9, s.info.allocations_limit);
}

void fields(auto& archive, is<freer_row> auto& s) {
  archive(1, s.owner);
  archive(2, s.by);
  archive(3, s.info.frees);
  archive(4, s.info.freed_bytes);
  archive(5, s.info.late_frees);
  archive(6, s.info.late_bytes);
}

void columns(auto& table, is<std::vector<frame_info>> auto& rows) {
  table.column(1, rows, &frame_info::function, optional_index<delta>{});
  table.column(2, rows, &frame_info::file, optional_index<delta>{});
  table.column(3, rows, &frame_info::line, plain{});
}

void columns(auto& table, is<std::vector<location>> auto& rows, auto& flat) {
  table.column(1, rows, &location::address, delta{});
  table.column(2, rows, &location::module, optional_index<plain>{});
  table.column(3, flat.symbol_counts, itself, plain{});
  table.list(4, flat.symbols, delta{});
  table.column(5, rows, &location::lacks_rule, plain{});
}

void columns(auto& table, is<std::vector<stack_node>> auto& rows) {
  table.column(1, rows, &stack_node::parent, distance{});
  table.column(2, rows, &stack_node::location, optional_index<delta>{});
}

void columns(auto& table, is<std::vector<stack_entry>> auto& rows, auto& flat) {
  table.column(1, rows, &stack_entry::id, delta{});
  table.column(2, rows, &stack_entry::node, delta{});
  table.column(3, flat.stack_scopes, itself, plain{});
  table.column(4, rows, counted(&counters::allocations), plain{});
  table.column(5, rows, counted(&counters::allocated_bytes), plain{});
  table.column(6, rows, counted(&counters::frees),
               left_of{[&rows](std::size_t row) { return rows[row].count.allocations; }});
  table.column(7, rows, counted(&counters::freed_bytes),
               left_of{[&rows](std::size_t row) { return rows[row].count.allocated_bytes; }});
  table.column(8, rows, counted(&counters::temporaries), plain{});
  table.column(9, rows, counted(&counters::reallocations), plain{});
  table.column(10, rows, counted(&counters::peak_bytes), signed_plain{});
  table.column(11, rows, &stack_entry::thread, optional_index<plain>{});
}

void columns(auto& table, is<std::vector<thread_share>> auto& rows) {
  table.column(1, rows, &thread_share::stack, delta{});
  table.column(2, rows, &thread_share::thread, delta{});
  table.column(3, rows, &thread_share::allocations, plain{});
  table.column(4, rows, &thread_share::allocated_bytes, plain{});
  table.column(5, rows, &thread_share::temporaries, plain{});
}

void columns(auto& table, is<std::vector<timeline_point>> auto& rows) {
  table.column(1, rows, &timeline_point::time_ns, delta{});
  table.column(2, rows, &timeline_point::live_bytes, delta{});
  table.column(3, rows, &timeline_point::live_blocks, delta{});
  table.column(4, rows, &timeline_point::allocations, delta{});
  table.column(5, rows, &timeline_point::rss_bytes, delta{});
}

void columns(auto& table, is<std::vector<scope_moment>> auto& rows) {
  table.column(1, rows, &scope_moment::scope, delta{});
  table.column(2, rows, &scope_moment::time_ns, delta{});
  table.column(3, rows, &scope_moment::live_bytes, delta{});
}

void columns(auto& table, is<std::vector<stack_moment>> auto& rows) {
  table.column(1, rows, &stack_moment::stack, delta{});
  table.column(2, rows, &stack_moment::time_ns, delta{});
  table.column(3, rows, &stack_moment::live_bytes, delta{});
}

template <class Part>
auto lived(time_sum lives::*sum, Part time_sum::*part) {
  return [=](auto& row) -> auto& {
    return row.life.*sum.*part;
  };
}
template <class Member>
auto of_life(Member lives::*member) {
  return [member](auto& row) -> auto& {
    return row.life.*member;
  };
}

void columns(auto& table, is<std::vector<life_row>> auto& rows) {
  table.column(1, rows, &life_row::stack, delta{});
  table.column(2, rows, of_life(&lives::ended), plain{});
  table.column(3, rows, lived(&lives::lived, &time_sum::seconds), plain{});
  table.column(4, rows, lived(&lives::lived, &time_sum::ns), plain{});
  table.column(5, rows, of_life(&lives::unended), plain{});
  table.column(6, rows, lived(&lives::born, &time_sum::seconds), plain{});
  table.column(7, rows, lived(&lives::born, &time_sum::ns), plain{});
}

void fields(auto& archive, is<profile> auto& p, auto& flat) {
  archive(1, p.process);
  archive(2, p.peak);
  archive(3, p.symbolized);
  archive(4, p.strings);
  archive.table(5, [&](auto& table) { columns(table, p.frames); });
  archive(6, p.modules);
  archive.table(7, [&](auto& table) { columns(table, p.locations, flat); });
  archive.table(8, [&](auto& table) { columns(table, p.nodes); });
  archive(9, flat.scopes);
  archive.table(10, [&](auto& table) { columns(table, p.stacks, flat); });
  archive(11, p.threads);
  archive(12, p.sizes);
  archive.table(13, [&](auto& table) { columns(table, p.timeline); });
  archive(14, p.memory);
  archive(15, p.memory_peak);
  archive(16, p.errors);
  archive(17, p.profiler);
  archive(18, flat.scope_rows);
  archive(19, p.markers);
  archive(20, p.snapshots);
  archive(21, p.pools);
  archive(22, p.leaks);
  archive.table(23, [&](auto& table) { columns(table, p.thread_shares); });
  archive(24, flat.freer_rows);
  archive.table(25, [&](auto& table) { columns(table, p.scope_timeline); });
  archive(26, p.lifetimes);
  archive.table(27, [&](auto& table) { columns(table, flat.life_rows); });
  archive(28, p.mapped);
  archive(29, p.uncounted);
  archive.table(30, [&](auto& table) { columns(table, p.stack_timeline); });
}

}  // namespace heapledger::format
