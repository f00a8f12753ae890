// A file that was cut off, damaged or made to harm gives an input_error of one line; it never crashes the reader.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <fstream>
#include <protozero/pbf_writer.hpp>
#include <thread>

#include "full_profile.hpp"
#include "temporary_folder.hpp"
#include "tool/profile/container.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/payload.hpp"
#include "tool/profile/read.hpp"
#include "wire/segment.hpp"

namespace heapledger {
namespace {

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// What the reader says about a file; "" if it reads it.
std::string verdict(const std::string& file) {
  try {
    read_profile(bytes(file), "f");
    return "";
  } catch (const input_error& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    return error.what();
  }
}

std::string sample_file() {
  return format::pack(format::encode(full_profile()));
}

void put_u32(std::string& file, std::size_t offset, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) file[offset + i] = static_cast<char>(value >> (8 * i));
}

// Both checksums made right again, as whoever wants to do harm would.
std::string with_checksums(std::string file) {
  const auto crc = [&](std::size_t from, std::size_t count) {
    return static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(file.data() + from), static_cast<uInt>(count)));
  };
  put_u32(file, 32, crc(40, file.size() - 40));
  put_u32(file, 36, crc(0, 36));
  return file;
}

TEST(profile_damage, cut_off_at_every_byte) {
  const std::string file = sample_file();
  EXPECT_EQ(verdict(file), "");
  EXPECT_EQ(verdict(""), "f: the file is empty; give a profile that `heapledger run` wrote");
  for (std::size_t size = 1; size < file.size(); ++size) {
    EXPECT_NE(verdict(file.substr(0, size)).find("f: the profile is cut off: it has " + std::to_string(size) + " of"),
              std::string::npos)
        << verdict(file.substr(0, size));
  }
}

TEST(profile_damage, every_bit_flipped) {
  const std::string file = sample_file();
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const std::string expected = bit / 8 < 8    ? "not a heapledger profile"
                                 : bit / 8 < 16 ? "newer heapledger"
                                                : "the profile is damaged";
    const bool version_zero = bit == 64;
    EXPECT_NE(verdict(flipped).find(version_zero ? "the profile is damaged" : expected), std::string::npos)
        << "bit " << bit << ": " << verdict(flipped);
  }
}

// With right checksums the damage gets as far as zstd and the decoder. Some of it is a valid file, all of it is safe.
TEST(profile_damage, every_bit_flipped_behind_the_checksums) {
  const std::string file = sample_file();
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    verdict(with_checksums(flipped));
  }
  const std::string payload = format::encode(full_profile());
  for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
    std::string flipped = payload;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    verdict(format::pack(flipped));
  }
}

TEST(profile_damage, payload_cut_off_at_every_byte) {
  const std::string payload = format::encode(full_profile());
  for (std::size_t size = 0; size < payload.size(); ++size) verdict(format::pack(payload.substr(0, size)));
}

TEST(profile_damage, foreign) {
  EXPECT_EQ(verdict("#!/bin/sh\necho this is not a profile at all\n"),
            "f: not a heapledger profile; give a file that `heapledger run` wrote");
  EXPECT_NE(verdict("x").find("not a heapledger profile"), std::string::npos);
  EXPECT_NE(verdict(std::string(4096, '\0')).find("not a heapledger profile"), std::string::npos);
}

TEST(profile_damage, newer) {
  std::string file = sample_file();
  put_u32(file, 8, 2);
  const std::string expected =
      "f: the profile was written by a newer heapledger (format 2, this one reads up to 1); update heapledger";
  EXPECT_EQ(verdict(file), expected);
  EXPECT_EQ(verdict(file.substr(0, 16)), expected);
  file = sample_file();
  put_u32(file, 12, 4);
  EXPECT_EQ(verdict(with_checksums(file)),
            "f: the profile was written by a newer heapledger (format 1, flags 0x4, this one reads up to 1); "
            "update heapledger");
}

TEST(profile_damage, goes_on_after_its_end) {
  EXPECT_NE(verdict(sample_file() + "x").find("damaged: it goes on after its end at byte"), std::string::npos);
}

TEST(profile_damage, sizes_that_do_not_fit) {
  std::string file = sample_file();
  put_u32(file, 16, 12);
  EXPECT_NE(verdict(with_checksums(file)).find("differ in size"), std::string::npos);
  put_u32(file, 20, 1);
  EXPECT_NE(verdict(with_checksums(file)).find("more than 512 MiB of memory"), std::string::npos);
  file = sample_file();
  put_u32(file, 28, 1);
  EXPECT_NE(verdict(with_checksums(file)).find("more than 512 MiB of memory"), std::string::npos);
}

TEST(profile_file, says_which_file_and_why) {
  const auto said = [](const std::string& path) -> std::string {
    try {
      read_profile(path);
      return "";
    } catch (const input_error& error) {
      return error.what();
    }
  };
  const temporary_folder folder;
  EXPECT_EQ(said(folder / "none.hlp"), folder / "none.hlp" + ": cannot be opened (No such file or directory)");
  EXPECT_EQ(said(folder.path()), folder.path() + ": cannot be read (Is a directory)");
  std::ofstream(folder / "half.hlp", std::ios::binary) << sample_file().substr(0, 100);
  EXPECT_EQ(said(folder / "half.hlp").find(folder / "half.hlp" + ": the profile is cut off: it has 100 of "), 0U);
  std::ofstream(folder / "long.hlp", std::ios::binary) << sample_file() << "more";
  EXPECT_NE(said(folder / "long.hlp").find("it goes on after its end"), std::string::npos);
}

TEST(profile_file, reads_from_a_pipe) {
  const temporary_folder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << sample_file(); });
  EXPECT_EQ(read_profile(pipe), full_profile());
  writer.join();
}

TEST(profile_file, is_told_from_a_segment) {
  const std::string file = sample_file();
  EXPECT_TRUE(looks_like_profile(bytes(file)));
  EXPECT_TRUE(looks_like_profile(bytes(file.substr(0, 8))));
  EXPECT_FALSE(looks_like_profile(bytes(file.substr(0, 7))));
  EXPECT_FALSE(looks_like_profile({}));
  EXPECT_FALSE(looks_like_profile(std::as_bytes(std::span(&wire::segment_magic, 1))));
}

}  // namespace
}  // namespace heapledger
