#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "tool/profile/payload.hpp"
#include "tool/profile/schema.hpp"
#include "tool/profile/table_reader.hpp"
#include "tool/profile/weight.hpp"

namespace heapledger::format {
namespace {

class table_writer {
 public:
  explicit table_writer(protozero::pbf_writer& out) : out_(out) {}

  template <class Rows, class Member, class Coder>
  void column(unsigned number, const Rows& rows, Member member, Coder coder) {
    protozero::packed_field_uint64 field(out_, number);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      field.add_element(coder.store(i, static_cast<std::uint64_t>(std::invoke(member, rows[i]))));
    }
  }
  template <class Rows, class Coder>
  void list(unsigned number, const Rows& rows, Coder coder) {
    column(number, rows, itself, coder);
  }

 private:
  protozero::pbf_writer& out_;
};

// Zero and empty values are left out, as proto3 has it; an optional that holds a value is always written.
class encoder {
 public:
  explicit encoder(std::string& out) : out_(out) {}

  void operator()(unsigned number, bool value) {
    if (value) out_.add_bool(number, true);
  }
  void operator()(unsigned number, const std::integral auto& value) {
    if (value != 0) add(number, value);
  }
  template <std::integral Integer>
  void operator()(unsigned number, const std::optional<Integer>& value) {
    if (value) add(number, *value);
  }
  void operator()(unsigned number, ending value) { out_.add_uint32(number, static_cast<std::uint32_t>(value) + 1); }
  void operator()(unsigned number, const std::string& text) {
    if (!text.empty()) out_.add_bytes(number, text);
  }
  void operator()(unsigned number, const std::vector<std::string>& texts) {
    for (const auto& text : texts) out_.add_bytes(number, text);
  }
  void operator()(unsigned number, const std::map<std::string, std::uint64_t>& counts) {
    for (const auto& count : counts) {
      add_message(number, [&](encoder& entry) {
        entry(1, count.first);
        entry(2, count.second);
      });
    }
  }
  template <class Message>
  void operator()(unsigned number, const std::optional<Message>& message) {
    if (message) (*this)(number, *message);
  }
  template <class Message>
  void operator()(unsigned number, const std::vector<Message>& messages) {
    for (const auto& message : messages) (*this)(number, message);
  }
  template <class Message>
  void operator()(unsigned number, const Message& message) {
    add_message(number, [&](encoder& entry) { fields(entry, message); });
  }
  template <class Columns>
  void table(unsigned number, Columns columns) {
    protozero::pbf_writer message(out_, number);
    table_writer writer(message);
    columns(writer);
  }

 private:
  void add(unsigned number, std::unsigned_integral auto value) { out_.add_uint64(number, value); }
  void add(unsigned number, std::signed_integral auto value) { out_.add_sint64(number, value); }

  // By way of a string of its own: a nested pbf_writer leaves out a message that has no fields.
  template <class Fill>
  void add_message(unsigned number, Fill fill) {
    std::string message;
    encoder entry(message);
    fill(entry);
    out_.add_message(number, message);
  }

  protozero::pbf_writer out_;
};

flat_columns flatten(const profile& p) {
  flat_columns flat;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> known;
  const auto number_of = [&](const std::vector<std::string>& path) {
    std::uint32_t scope = 0;
    for (const auto& name : path) {
      const auto [at, is_new] = known.try_emplace({scope, name}, static_cast<std::uint32_t>(known.size() + 1));
      if (is_new) flat.scopes.push_back({name, scope});
      scope = at->second;
    }
    return scope;
  };
  flat.stack_scopes.reserve(p.stacks.size());
  for (const auto& stack : p.stacks) flat.stack_scopes.push_back(number_of(stack.scope));
  for (const auto& scope : p.scopes) flat.scope_rows.push_back({number_of(scope.path), scope});
  for (const auto& freer : p.freers) flat.freer_rows.push_back({number_of(freer.owner), number_of(freer.by), freer});
  for (std::uint32_t i = 0; i < p.stacks.size(); ++i)
    if (p.stacks[i].count.life != lives{}) flat.life_rows.push_back({i, p.stacks[i].count.life});
  flat.symbol_counts.reserve(p.locations.size());
  for (const auto& location : p.locations) {
    flat.symbol_counts.push_back(static_cast<std::uint32_t>(location.symbols.size()));
    flat.symbols.insert(flat.symbols.end(), location.symbols.begin(), location.symbols.end());
  }
  return flat;
}

std::uint64_t weight(const profile& profile, const flat_columns& flat) {
  weigher sum;
  fields(sum, profile, flat);
  sum.spread(profile, flat);
  return sum.bytes();
}

}  // namespace

std::uint64_t memory_bytes(const profile& profile) {
  return weight(profile, flatten(profile));
}

std::string encode(const profile& profile, std::uint64_t memory_limit) {
  check(profile);
  const flat_columns flat = flatten(profile);
  memory_budget(memory_limit).take(weight(profile, flat));
  std::string payload;
  encoder out(payload);
  fields(out, profile, flat);
  return payload;
}

}  // namespace heapledger::format
