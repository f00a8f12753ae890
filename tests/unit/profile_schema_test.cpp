// The published schema against the code, with protoc as the judge: what we write it must read, field by field, and
// what it writes we must read. The golden file keeps later versions honest: they must read what this one wrote.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "full_profile.hpp"
#include "temporary_folder.hpp"
#include "tool/profile/container.hpp"
#include "tool/profile/payload.hpp"
#include "tool/profile/read.hpp"
#include "tool/profile/write.hpp"

namespace heapledger {
namespace {

const std::string source = HEAPLEDGER_SOURCE_DIR;
const std::string golden = source + "/tests/unit/data/profile_v1";

// Runs protoc with the schema; `mode` is --decode or --encode.
std::string protoc(const std::string& mode, const std::string& input) {
  const temporary_folder folder;
  std::ofstream(folder / "in", std::ios::binary) << input;
  const std::string command = "protoc --proto_path='" + source + "/src/tool/profile' " + mode +
                              "=heapledger.Profile heapledger.proto < '" + folder / "in" + "' > '" + folder / "out'";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command;
  return contents(folder / "out");
}

TEST(profile_schema, protoc_reads_what_we_write) {
  EXPECT_EQ(protoc("--decode", format::encode(full_profile())), contents(golden + ".txt"));
}

TEST(profile_schema, we_read_what_protoc_writes) {
  EXPECT_EQ(format::decode(protoc("--encode", contents(golden + ".txt"))), full_profile());
}

// docs/profile-format.md shows how to get at the payload: 40 bytes, then zstd.
TEST(profile_schema, the_file_is_header_and_frame) {
  const std::string file = format::pack("payload");
  EXPECT_EQ(file.substr(0, 8), "\x89HLP\r\n\x1a\n");
  EXPECT_EQ(file.substr(8, 16), std::string("\1\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(file.substr(40, 4), "\x28\xb5\x2f\xfd");
}

// HEAPLEDGER_WRITE_GOLDEN=1 writes the file anew, for a new format version only.
TEST(profile_golden, still_reads_format_1) {
  if (std::getenv("HEAPLEDGER_WRITE_GOLDEN") != nullptr) write_profile(full_profile(), golden + ".hlp", true);
  profile written_then = full_profile();
  for (auto& module : written_then.modules) module.symbol_advice.clear();  // came later
  for (auto& place : written_then.locations) place.lacks_rule = false;
  written_then.errors = {{"double-free", 1, 2}, {"overflow", 3, 1}};
  written_then.scopes.clear();  // and so did these
  written_then.pools.clear();
  written_then.markers.clear();
  written_then.snapshots.clear();
  written_then.leaks.reset();
  written_then.freers.clear();
  written_then.thread_shares.clear();
  written_then.scope_timeline.clear();
  written_then.stack_timeline.clear();
  written_then.process.lives_timed = false;
  written_then.lifetimes.clear();
  written_then.mapped.reset();
  written_then.uncounted.clear();
  written_then.memory->other_bytes += std::exchange(written_then.memory->mapped_bytes, 0);
  for (auto& stack : written_then.stacks) {
    stack.thread = none;
    stack.count.life = {};
  }
  EXPECT_EQ(read_profile(golden + ".hlp"), written_then);
}

}  // namespace
}  // namespace heapledger
