#include "probe/account/cells.hpp"

#include "probe/account/account_index.hpp"
#include "probe/account/tag.hpp"
#include "probe/account/watch_view.hpp"
#include "probe/base/lock.hpp"
#include "probe/publish/nodes.hpp"

namespace heapledger::probe {

constinit wire::cell no_cell = [] {
  wire::cell cell{};
  cell.peak_epoch = UINT32_MAX;
  return cell;
}();

namespace {

constexpr unsigned smallest_bits = 6;  // 64 cells: one page
constexpr unsigned largest_bits = 10;  // 1024 cells: 64 KiB a thread
constexpr unsigned bits_step = 2;
constexpr std::uint32_t shared_run = 64;

constinit std::uint32_t cells_lock = 0;
constinit std::uint32_t accounts_lock = 0;  // of the index
constinit std::uint32_t room_lock = 0;
constinit wire::cell* free_tables[largest_bits + 1] = {};  // linked by `allocations` of their first, free, cell
constinit std::uint32_t shared_next = 0;
constinit std::uint32_t shared_left = 0;

// Accounts outside of scopes that a block was moved to, by their nodes: their paths may have come to mean other code.
constinit id_index moved_out;
constinit bool moved_out_ready = false;

std::uint64_t node_hash(std::uint32_t node) {
  return (node + 1) * 0x9e3779b97f4a7c15u;
}

// What cannot be booked anywhere is added up here and counted as lost. The empty table points here too.
constinit wire::cell nowhere[2] = {};

wire::cell* take_run(std::uint32_t count) {
  wire::segment_header& header = *segment.header;
  const std::uint32_t first = header.cell_count;
  if (!commit(segment.cells, first + count)) return nullptr;
  __atomic_store_n(&header.cell_count, first + count, __ATOMIC_RELEASE);
  return &segment.cells[first];
}

wire::cell* take_table(unsigned bits) {
  lock_guard held(cells_lock);
  wire::cell* table = free_tables[bits];
  if (table == nullptr) return take_run(1u << bits);
  free_tables[bits] = reinterpret_cast<wire::cell*>(table->allocations);
  *table = {};
  return table;
}

void give_table(wire::cell* table, unsigned bits) {
  lock_guard held(cells_lock);
  table->allocations = reinterpret_cast<std::uint64_t>(free_tables[bits]);
  free_tables[bits] = table;
}

wire::cell* shared_cell(std::uint32_t account) {
  wire::account_key& key = segment.account_keys[account];
  if (key.shared != 0) return &segment.cells[key.shared - 1];
  lock_guard held(cells_lock);
  if (shared_left == 0) {
    wire::cell* run = take_run(shared_run);
    if (run == nullptr) return nullptr;
    shared_next = static_cast<std::uint32_t>(run - segment.cells.data);
    shared_left = shared_run;
  }
  --shared_left;
  wire::cell& cell = segment.cells[shared_next];
  cell.id = account + 1;
  key.shared = ++shared_next;
  return &cell;
}

// Moves a delta into its account's shared cell. The journal makes the move whole: until it says `valid` the move has
// not happened, and from then on it has, whatever of it a kill left undone.
bool fold(wire::cell& from) {
  const std::uint32_t account = from.id - 1;
  wire::fold_journal& journal = segment.header->folds[account % wire::fold_stripes];
  lock_guard held(journal.lock);
  wire::cell* to = shared_cell(account);
  if (to == nullptr) return false;
  // Once for both: the peak may move meanwhile, and what they held at different peaks is no sum.
  const std::uint32_t epoch = __atomic_load_n(&peak_epoch, __ATOMIC_RELAXED);
  settle_peak(from, epoch);
  settle_peak(*to, epoch);
  wire::cell& after = journal.after;
  after = *to;
  after.allocations += from.allocations;
  after.allocated_bytes += from.allocated_bytes;
  after.frees += from.frees;
  after.freed_bytes += from.freed_bytes;
  after.temporaries += from.temporaries;
  after.reallocations += from.reallocations;
  after.peak_bytes += from.peak_bytes;
  journal.source = static_cast<std::uint32_t>(&from - segment.cells.data);
  journal.destination = static_cast<std::uint32_t>(to - segment.cells.data);
  __atomic_store_n(&journal.state, wire::fold_state::valid, __ATOMIC_RELEASE);
  *to = after;
  from = {};
  __atomic_store_n(&journal.state, wire::fold_state::idle, __ATOMIC_RELEASE);
  return true;
}

unsigned table_bits(const books& own) {
  return 32 - own.delta_shift;
}

void use_table(books& own, wire::cell* table, unsigned bits) {
  own.deltas = table;
  own.delta_shift = 32 - bits;
  own.delta_count = 1u << bits;
  own.evictions = 0;
  const auto first = static_cast<std::uint64_t>(table - segment.cells.data);
  segment.writer_books[own.writer_id - 1].own_cells = std::uint64_t{own.delta_count} << 32 | first;
}

// A larger table for a thread whose table turned over. Nothing moves but by folds.
void grow_table(books& own) {
  const unsigned bits = own.delta_count == 0 ? smallest_bits : table_bits(own) + bits_step;
  if (bits > largest_bits) return;
  wire::cell* table = take_table(bits);
  if (table == nullptr) return;
  for (std::uint32_t i = 0; i < own.delta_count; ++i)
    if (own.deltas[i].id != 0 && !fold(own.deltas[i])) return give_table(table, bits);
  wire::cell* const smaller = own.deltas;
  const unsigned smaller_bits = own.delta_count == 0 ? 0 : table_bits(own);
  use_table(own, table, bits);
  if (smaller_bits != 0) give_table(smaller, smaller_bits);
}

wire::cell& lost_cell() {
  count_loss(wire::loss::cells_full);
  nowhere[1] = {};
  return nowhere[1];
}

}  // namespace

void reset_cells() {
  cells_lock = accounts_lock = room_lock = 0;
  for (wire::cell*& table : free_tables) table = nullptr;
  shared_next = shared_left = 0;
  moved_out_ready = false;
}

void no_deltas(books& own) {
  own.deltas = nowhere;
  own.delta_shift = 31;
  own.delta_count = 0;
}

bool is_lost(const wire::cell& cell) {
  return &cell == &nowhere[1];
}

HL_COLD wire::cell& delta_cell_slow(books& own, std::uint32_t account) {
  own.forget_recent();
  if (own.delta_count == 0 || own.evictions > own.delta_count) grow_table(own);
  if (own.delta_count == 0) return lost_cell();
  wire::cell& cell = own.deltas[delta_slot(own, account)];
  if (cell.id == account + 1) return cell;
  if (cell.id != 0) {
    ++own.evictions;
    if (!fold(cell)) return lost_cell();
  }
  cell.peak_epoch = peak_epoch;
  cell.id = account + 1;
  return cell;
}

namespace {

bool take_back_from(books& own, wire::cell& cell, std::size_t bytes, const void* last) {
  if (cell.frees == 0 || cell.freed_bytes < bytes) return false;
  settle_peak(cell);
  take_back_pair(cell.frees, bytes);
  if (last != nullptr && cell.temporaries != 0) {
    --cell.temporaries;
    own.last_block = last;
  }
  return true;
}

}  // namespace

void take_back_free(books& own, wire::cell& cell, std::uint32_t account, std::size_t bytes, const void* last) {
  if (!take_back_from(own, cell, bytes, last)) {
    // The cell in which it was booked may have been folded since. Where it is not in the shared one either, it was
    // lost.
    const lock_guard held(segment.header->folds[account % wire::fold_stripes].lock);
    if (const std::uint32_t shared = segment.account_keys[account].shared; shared != 0)
      take_back_from(own, segment.cells[shared - 1], bytes, last);
  }
  take_back_pair(own.thread->frees, bytes);
  own.live += static_cast<std::int64_t>(bytes);
}

namespace {

HL_COLD bool make_room(std::uint32_t count) {
  lock_guard held(room_lock);
  if (count <= tag::account_limit && commit(segment.accounts, count) && commit(segment.account_keys, count))
    return true;
  count_loss(wire::loss::accounts_full);
  return false;
}

// 0 when the table is full. Takes no lock; until the key is written the account is one of no stack, and empty.
std::uint32_t add_account(const wire::account_key& key) {
  std::uint32_t& total = segment.header->account_count;
  std::uint32_t fresh = __atomic_load_n(&total, __ATOMIC_RELAXED);
  do {
    // For one more, which account_of() may read.
    const bool room = is_committed(segment.accounts, fresh + 2) && is_committed(segment.account_keys, fresh + 2);
    if (HL_UNLIKELY(!room || fresh + 1 >= tag::account_limit) && !make_room(fresh + 2)) return 0;
  } while (!__atomic_compare_exchange_n(&total, &fresh, fresh + 1, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  wire::account_key& its_key = segment.account_keys[fresh];
  its_key.node = key.node;
  its_key.scope = key.scope;
  its_key.path = key.path;
  __atomic_store_n(&its_key.owner, key.owner, __ATOMIC_RELAXED);  // see is_own_account()
  // The next one's lines: by the time that it is made they are here.
  __builtin_prefetch(&segment.account_keys[fresh + 2], 1);
  __builtin_prefetch(&segment.accounts[fresh + 1], 1);
  segment.accounts[fresh].peak_epoch = peak_epoch;
  segment.accounts[fresh].id = wire::id_of_path(key.path);
  return fresh;
}

void count_cut(stack_cut cut) {
  switch (cut) {
    case stack_cut::none:
      return;
    case stack_cut::depth:
      return count_loss(wire::loss::stack_cut_depth);
    case stack_cut::no_rule:
      return count_loss(wire::loss::stack_cut_no_rule);
    case stack_cut::bounds:
      return count_loss(wire::loss::stack_cut_bounds);
  }
}

// Where the index has no place for it yet, or is not to be added to just now.
HL_COLD std::uint32_t index_account(std::uint64_t path, std::uint32_t account) {
  const lock_guard held(accounts_lock);
  const std::uint32_t has = accounts.find_or_add(path, account);
  if (has == 0) count_loss(wire::loss::accounts_full);
  return has;
}

HL_COLD std::uint32_t descend(books& own) {
  const signals_blocked quiet;
  return own.stack.node();
}

std::uint32_t recent_node(const books& own) {
  return own.recent_account < tag::account_limit ? segment.account_keys[own.recent_account].node : 0;
}

// A new account, unless another thread was faster. Mostly without a lock or a system call: in a large program each
// twentieth allocation may come this way.
HL_COLD std::uint32_t make_account(books& own, std::uint64_t path) {
  std::uint32_t node = own.stack.append_node(recent_node(own));
  if (HL_UNLIKELY(node == 0)) node = descend(own);
  const std::uint32_t fresh = add_account({node, 0, 0, own.writer_id, path});
  if (fresh == 0) return 0;
  std::uint32_t account = accounts.add_unlocked(path, fresh);
  if (HL_UNLIKELY(account == 0)) account = index_account(path, fresh);
  // Of what another thread made meanwhile ours stays beside it, mostly unused: while the index was being replaced a
  // third thread may have found ours.
  if (account == fresh) count_cut(own.stack.cut());
  return account;
}

}  // namespace

std::uint32_t add_scope_account(const wire::account_key& key, stack_cut cut) {
  const std::uint32_t fresh = add_account(key);
  if (fresh != 0) count_cut(cut);
  return fresh;
}

std::uint32_t account_outside_scopes(books& own, std::uint32_t node, std::uint64_t path) {
  // Not by the path alone: the code that it once meant may have been unloaded.
  const std::uint32_t known = accounts.find(path);
  if (known != 0 && same_stack(segment.account_keys[known].node, node)) return known;
  lock_guard held(accounts_lock);
  if (!moved_out_ready && !(moved_out_ready = moved_out.create())) return 0;
  const auto is = [node](std::uint32_t account) { return segment.account_keys[account].node == node; };
  if (const std::uint32_t mine = moved_out.find(node_hash(node), is); mine != 0) return mine;
  const std::uint32_t fresh = add_account({node, 0, 0, own.writer_id, path});
  const auto hash_of = [](std::uint32_t account) { return node_hash(segment.account_keys[account].node); };
  if (fresh != 0) moved_out.add(node_hash(node), fresh, hash_of);
  return fresh;
}

void follow_code_of_accounts(std::uint32_t first) {
  lock_guard held(accounts_lock);
  accounts.follow_code(first);
}

namespace {
HL_COLD account_cell suspect_cell(books& own, std::uint32_t account) {
  own.forget_recent();
  return {account, &no_cell};
}
}  // namespace

account_cell met_outside(books& own, std::uint64_t path) {
  const std::uint32_t account = own.recent.owned(path);
  wire::cell& cell = segment.accounts[account];
  if (account == 0 || cell.id != wire::id_of_path(path)) return {0, nullptr};
  return {account, &cell};
}

account_cell cell_of_others_account(books& own, std::uint32_t account) {
  wire::cell& cell = own.cell_of(account);
  return {account, is_lost(cell) ? nullptr : &cell};
}

account_cell look_up_account(books& own, std::uint64_t path) {
  if (HL_UNLIKELY(own.scopes != nullptr && in_scope(own))) {
    const account_cell found = scope_account_cell(own, path);
    return is_suspect(found.account) ? suspect_cell(own, found.account) : found;
  }
  const auto is_of_path = [path](std::uint32_t account) {
    return account == 0 || segment.account_keys[account].path == path;  // 0: the table is full
  };
  auto [account, standing] = own.recent.find(path, is_of_path);
  if (standing == recent_accounts::standing::none) {
    own.stack.prefetch_node();
    account = accounts.find(path);
    if (HL_UNLIKELY(account == 0)) account = make_account(own, path);
    look_at_watch();
    standing = is_suspect(account)                             ? recent_accounts::standing::suspect
               : segment.account_keys[account].owner == own.id ? recent_accounts::standing::owned
                                                               : recent_accounts::standing::others;
    own.recent.learn(path, {account, standing});
    if (standing != recent_accounts::standing::suspect) own.recent.missed(own.stack);
  }
  if (HL_UNLIKELY(standing == recent_accounts::standing::suspect)) return suspect_cell(own, account);
  wire::cell& cell = own.cell_of(account);
  if (HL_LIKELY(&cell != &nowhere[1])) {
    own.recent_account = account;
    own.recent_cell = &cell;
  } else {
    own.forget_recent();
  }
  return {account, &cell};
}

}  // namespace heapledger::probe
