// The tree of stacks, its indexes and the table of rules, which all threads share, against plain maps.
#include "probe/publish/stack_tree.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <latch>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../probe_world.hpp"
#include "probe/unwind/rule_cache.hpp"

namespace heapledger::probe {
namespace {

using stack = std::vector<std::uint64_t>;

struct code_range {
  std::string of;  // part of the module's path; nothing is the program itself, which comes first
  std::uint64_t start = 0, bytes = 0;
};
code_range code_of(const std::string& name) {
  code_range found{name};
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* to) {
        auto& range = *static_cast<code_range*>(to);
        if (std::string(module->dlpi_name).find(range.of) == std::string::npos) return 0;
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          const auto& part = module->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          range.start = module->dlpi_addr + part.p_vaddr;
          range.bytes = part.p_memsz;
        }
        return 1;
      },
      &found);
  return found;
}
const code_range& own_code() {
  static const code_range own = code_of("");
  return own;
}

std::vector<std::uint32_t> nodes_of(const stack& pcs) {
  std::vector<stack_step> steps;
  std::uint64_t path = root_path;
  for (const std::uint64_t pc : pcs) steps.push_back({pc, path = path_below(path, pc)});
  std::vector<std::uint32_t> nodes(pcs.size());
  tree.prefetch(pcs.back());
  tree.descend(0, steps.data(), nodes.data(), static_cast<std::uint32_t>(pcs.size()));
  return nodes;
}

stack random_stack(std::mt19937& random) {
  stack pcs(1 + random() % stack_tree::descend_limit);
  for (std::size_t depth = 0; depth < pcs.size(); ++depth)
    pcs[depth] = own_code().start + 64 * (depth + 1) + random() % 3 * 16;
  return pcs;
}

void expect_right(const stack& pcs, const std::vector<std::uint32_t>& nodes) {
  for (std::size_t i = 0; i < pcs.size(); ++i) {
    const wire::node& node = segment.nodes[nodes[i]];
    ASSERT_EQ(node.parent, i == 0 ? 0 : nodes[i - 1]);
    const std::uint64_t where = segment.places[node.place].where;
    ASSERT_EQ(where & wire::place_address_mask, pcs[i]);
    ASSERT_NE(where >> wire::place_module_shift, 0u);
  }
}

TEST(stack_tree, one_node_for_each_stack_whoever_adds_it_and_however_the_index_grows) {
  begin_probe_world("stack_tree");
  constexpr unsigned thread_count = 4, stacks_each = 4000;
  std::array<std::map<stack, std::uint32_t>, thread_count> seen;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t)
    threads.emplace_back([&seen, t] {
      std::mt19937 random(t / 2);  // two and two the same
      for (unsigned i = 0; i < stacks_each; ++i) {
        const stack pcs = random_stack(random);
        const auto nodes = nodes_of(pcs);
        expect_right(pcs, nodes);
        for (std::size_t depth = 1; depth <= pcs.size(); ++depth) {
          const auto [known, added] = seen[t].try_emplace({pcs.begin(), pcs.begin() + depth}, nodes[depth - 1]);
          ASSERT_EQ(known->second, nodes[depth - 1]);
        }
      }
    });
  for (std::thread& each : threads) each.join();
  std::map<stack, std::uint32_t> all;
  for (const auto& of_thread : seen)
    for (const auto& [pcs, node] : of_thread) ASSERT_EQ(all.try_emplace(pcs, node).first->second, node);
  EXPECT_EQ(segment.header->node_count, all.size() + 1);
  EXPECT_GT(all.size(), 30'000u);
}

