#include "tool/symbolize/packages.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <unordered_map>

namespace heapledger::symbols {
namespace {

constexpr const char* list_extension = ".list";

// Names under which the lists may know the file: /lib and /usr/lib are the same folder on today's systems.
std::vector<std::string> spellings(const std::string& path) {
  std::vector<std::string> names = {path};
  for (const char* folder : {"/lib/", "/lib64/", "/bin/", "/sbin/"}) {
    if (path.starts_with(folder)) names.push_back("/usr" + path);
    if (path.starts_with(std::string("/usr") + folder)) names.push_back(path.substr(4));
  }
  return names;
}

}  // namespace

std::vector<std::string> owning_packages(const std::vector<std::string>& paths, const std::string& database) {
  std::unordered_map<std::string, std::vector<std::size_t>> wanted;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (auto& name : spellings(paths[i])) wanted[std::move(name)].push_back(i);
    std::error_code failed;
    const auto real = std::filesystem::canonical(paths[i], failed);
    if (!failed && real.string() != paths[i])
      for (auto& name : spellings(real.string())) wanted[std::move(name)].push_back(i);
  }
  std::vector<std::string> owners(paths.size());
  if (paths.empty()) return owners;
  std::error_code failed;
  for (std::filesystem::directory_iterator lists(database, failed), end; !failed && lists != end;
       lists.increment(failed)) {
    if (lists->path().extension() != list_extension) continue;
    std::ifstream list(lists->path());
    for (std::string line; std::getline(list, line);) {
      const auto found = wanted.find(line);
      if (found == wanted.end()) continue;
      const auto package = lists->path().stem().string();  // NAME or NAME:ARCHITECTURE
      for (const auto index : found->second) owners[index] = package.substr(0, package.find(':'));
    }
  }
  return owners;
}

std::string debug_package(const std::string& package) {
  return package == "libc6" || package == "libc-bin" ? "libc6-dbg" : package + "-dbgsym";
}

}  // namespace heapledger::symbols
