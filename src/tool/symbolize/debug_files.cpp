#include "tool/symbolize/debug_files.hpp"

#include <string_view>
#include <utility>

namespace heapledger::symbols {
namespace {

constexpr const char* system_debug_path = "/usr/lib/debug";
constexpr std::string_view deleted_suffix = " (deleted)";

std::vector<std::string> debug_roots(const debug_places& debug) {
  auto roots = debug.folders;
  roots.emplace_back(system_debug_path);
  return roots;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : slash == 0 ? std::string("/") : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// It becomes a part of paths, and comes from a profile.
bool is_build_id(std::string_view text) {
  return text.size() >= 4 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::unique_ptr<elf_file> open_with_build_id(const std::string& path, const std::string& build_id,
                                             elf_role role = elf_role::code) {
  auto file = elf_file::open(path, role);
  return file && file->build_id() == build_id ? std::move(file) : nullptr;
}

std::unique_ptr<elf_file> by_build_id(const std::string& build_id, const std::vector<std::string>& roots,
                                      elf_role role = elf_role::code) {
  if (!is_build_id(build_id)) return nullptr;
  const auto name = "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
  for (const auto& root : roots)
    if (auto file = open_with_build_id(root + name, build_id, role)) return file;
  return nullptr;
}

std::unique_ptr<elf_file> fetched(const std::string& build_id, const std::string& of, const debug_places& debug,
                                  elf_role role = elf_role::code) {
  if (!debug.fetch || !is_build_id(build_id)) return nullptr;
  const auto path = debug.fetch(build_id, name_of(of));
  return path.empty() ? nullptr : open_with_build_id(path, build_id, role);
}

// A checksum over the whole file: only where no build-id can decide.
bool belongs(const elf_file& debug, const elf_file& main, std::uint32_t crc) {
  const auto wanted = main.build_id();
  const auto found = debug.build_id();
  if (!wanted.empty() && !found.empty()) return wanted == found;
  return debug.crc() == crc;
}

std::unique_ptr<elf_file> by_link(const elf_file& main, const std::vector<std::string>& roots) {
  const auto link = main.link();
  if (!link || link->name.find('/') != std::string::npos) return nullptr;
  const auto directory = directory_of(main.path());
  std::vector<std::string> candidates = {directory + "/" + link->name, directory + "/.debug/" + link->name};
  for (const auto& root : roots) {
    if (directory.starts_with('/')) candidates.push_back(root + directory + "/" + link->name);
    if (root != system_debug_path) candidates.push_back(root + "/" + link->name);
  }
  for (const auto& candidate : candidates) {
    auto file = candidate == main.path() ? nullptr : elf_file::open(candidate);
    if (file && belongs(*file, main, link->crc)) return file;
  }
  return nullptr;
}

// The module's file: under its own name, else what the process has mapped, else a copy under one of the debug paths
// that has its build-id.
std::unique_ptr<elf_file> find_main(const std::string& module_path, const std::string& build_id,
                                    const debug_places& debug, std::string& other_build_id) {
  std::string path = module_path;
  const bool deleted = path.ends_with(deleted_suffix);
  if (deleted) path.resize(path.size() - deleted_suffix.size());
  const bool needs_build_id = deleted || !path.starts_with('/');
  if (auto file = elf_file::open(path); file && !(needs_build_id && build_id.empty())) {
    const auto found = file->build_id();
    if (build_id.empty() || found == build_id) return file;
    if (!needs_build_id) other_build_id = found.empty() ? "none" : found;
  }
  if (build_id.empty()) return nullptr;
  for (const auto& each : debug.mapped)
    if (each.name == name_of(path))
      if (auto file = open_with_build_id(each.path, build_id)) return file;
  for (const auto& root : debug.folders) {
    auto whole = root;
    if (!path.starts_with('/')) whole += '/';
    whole += path;
    for (const auto& candidate :
         {whole, whole + ".debug", root + "/" + name_of(path), root + "/" + name_of(path) + ".debug"})
      if (auto file = open_with_build_id(candidate, build_id)) return file;
  }
  return nullptr;
}

}  // namespace

module_files find_module_files(const std::string& module_path, const std::string& build_id, const debug_places& debug) {
  module_files files;
  const auto roots = debug_roots(debug);
  files.main = find_main(module_path, build_id, debug, files.other_build_id);
  if (files.main && files.main->has_debug_info()) return files;
  const auto wanted = files.main ? files.main->build_id() : build_id;
  files.debug = by_build_id(wanted, roots);
  if (!files.debug && files.main) files.debug = by_link(*files.main, roots);
  if (!files.debug) files.debug = fetched(wanted, module_path, debug);
  return files;
}

std::unique_ptr<elf_file> find_alternate_file(const std::string& debug_file, const std::string& name,
                                              const std::string& build_id, const debug_places& debug) {
  if (build_id.empty()) return nullptr;
  if (!name.empty()) {
    const auto path = name.starts_with('/') ? name : directory_of(debug_file) + "/" + name;
    if (auto file = open_with_build_id(path, build_id, elf_role::common)) return file;
  }
  const auto roots = debug_roots(debug);
  if (auto file = by_build_id(build_id, roots, elf_role::common)) return file;
  for (const auto& root : roots)
    if (auto file = open_with_build_id(root + "/.dwz/" + name_of(name), build_id, elf_role::common)) return file;
  return fetched(build_id, name, debug, elf_role::common);
}

}  // namespace heapledger::symbols
