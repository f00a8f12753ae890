#include <concepts>
#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "tool/profile/payload.hpp"
#include "tool/profile/schema.hpp"
#include "tool/profile/table_reader.hpp"
#include "tool/profile/weight.hpp"

namespace heapledger::format {
namespace {

using protozero::pbf_wire_type;

// Holds one field of a message; fields() offers it every member, and the one with its number takes it. A field of
// another wire type than the member's is unknown, and skipped like any other unknown field.
class decoder {
 public:
  decoder(protozero::pbf_reader& in, memory_budget& budget)
      : in_(in), budget_(budget), number_(in.tag()), type_(in.wire_type()) {}

  bool taken() const { return taken_; }

  void operator()(unsigned number, bool& value) {
    if (take(number, pbf_wire_type::varint)) value = in_.get_uint64() != 0;
  }
  void operator()(unsigned number, std::integral auto& value) {
    if (take(number, pbf_wire_type::varint)) value = get<std::remove_reference_t<decltype(value)>>();
  }
  template <std::integral Integer>
  void operator()(unsigned number, std::optional<Integer>& value) {
    if (take(number, pbf_wire_type::varint)) value = get<Integer>();
  }
  void operator()(unsigned number, ending& value) {
    if (!take(number, pbf_wire_type::varint)) return;
    const std::uint64_t stored = in_.get_uint64();
    value = stored >= 1 && stored <= static_cast<std::uint64_t>(ending::lost) + 1 ? static_cast<ending>(stored - 1)
                                                                                  : ending::lost;
  }
  void operator()(unsigned number, std::string& text) {
    if (take(number, pbf_wire_type::length_delimited)) text = get_text();
  }
  void operator()(unsigned number, std::vector<std::string>& texts) {
    if (take(number, pbf_wire_type::length_delimited)) append(texts) = get_text();
  }
  void operator()(unsigned number, std::map<std::string, std::uint64_t>& counts) {
    if (!take(number, pbf_wire_type::length_delimited)) return;
    std::pair<std::string, std::uint64_t> entry;
    read_message([&](decoder& field) {
      field(1, entry.first);
      field(2, entry.second);
    });
    budget_.take(2 * sizeof(entry));
    counts.insert_or_assign(std::move(entry.first), entry.second);
  }
  template <class Message>
  void operator()(unsigned number, std::optional<Message>& message) {
    if (!take(number, pbf_wire_type::length_delimited)) return;
    if (!message) message.emplace();
    read_message([&](decoder& field) { fields(field, *message); });
  }
  template <class Message>
  void operator()(unsigned number, std::vector<Message>& messages) {
    if (!take(number, pbf_wire_type::length_delimited)) return;
    auto& message = append(messages);
    read_message([&](decoder& field) { fields(field, message); });
  }
  template <class Message>
  void operator()(unsigned number, Message& message) {
    if (take(number, pbf_wire_type::length_delimited)) read_message([&](decoder& field) { fields(field, message); });
  }
  template <class Columns>
  void table(unsigned number, Columns columns) {
    if (!take(number, pbf_wire_type::length_delimited)) return;
    table_reader table(in_.get_message(), budget_);
    columns(table);
  }

  template <class Fields>
  static void read(protozero::pbf_reader in, memory_budget& budget, Fields offer) {
    while (in.next()) {
      decoder field(in, budget);
      offer(field);
      if (!field.taken()) in.skip();
    }
  }

 private:
  bool take(unsigned number, pbf_wire_type type) {
    const bool match = !taken_ && number == number_ && type == type_;
    taken_ = taken_ || match;
    return match;
  }
  template <class Integer>
  Integer get() {
    if constexpr (std::is_signed_v<Integer>) return narrow<Integer>(static_cast<std::uint64_t>(in_.get_sint64()));
    return narrow<Integer>(in_.get_uint64());
  }
  std::string get_text() {
    const auto text = in_.get_view();
    budget_.take(text.size());
    return {text.data(), text.size()};
  }
  // Twice the size: a vector that grows has up to twice the room that it needs.
  template <class T>
  T& append(std::vector<T>& to) {
    budget_.take(2 * sizeof(T));
    return to.emplace_back();
  }
  template <class Fields>
  void read_message(Fields offer) {
    read(in_.get_message(), budget_, offer);
  }