TEST(stack_tree, what_is_appended_stands_beside_what_is_descended) {
  begin_probe_world("stack_tree");
  constexpr unsigned thread_count = 4, stacks_each = 4000;
  std::array<std::vector<std::pair<stack, std::uint32_t>>, thread_count> added;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t)
    threads.emplace_back([&added, t] {
      std::mt19937 random(t);
      for (unsigned i = 0; i < stacks_each; ++i) {
        const stack pcs = random_stack(random);
        if (t % 2 == 0) nodes_of(pcs);
        const auto outer = random() % pcs.size();  // so much of it has its nodes already
        const std::uint32_t parent =
            outer == 0 ? 0 : nodes_of({pcs.begin(), pcs.begin() + static_cast<std::ptrdiff_t>(outer)}).back();
        const std::uint32_t node = tree.append(parent, &pcs[outer], static_cast<std::uint32_t>(pcs.size() - outer));
        ASSERT_NE(node, 0u);
        added[t].emplace_back(pcs, node);
      }
    });
  for (std::thread& each : threads) each.join();
  std::set<std::uint64_t> places;
  for (std::uint32_t i = 1; i < segment.header->place_count; ++i)
    ASSERT_TRUE(places.insert(segment.places[i].where & wire::place_address_mask).second) << "twice";
  for (const auto& of_thread : added)
    for (const auto& [pcs, innermost] : of_thread) {
      std::uint32_t node = innermost;
      for (auto pc = pcs.rbegin(); pc != pcs.rend(); node = segment.nodes[node].parent, ++pc) {
        ASSERT_LT(segment.nodes[node].parent, node);
        ASSERT_EQ(segment.places[segment.nodes[node].place].where & wire::place_address_mask, *pc);
      }
      ASSERT_EQ(node, 0u);
    }
  // The index knows nothing of it, and is in order when unloaded code is forgotten.
  const std::uint64_t gone = own_code().start + 64;
  const auto stays = [gone](const auto& each) { return each.first.front() != gone; };
  const stack some = std::find_if(added[0].begin(), added[0].end(), stays)->first;
  const auto before = nodes_of(some), before_gone = nodes_of({gone});
  tree.retire(gone, gone + 15, 1);
  tree.follow_code(1);
  EXPECT_EQ(nodes_of(some), before);
  EXPECT_NE(nodes_of({gone}), before_gone);
  std::mt19937 random(99);
  for (int i = 0; i < 2000; ++i) {
    const stack pcs = random_stack(random);
    const auto nodes = nodes_of(pcs);
    ASSERT_EQ(nodes_of(pcs), nodes);
    expect_right(pcs, nodes);
  }
}

TEST(own_memory, pieces_of_several_threads_do_not_overlap) {
  constexpr unsigned thread_count = 4, pieces_each = 30'000;
  std::latch begin(thread_count);
  std::array<std::vector<std::uint32_t*>, thread_count> pieces;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      begin.arrive_and_wait();
      for (unsigned i = 0; i < pieces_each; ++i) {
        pieces[t].push_back(static_cast<std::uint32_t*>(own_piece(64 + i % 3 * 64)));
        *pieces[t].back() = t;
      }
    });
  for (std::thread& each : threads) each.join();
  for (unsigned t = 0; t < thread_count; ++t)
    for (const std::uint32_t* piece : pieces[t]) ASSERT_EQ(*piece, t);
}

TEST(id_index, threads_that_add_the_same_without_a_lock_agree) {
  begin_probe_world("id_index");
  constexpr unsigned thread_count = 4, hash_count = 30'000;
  static constexpr auto hash_of = [](std::uint32_t id) { return (id % hash_count + 1) * 0x9e3779b97f4a7c15u; };
  id_index index;
  ASSERT_TRUE(index.create());
  std::mutex lock;
  std::array<std::vector<std::uint32_t>, thread_count> found;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 1; i <= hash_count; ++i) {
        const std::uint32_t mine = t * hash_count + i;
        const std::uint64_t hash = hash_of(mine);
        const auto equal = [hash](std::uint32_t id) { return hash_of(id) == hash; };
        std::uint32_t has = index.add_unlocked(hash, mine, equal);
        if (has == 0) {
          const std::lock_guard held(lock);
          has = index.find_or_add(hash, mine, equal, hash_of);
        }
        found[t].push_back(has);
      }
    });
  for (std::thread& each : threads) each.join();
  for (unsigned t = 1; t < thread_count; ++t) EXPECT_EQ(found[t], found[0]);
  for (std::uint32_t i = 1; i <= hash_count; ++i) {
    const std::uint64_t hash = hash_of(i);
    ASSERT_EQ(index.find(hash, [hash](std::uint32_t id) { return hash_of(id) == hash; }), found[0][i - 1]);
  }
}

TEST(stack_tree, code_that_took_the_place_of_other_code_has_nodes_of_its_own) {
  begin_probe_world("stack_tree");
  const std::uint64_t start = own_code().start;
  const stack inside = {start + 0x1000, start + 0x2000, start + 0x3000}, outside = {start + 0x1000, start + 0x5000};
  const stack at_end = {start + 0x4000};  // to where its last call would return
  const auto before = nodes_of(inside), kept = nodes_of(outside), last = nodes_of(at_end);
  tree.retire(start + 0x2000, start + 0x4000, 1);
  EXPECT_NE(nodes_of(at_end), last);
  const auto after = nodes_of(inside);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NE(after[1], before[1]);
  EXPECT_NE(after[2], before[2]);
  EXPECT_EQ(nodes_of(outside), kept);
  std::mt19937 random;
  for (int i = 0; i < 1000; ++i) nodes_of(random_stack(random));  // the index grows
  EXPECT_EQ(nodes_of(inside), after);
}

