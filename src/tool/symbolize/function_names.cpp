#include "tool/symbolize/function_names.hpp"

#include <dwarf.h>

#include <string_view>
#include <vector>

#include "tool/symbolize/demangle.hpp"
#include "tool/symbolize/function_scopes.hpp"

namespace heapledger::symbols {
namespace {

constexpr int chain_limit = 16;  // abstract origin of a specification of ...
constexpr std::size_t name_limit_bytes = std::size_t{64} * 1024;

bool follow(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  Dwarf_Die target;
  for (const unsigned reference : {DW_AT_abstract_origin, DW_AT_specification}) {
    if (dwarf_attr(&die, reference, &attribute) == nullptr) continue;
    if (dwarf_formref_die(&attribute, &target) == nullptr) return false;
    die = target;
    return true;
  }
  return false;
}

const char* string_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_attr(&die, name, &attribute) != nullptr ? dwarf_formstring(&attribute) : nullptr;
}

struct raw_names {
  const char* mangled = nullptr;
  const char* plain = nullptr;
  Dwarf_Die declaration = {};  // the end of the chain: its place says which scopes enclose the function
};

// A linkage name that is not mangled says less than the plain one: __GI_open64 of the libc is `open` in its source.
raw_names names_of(Dwarf_Die die) {
  raw_names names;
  for (int step = 0; step < chain_limit; ++step) {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
      const char* linkage = string_attribute(die, attribute);
      if (linkage != nullptr && is_mangled(linkage)) {
        names.mangled = linkage;
        return names;
      }
    }
    if (names.plain == nullptr) names.plain = string_attribute(die, DW_AT_name);
    names.declaration = die;
    if (!follow(die)) break;
  }
  return names;
}

const char* plain_name(Dwarf_Die die) {
  const char* name = string_attribute(die, DW_AT_name);
  for (int step = 0; name == nullptr && step < chain_limit && follow(die); ++step)
    name = string_attribute(die, DW_AT_name);
  return name;
}

constexpr int no_unit = 0;  // no language has this number

int language_of(Dwarf_Die& die) {
  Dwarf_Die unit;
  return dwarf_diecu(&die, &unit, nullptr, nullptr) == nullptr ? no_unit : dwarf_srclang(&unit);
}

// GNAT's plain names have their scopes: pack__inner__make.
bool has_scopes(Dwarf_Die& die) {
  switch (language_of(die)) {
    case no_unit:
    case DW_LANG_Ada83:
    case DW_LANG_Ada95:
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_ObjC:
    case DW_LANG_Mips_Assembler:
      return false;
    default:
      return true;
  }
}

// In D the function main is in a module too, and in clang's modules all that a header declares.
bool has_modules(Dwarf_Die& die) {
  switch (language_of(die)) {
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
      return true;
    default:
      return false;
  }
}

Dwarf_Die declaration_of(Dwarf_Die die) {
  for (int step = 0; step < chain_limit && follow(die); ++step) {
  }
  return die;
}

std::size_t last_declared_elsewhere(std::vector<Dwarf_Die>& entries) {
  auto last = entries.size();
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (dwarf_tag(&entries[i]) == DW_TAG_subprogram && declaration_of(entries[i]).addr != entries[i].addr) last = i;
  return last;
}

// The names of what encloses a declaration, each with "::" behind it. The body of a function stands apart from the
// scopes in which it is declared.
std::string enclosing_scopes(Dwarf_Die declaration, bool of_lambda, int depth = 0) {
  std::string text;
  auto entries = enclosing_entries(declaration);
  const auto body = last_declared_elsewhere(entries);
  const bool is_apart = body != entries.size() && depth < chain_limit;
  if (is_apart) text = enclosing_scopes(declaration_of(entries[body]), of_lambda, depth + 1);
  for (std::size_t i = is_apart ? body : 0; i < entries.size() && text.size() <= name_limit_bytes; ++i) {
    auto& entry = entries[i];
    std::string_view part;
    switch (dwarf_tag(&entry)) {
      case DW_TAG_module:
        if (!has_modules(entry)) continue;
        break;
      case DW_TAG_namespace:
        part = "(anonymous namespace)";
        break;
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        part = of_lambda ? "{lambda}" : "{unnamed}";
        break;
      case DW_TAG_subprogram:
        part = "{function}";
        break;
      default:
        continue;
    }
    const char* name = plain_name(entry);
    text += name != nullptr && *name != '\0' ? std::string_view(name) : part;
    text += "::";
  }
  return text;
}

std::string qualified(const raw_names& names) {
  const std::string_view plain = names.plain;
  const bool of_lambda = plain.starts_with("operator()") || plain.starts_with("~<lambda");
  const auto scopes = enclosing_scopes(names.declaration, of_lambda);
  return scopes.size() > name_limit_bytes ? names.plain : scopes + names.plain;
}

std::string unmangled_name(raw_names& names) {
  if (names.plain == nullptr) return {};
  return has_scopes(names.declaration) ? qualified(names) : std::string(names.plain);
}

// Compilers add .cold, .part.0, .constprop.1 to the symbols of copies; a mangled name itself has no other dot.
std::string_view mangled_part(std::string_view symbol) {
  const auto body = coroutine_of(symbol);
  return body.empty() ? symbol.substr(0, symbol.find('.')) : body;
}

}  // namespace

const std::string& function_names::inlined(Dwarf_Die function) {
  // An inlined copy has no name of its own: the many copies share the entry that they refer to.
  Dwarf_Die key = function;
  follow(key);
  const auto [place, is_new] = inlined_.try_emplace(key.addr);
  if (is_new) {
    auto names = names_of(function);
    place->second = names.mangled != nullptr ? demangle(names.mangled) : unmangled_name(names);
  }
  return place->second;
}

const std::string& function_names::real(Dwarf_Die function, std::uint64_t address) {
  const auto [place, is_new] = real_.try_emplace(function.addr);
  if (is_new) {
    auto names = names_of(function);
    const char* symbol = names.mangled == nullptr ? symbols_.find(address) : nullptr;
    const auto coroutine = names.mangled != nullptr ? coroutine_of(names.mangled) : std::string_view();
    if (names.mangled != nullptr)
      place->second = demangle(coroutine.empty() ? names.mangled : coroutine);
    else if (symbol != nullptr && is_mangled(symbol))
      place->second = demangle(mangled_part(symbol));
    else
      place->second = unmangled_name(names);
  }
  return place->second;
}

const std::string& function_names::symbol(std::uint64_t address) {
  static const std::string unknown;
  const char* symbol = symbols_.find(address);
  if (symbol == nullptr) return unknown;
  const auto [place, is_new] = symbol_.try_emplace(symbol);
  if (is_new) {
    const std::string_view name(symbol);
    const auto body = coroutine_of(name);
    place->second = demangle(body.empty() ? name.substr(0, name.find('@')) : body);  // memcpy@@GLIBC_2.14
  }
  return place->second;
}

}  // namespace heapledger::symbols
