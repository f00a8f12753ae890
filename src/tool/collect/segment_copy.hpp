// A segment file, copied and checked: nothing in it is used before its place, size and count are known to fit.
//
// The file may be hostile, torn, or still growing under its writer. It is read with pread only: a mapping would turn a
// file that somebody truncates into a SIGBUS of ours. Only what the counts say is used is read, at most
// `segment_read_limit` bytes. What the elements say (indices, text, numbers) is not checked here.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "tool/collect/unique_fd.hpp"
#include "wire/segment.hpp"

namespace heapledger::collect {

inline constexpr std::uint64_t segment_read_limit = std::uint64_t{1} << 30;

// In the session's directory none is followed: a profiled program may put anything there, also a link to what only we
// may open.
enum class links { followed, refused };

// An open segment whose header was checked once.
class segment_file {
 public:
  // Throws input_error. A file whose writer has not finished its header yet is not an error of the file: `is_ready`
  // tells it apart.
  explicit segment_file(const std::string& path, links how = links::followed);
  static bool is_ready(const std::string& path, links how = links::followed);

  const std::string& path() const { return path_; }
  const wire::segment_header& header() const { return header_; }  // as it was when opened
  int fd() const { return fd_.get(); }
  dev_t device() const { return device_; }
  ino_t inode() const { return inode_; }
  std::uint64_t resident_bytes() const;  // 0 when the file cannot be asked

  // Reads bytes, all or nothing.
  bool read_at(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  std::string path_;
  unique_fd fd_;
  wire::segment_header header_{};
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

struct segment_copy {
  std::string path;
  std::uint64_t resident_bytes = 0;
  wire::segment_header header{};
  std::vector<wire::node> nodes;
  std::vector<wire::place> places;
  std::vector<wire::cell> accounts;
  std::vector<wire::account_key> account_keys;  // as many as accounts
  std::vector<wire::cell> cells;
  std::vector<wire::thread> threads;
  std::vector<wire::writer> writers;
  std::vector<wire::module> modules;
  std::vector<wire::error> errors;
  std::vector<wire::scope> scopes;
  std::vector<wire::marker> markers;
  std::vector<wire::pool_kind> pool_kinds;
  std::vector<wire::pool> pools;
  std::vector<wire::pool_site> pool_sites;
  std::vector<wire::freer> freers;
  std::vector<wire::writer_book> writer_books;             // as many as writers
  std::vector<wire::writer_lifetimes> writer_lifetimes;    // as many, or none: lives were not timed
  std::vector<wire::account_lifetimes> account_lifetimes;  // as many as accounts, or none
  std::vector<wire::mapping_site> mapping_sites;
  std::vector<wire::mapping> mappings;
  std::string strings;
  std::string snapshots;
  std::string outside_markers;  // the bytes of the file beside it (collect/markers.hpp)

  std::string_view text(std::uint32_t offset) const;  // NUL-terminated; empty where out of bounds
};

// Copies the segment as it is now; with a live writer, again until no fold was under way meanwhile. Throws input_error.
segment_copy copy_segment(const segment_file& file);
// The same of the header, accounts and cells alone: what add_up() needs.
segment_copy copy_books(const segment_file& file);

// Brings an earlier copy of the same file up to date: books, threads, modules and scopes, and what the tables of stacks
// have got since. Histogram, errors and markers stay as they were.
void refresh_segment(const segment_file& file, segment_copy& copy);
// And what the program maps itself, as of that header.
void refresh_mappings(const segment_file& file, segment_copy& copy);

}  // namespace heapledger::collect
