#include "probe/unwind/cfi_reader.hpp"

namespace heapledger::probe::cfi {
namespace {

// The length field bounds the record; 64-bit DWARF does not occur in .eh_frame of any linker, and is refused.
bool record(const std::uint8_t* at, bytes within, bytes& out) {
  std::uint32_t length;
  if (at == nullptr || at < within.data || static_cast<std::size_t>(within.end - at) < 2 * sizeof length) return false;
  std::memcpy(&length, at, sizeof length);
  if (length < sizeof length || length >= 0xfffffff0u || length > static_cast<std::size_t>(within.end - at - 4))
    return false;
  out = {at + 4, at + 4 + length};
  return true;
}

bool read_common(const std::uint8_t* at, bytes within, function_entry& entry) {
  bytes body;
  if (!record(at, within, body)) return false;
  reader in(body);
  if (in.fixed<std::uint32_t>() != 0) return false;  // not a common information entry
  const auto version = in.fixed<std::uint8_t>();
  if (version != 1 && version != 3) return false;
  const char* augmentation = reinterpret_cast<const char*>(in.position());
  while (in.good() && in.fixed<char>() != 0) {
  }
  if (!in.good()) return false;
  entry.code_alignment = in.unsigned_leb();
  entry.data_alignment = in.signed_leb();
  entry.return_register = version == 1 ? in.fixed<std::uint8_t>() : static_cast<unsigned>(in.unsigned_leb());
  entry.pointer_encoding = 0;
  entry.signal_frame = false;
  entry.has_augmentation_data = *augmentation == 'z';
  if (entry.has_augmentation_data) {
    reader data(in.block(in.unsigned_leb()));
    for (const char* letter = augmentation + 1; *letter != 0; ++letter) {
      if (*letter == 'R')
        entry.pointer_encoding = data.fixed<std::uint8_t>();
      else if (*letter == 'P')
        data.pointer(data.fixed<std::uint8_t>() & 0x7f, 0);
      else if (*letter == 'L')
        data.fixed<std::uint8_t>();
      else if (*letter == 'S')
        entry.signal_frame = true;
      else
        break;  // what follows is covered by the length of the augmentation data
    }
  } else if (*augmentation != 0) {
    return false;
  }
  entry.initial = {in.position(), body.end};
  return in.good();
}

bool read_entry(const std::uint8_t* at, bytes within, function_entry& entry) {
  bytes body;
  if (!record(at, within, body)) return false;
  reader in(body);
  const std::uint8_t* back = in.position();
  const auto distance = in.fixed<std::uint32_t>();
  if (distance == 0 || !read_common(back - distance, within, entry)) return false;
  entry.start = in.pointer(entry.pointer_encoding & 0x7f, 0);
  entry.end = entry.start + in.pointer(entry.pointer_encoding & 0x0f, 0);
  if (entry.has_augmentation_data) in.block(in.unsigned_leb());  // the language's tables
  entry.program = {in.position(), body.end};
  return in.good();
}

// Of an entry that describes a function, where the common one is; null for one that is common itself.
const std::uint8_t* common_of(bytes body) {
  std::uint32_t distance;
  std::memcpy(&distance, body.data, sizeof distance);
  return distance != 0 ? body.data - distance : nullptr;
}

}  // namespace

entry_list::entry_list(bytes section) : section_(section), at_(section.data) {
  bytes body;
  if (!record(at_, section_, body)) return;
  if (const std::uint8_t* const common = common_of(body); common != nullptr) section_ = {common, body.end};
}

bool entry_list::next(function_entry& entry) {
  for (bytes body; record(at_, section_, body);) {
    const std::uint8_t* const here = at_;
    at_ = body.end;
    if (common_of(body) != nullptr && read_entry(here, section_, entry) && entry.start != 0 && entry.end > entry.start)
      return true;
  }
  return false;
}

bool find_in_section(bytes section, std::uint64_t address, function_entry& entry) {
  for (entry_list entries(section); entries.next(entry);)
    if (address >= entry.start && address < entry.end) return true;
  return false;
}

bool find(const std::uint8_t* header, std::uint64_t address, function_entry& entry) {
  const auto base = reinterpret_cast<std::uint64_t>(header);
  reader in({header, header + 64});
  if (in.fixed<std::uint8_t>() != 1) return false;
  const auto frame_encoding = in.fixed<std::uint8_t>();
  const auto count_encoding = in.fixed<std::uint8_t>();
  const auto table_encoding = in.fixed<std::uint8_t>();
  const std::uint64_t frames = in.pointer(frame_encoding, base);
  if (!in.good()) return false;
  constexpr std::uint8_t sorted_table = 0x3b;  // datarel | sdata4
  if (table_encoding != sorted_table || count_encoding == 0xff)
    return find_in_section(section_at(reinterpret_cast<const std::uint8_t*>(frames)), address, entry);

  struct table_row {
    std::int32_t start;
    std::int32_t entry;
  };
  const std::uint64_t count = in.pointer(count_encoding, base);
  const std::uint8_t* table = in.position();
  if (!in.good() || count == 0) return false;
  auto at = [&](std::uint64_t index) {
    table_row found;
    std::memcpy(&found, table + index * sizeof(table_row), sizeof found);
    return found;
  };
  std::uint64_t low = 0;
  for (std::uint64_t high = count; low + 1 < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (base + static_cast<std::uint64_t>(std::int64_t{at(middle).start}) <= address)
      low = middle;
    else
      high = middle;
  }
  const auto* found =
      reinterpret_cast<const std::uint8_t*>(base + static_cast<std::uint64_t>(std::int64_t{at(low).entry}));
  return read_entry(found, section_at(nullptr), entry) && address >= entry.start && address < entry.end;
}

}  // namespace heapledger::probe::cfi