  protozero::pbf_reader& in_;
  memory_budget& budget_;
  unsigned number_;
  pbf_wire_type type_;
  bool taken_ = false;
};

void spread_symbols(const flat_columns& flat, profile& p, memory_budget& budget) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < p.locations.size(); ++i) {
    const std::size_t count = flat.symbol_counts[i];
    if (count > flat.symbols.size() - at) throw damage("a location has more symbols than there are");
    if (count == 0) continue;
    budget.take(2 * sizeof(void*) + count * sizeof(std::uint32_t));
    const auto first = flat.symbols.begin() + static_cast<std::ptrdiff_t>(at);
    p.locations[i].symbols.assign(first, first + static_cast<std::ptrdiff_t>(count));
    at += count;
  }
  if (at != flat.symbols.size()) throw damage("there are symbols that no location has");
}

void spread_scopes(const flat_columns& flat, profile& p, memory_budget& budget) {
  struct path {
    std::uint64_t length = 0;
    std::uint64_t bytes = 0;
  };
  static_assert(sizeof(path) == scope_path_bytes);
  budget.take(flat.scopes.size() + 1, sizeof(path));
  std::vector<path> paths(flat.scopes.size() + 1);
  for (std::size_t i = 0; i < flat.scopes.size(); ++i) {
    const auto& [name, parent] = flat.scopes[i];
    if (parent > i) throw damage("a scope has no parent before it");
    paths[i + 1] = {paths[parent].length + 1, paths[parent].bytes + sizeof(std::string) + name.size()};
  }
  const auto spread = [&](std::uint32_t scope, std::vector<std::string>& names) {
    names.resize(paths[scope].length);
    for (std::size_t depth = names.size(); depth-- > 0; scope = flat.scopes[scope - 1].parent) {
      names[depth] = flat.scopes[scope - 1].name;
    }
  };
  for (const auto scope : flat.stack_scopes) {
    if (scope >= paths.size()) throw damage("a stack is in a scope that does not exist");
    budget.take(paths[scope].bytes);
  }
  for (const auto& row : flat.scope_rows) {
    if (row.scope == 0 || row.scope >= paths.size()) throw damage("it tells of a scope that does not exist");
    budget.take(2 * sizeof(scope_info) + paths[row.scope].bytes);
  }
  for (const auto& row : flat.freer_rows) {
    if (row.owner >= paths.size() || row.by >= paths.size()) throw damage("it tells of a scope that does not exist");
    budget.take(2 * sizeof(freer_info) + paths[row.owner].bytes + paths[row.by].bytes);
  }
  for (std::size_t i = 0; i < p.stacks.size(); ++i) spread(flat.stack_scopes[i], p.stacks[i].scope);
  for (const auto& row : flat.scope_rows) {
    p.scopes.push_back(row.info);
    spread(row.scope, p.scopes.back().path);
  }
  for (const auto& row : flat.freer_rows) {
    p.freers.push_back(row.info);
    spread(row.owner, p.freers.back().owner);
    spread(row.by, p.freers.back().by);
  }
}

void spread_lives(const flat_columns& flat, profile& p) {
  std::size_t after = 0;
  for (const auto& row : flat.life_rows) {
    if (row.stack < after || row.stack >= p.stacks.size()) throw damage("the lives of stacks are not in order");
    after = row.stack + std::size_t{1};
    p.stacks[row.stack].count.life = row.life;
  }
}

}  // namespace

profile decode(std::string_view payload, std::uint64_t memory_limit) {
  profile result;
  flat_columns flat;
  memory_budget budget(memory_limit);
  try {
    decoder::read(protozero::pbf_reader(payload.data(), payload.size()), budget,
                  [&](decoder& field) { fields(field, result, flat); });
  } catch (const protozero::exception&) {
    throw damage("its contents are no valid protobuf message");
  }
  flat.symbol_counts.resize(result.locations.size());
  flat.stack_scopes.resize(result.stacks.size());
  spread_symbols(flat, result, budget);
  spread_scopes(flat, result, budget);
  spread_lives(flat, result);
  check(result);
  return result;
}

}  // namespace heapledger::format
