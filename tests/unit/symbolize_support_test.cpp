#include "symbolize_support.hpp"

#include <fmt/format.h>
#include <gelf.h>
#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "tool/symbolize/elf_file.hpp"

namespace heapledger::test {
namespace fs = std::filesystem;

std::string to_string(const chain& frames) {
  std::string text;
  for (const auto& each : frames) text += fmt::format("\n    {} at {}:{}", each.function, each.file, each.line);
  return text.empty() ? "\n    nothing" : text;
}

std::string fixture(const std::string& name) {
  return std::string(HEAPLEDGER_SYMBOLIZE_FIXTURES) + "/" + name;
}
bool has_fixture(const std::string& name) {
  return fs::exists(fixture(name));
}
bool has_llvm() {
  return !std::string_view(HEAPLEDGER_LLVM_SYMBOLIZER).empty();
}

std::string build_id_of(const std::string& path) {
  const auto file = symbols::elf_file::open(path);
  return file ? file->build_id() : std::string();
}

std::vector<std::uint64_t> text_addresses(const std::string& path) {
  std::vector<std::uint64_t> addresses;
  const auto file = symbols::elf_file::open(path);
  std::size_t names = 0;
  if (!file || elf_getshdrstrndx(file->handle(), &names) != 0) return addresses;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file->handle(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(file->handle(), names, header.sh_name);
    if (name == nullptr || std::string_view(name) != ".text") continue;
    for (std::uint64_t i = 0; i < header.sh_size; ++i) addresses.push_back(header.sh_addr + i);
  }
  return addresses;
}

profile profile_of(const std::string& path, std::span<const std::uint64_t> addresses) {
  profile made;
  module_info module;
  module.path = path;
  module.build_id = build_id_of(path);
  made.modules.push_back(std::move(module));
  for (const auto address : addresses) made.locations.push_back({address, 0, {}});
  return made;
}

std::vector<chain> chains_of(const profile& symbolized) {
  const auto text = [&](std::uint32_t index) { return index == none ? std::string() : symbolized.strings.at(index); };
  std::vector<chain> chains;
  for (const auto& place : symbolized.locations) {
    auto& made = chains.emplace_back();
    for (const auto index : place.symbols) {
      const auto& each = symbolized.frames.at(index);
      made.push_back({text(each.function), text(each.file), each.line});
    }
  }
  return chains;
}

std::vector<chain> symbolize_file(const std::string& path, std::span<const std::uint64_t> addresses) {
  auto made = profile_of(path, addresses);
  symbolize(made);
  return chains_of(made);
}

std::vector<chain> ask_llvm(const std::string& path, std::span<const std::uint64_t> addresses, oracle_names names) {
  const scratch_folder scratch;
  const auto questions = scratch.path() / "addresses";
  {
    std::ofstream out(questions);
    for (const auto address : addresses) out << fmt::format("{:#x}\n", address);
  }
  const auto command = fmt::format("'{}' --output-style=LLVM --inlines --functions={} --no-demangle --obj='{}' < '{}'",
                                   HEAPLEDGER_LLVM_SYMBOLIZER, names == oracle_names::linkage ? "linkage" : "short",
                                   path, questions.string());
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string answer;
  char buffer[65536];
  for (std::size_t got; pipe && (got = fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) answer.append(buffer, got);

  // For each address pairs of lines, FUNCTION and FILE:LINE:COLUMN, then an empty line.
  std::vector<chain> chains;
  chain current;
  std::istringstream lines(answer);
  const auto known = [](const std::string& text) { return text == "??" ? std::string() : text; };
  for (std::string function, place; std::getline(lines, function);) {
    if (function.empty()) {
      if (current.size() == 1 && current[0] == frame{}) current.clear();
      chains.push_back(std::exchange(current, {}));
      continue;
    }
    std::getline(lines, place);
    const auto column = place.rfind(':');
    const auto line = place.rfind(':', column - 1);
    current.push_back({known(function), known(place.substr(0, line)),
                       static_cast<std::uint32_t>(std::stoul(place.substr(line + 1, column - line - 1)))});
  }
  return chains;
}

scratch_folder::scratch_folder() {
  auto pattern = (fs::temp_directory_path() / "heapledger-symbolize-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string scratch_folder::copy(const std::string& fixture_name, const std::string& to) const {
  const auto target = path_ / to;
  fs::create_directories(target.parent_path());
  fs::copy_file(fixture(fixture_name), target);
  return target.string();
}

}  // namespace heapledger::test
