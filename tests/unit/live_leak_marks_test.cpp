// What `top` believes of a segment's words about leaks.
#include "tool/live/leak_marks.hpp"

#include <gtest/gtest.h>

#include "segment_builder.hpp"

namespace heapledger::live {
namespace {

using heapledger::testing::memory_file;
using heapledger::testing::segment_builder;

TEST(live_leak_marks, of_a_hostile_segment) {
  segment_builder builder;
  builder.watch_suspects.resize(5);
  builder.watch_suspects[0].account = 1;
  builder.watch_suspects[0].verdict = wire::watch_verdict::leak;
  builder.watch_suspects[0].lost_bytes = ~std::uint64_t{0};
  builder.watch_suspects[1].account = 0x7fffffff;
  builder.watch_suspects[1].verdict = wire::watch_verdict::leak;
  builder.watch_suspects[1].lost_bytes = 5;
  builder.watch_suspects[2].account = 1;
  builder.watch_suspects[2].verdict = static_cast<wire::watch_verdict>(77);
  builder.watch_suspects[2].lost_bytes = 5;
  builder.watch_suspects[3].account = wire::watch_pool_site | 2;
  builder.watch_suspects[3].verdict = wire::watch_verdict::leak;
  builder.watch_suspects[3].lost_bytes = 7;
  builder.watch_suspects[4].account = 1;
  builder.watch_suspects[4].verdict = wire::watch_verdict::suspect;
  builder.watch_suspects[4].lost_bytes = 9;
  builder.change_header = [](wire::segment_header& header) { header.watch_asked.suspect_count = 0xffffffff; };
  const memory_file file(builder.bytes());
  const collect::segment_file segment(file.path());
  const auto books = collect::copy_segment(segment);
  profile nothing;
  const collect::scope_reader scopes(books, nothing);
  sample shown;
  shown.stacks = {{.id = 1, .name = {}, .count = {}, .rate = {}},
                  {.id = 0xffffffff, .name = {}, .count = {}, .rate = {}}};
  add_leak_marks(shown, segment, books, scopes);
  EXPECT_EQ(shown.leaks.places, 3u);
  if (books.account_keys.size() > 1) {
    ASSERT_TRUE(shown.stacks[0].leak);
    EXPECT_EQ(shown.stacks[0].leak->says, leak_verdict::leak);
    EXPECT_EQ(mark_text(shown.stacks[0]).substr(0, 5), "LEAK ");
  }
  EXPECT_FALSE(shown.stacks[1].leak);
  EXPECT_EQ(mark_text(shown.stacks[1]), "");
}

}  // namespace
}  // namespace heapledger::live