TEST(stack_tree, code_that_comes_back_has_the_nodes_that_it_had) {
  begin_probe_world("stack_tree");
  const std::uint64_t start = own_code().start;
  const stack inside = {start + 0x1000, start + 0x2000, start + 0x3000}, outside = {start + 0x1000, start + 0x5000};
  const auto before = nodes_of(inside), kept = nodes_of(outside);
  const auto module = static_cast<std::uint32_t>(segment.places[1].where >> wire::place_module_shift) - 1;
  tree.retire(start + 0x2000, start + 0x2fff, 1);
  tree.follow_code(2);
  EXPECT_FALSE(tree.is_unloaded(before[0]));
  EXPECT_TRUE(tree.is_unloaded(before[1]));
  EXPECT_TRUE(tree.is_unloaded(before[2]));
  EXPECT_FALSE(tree.is_unloaded(kept[1]));
  const std::uint32_t first_other = segment.header->place_count;
  const auto other = nodes_of(inside);
  EXPECT_NE(other[1], before[1]);
  for (std::uint32_t i = first_other; i < segment.header->place_count; ++i)  // as if of another module
    segment.places[i].where ^= (std::uint64_t{module} + 1 ^ std::uint64_t{module} + 2) << wire::place_module_shift;
  tree.retire(start + 0x2000, start + 0x2fff, 1);
  tree.follow_code(1);
  EXPECT_TRUE(tree.is_unloaded(other[2]));
  tree.restore(module, 1);
  tree.follow_code(1);
  for (const std::uint32_t node : before) EXPECT_FALSE(tree.is_unloaded(node));
  const std::uint32_t places = segment.header->place_count;
  EXPECT_EQ(nodes_of(inside), before);
  EXPECT_EQ(nodes_of(outside), kept);
  EXPECT_EQ(segment.header->place_count, places);
}

TEST(stack_tree, a_library_loaded_again_and_again_does_not_make_the_index_grow) {
  begin_probe_world("stack_tree");
  const std::uint64_t start = own_code().start;
  const stack kept = {start + 0x1000, start + 0x5000};
  const auto kept_nodes = nodes_of(kept);
  std::uint64_t own_before = 0;
  for (int cycle = 0; cycle < 4000; ++cycle) {
    if (cycle == 1000) own_before = own_bytes();
    const auto fresh = nodes_of({start + 0x1000, start + 0x2000, start + 0x3000});
    ASSERT_EQ(fresh[0], kept_nodes[0]);
    tree.retire(start + 0x2000, start + 0x3fff, 1);
    tree.follow_code(1);
  }
  EXPECT_EQ(nodes_of(kept), kept_nodes);
  EXPECT_EQ(segment.header->node_count, 3u + 2 * 4000);
  EXPECT_LT(own_bytes() - own_before, 50u << 10);
}

// A frame so large that its rule does not fit the near table.
[[gnu::noinline]] int far_from_its_caller(int size) {
  volatile char room[1 << 17];
  for (int i = 0; i < size; ++i) room[i] = static_cast<char>(i);
  for (int i = 0; i < size; ++i) size -= room[i] & 1;
  return size;
}

TEST(rule_cache, says_what_the_tables_say_also_where_addresses_want_the_same_place) {
  begin_probe_world("rule_cache");
  EXPECT_LT(far_from_its_caller(100), 100);
  const code_range code = own_code();
  ASSERT_GT(code.bytes, std::uint64_t{3} << 16) << "no addresses with the same low 16 bits";
  const auto expect_all_right = [&] {
    for (std::uint64_t offset = 0; offset < code.bytes; offset += 4) {
      const std::uint64_t pc = code.start + offset;
      ASSERT_EQ(rules.find(pc).bits(), compile_rule(pc, true).bits()) << std::hex << offset;
    }
  };
  expect_all_right();
  expect_all_right();
}

TEST(rule_cache, forgets_the_rules_of_code_that_is_gone) {
  begin_probe_world("rule_cache");
  void* const library = dlopen("libresolv.so.2", RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const code_range code = code_of("libresolv");
  ASSERT_GT(code.bytes, 0u);
  // Some in the first places, some in second ones, and the last of all in near ones.
  for (std::uint64_t offset = 0; offset < own_code().bytes; offset += 4) rules.find(own_code().start + offset);
  for (std::uint64_t offset = 0; offset < code.bytes; ++offset) rules.find(code.start + offset);
  const std::uint64_t within = code.start + code.bytes / 2;
  const rule before = rules.find(within);
  dlclose(library);
  ASSERT_EQ(code_of("libresolv").bytes, 0u) << "still there";
  ASSERT_NE(before.bits(), compile_rule(within, true).bits());
  rules.forget(code.start, code.start + code.bytes);
  for (std::uint64_t pc = code.start + code.bytes; pc-- > code.start;)  // those that are in near places first
    ASSERT_EQ(rules.find(pc).bits(), compile_rule(pc, true).bits());
}

}  // namespace
}  // namespace heapledger::probe
