#include "tool/symbolize/elf_file.hpp"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "tool/symbolize/inflation.hpp"

namespace heapledger::symbols {
namespace {

template <class Predicate>
Elf_Scn* find_section(Elf* elf, Predicate matches) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name != nullptr && header.sh_type != SHT_NOBITS && matches(std::string_view(name), header)) return section;
  }
  return nullptr;
}

template <class Use>
void for_each_segment(Elf* elf, Use use) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) return;
    use(header);
  }
}

bool plays(elf_role role, unsigned type) {
  return type == ET_EXEC || type == ET_DYN || (role == elf_role::common && type == ET_REL);
}

}  // namespace

std::string to_hex(const void* bytes, std::size_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(size * 2);
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<const unsigned char*>(bytes)[i];
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::unique_ptr<elf_file> elf_file::open_any(const std::string& path) {
  struct stat status = {};
  if (path.empty() || elf_version(EV_CURRENT) == EV_NONE) return nullptr;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;  // to open a device may do things
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return nullptr;
  Elf* elf = nullptr;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  auto file = std::unique_ptr<elf_file>(new elf_file(path, fd, elf, status));
  return elf != nullptr && elf_kind(elf) == ELF_K_ELF ? std::move(file) : nullptr;
}

std::unique_ptr<elf_file> elf_file::open(const std::string& path, elf_role role) {
  auto file = open_any(path);
  GElf_Ehdr header;
  if (!file || gelf_getehdr(file->elf_, &header) == nullptr || !plays(role, header.e_type)) return nullptr;
  return inflates_beyond_reason(file->elf_, file->bytes_) ? nullptr : std::move(file);
}

bool elf_file::is_bomb(const std::string& path) {
  const auto file = open_any(path);
  return file && inflates_beyond_reason(file->elf_, file->bytes_);
}

elf_file::elf_file(std::string path, int fd, Elf* elf, const struct stat& status)
    : path_(std::move(path)),
      fd_(fd),
      elf_(elf),
      bytes_(static_cast<std::uint64_t>(status.st_size)),
      changed_(status.st_mtim) {}

elf_file::~elf_file() {
  elf_end(elf_);
  close(fd_);
}

std::string elf_file::real_path() const {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd_), failed);
  return failed ? path_ : path.string();
}

bool elf_file::is_as_it_was() const {
  struct stat status = {};
  return fstat(fd_, &status) == 0 && static_cast<std::uint64_t>(status.st_size) == bytes_ &&
         status.st_mtim.tv_sec == changed_.tv_sec && status.st_mtim.tv_nsec == changed_.tv_nsec;
}

std::string elf_file::build_id() const {
  const void* id = nullptr;
  const auto size = dwelf_elf_gnu_build_id(elf_, &id);
  return size > 0 ? to_hex(id, static_cast<std::size_t>(size)) : std::string();
}

std::optional<debug_link> elf_file::link() const {
  GElf_Word crc = 0;
  const char* name = dwelf_elf_gnu_debuglink(elf_, &crc);
  if (name == nullptr || *name == '\0') return std::nullopt;
  return debug_link{name, crc};
}

bool elf_file::has_debug_info() const {
  return find_section(elf_, [](std::string_view name, const GElf_Shdr&) {
           return name == ".debug_info" || name == ".zdebug_info";
         }) != nullptr;
}

bool elf_file::has_symbol_table() const {
  return find_section(elf_, [](std::string_view, const GElf_Shdr& header) { return header.sh_type == SHT_SYMTAB; }) !=
         nullptr;
}

std::span<const std::uint8_t> elf_file::bytes_of(std::string_view wanted) const {
  Elf_Scn* const section = find_section(elf_, [&](std::string_view name, const GElf_Shdr&) { return name == wanted; });
  const Elf_Data* const data = section != nullptr ? elf_rawdata(section, nullptr) : nullptr;
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const std::uint8_t*>(data->d_buf), data->d_size};
}

bool elf_file::has_unwind_tables() const {
  bool found = false;
  for_each_segment(elf_, [&](const GElf_Phdr& header) { found = found || header.p_type == PT_GNU_EH_FRAME; });
  return found;
}

std::vector<address_range> elf_file::executable_ranges() const {
  std::vector<address_range> ranges;
  for_each_segment(elf_, [&](const GElf_Phdr& header) {
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0 && header.p_vaddr + header.p_memsz >= header.p_vaddr)
      ranges.push_back({header.p_vaddr, header.p_vaddr + header.p_memsz});
  });
  return ranges;
}

// Older linkers gave shared libraries an entry point too.
std::uint64_t elf_file::entry_point() const {
  GElf_Ehdr header;
  if (gelf_getehdr(elf_, &header) == nullptr) return 0;
  bool started = header.e_type == ET_EXEC || path_.substr(path_.rfind('/') + 1).starts_with("ld-");
  for_each_segment(elf_, [&](const GElf_Phdr& each) { started = started || each.p_type == PT_INTERP; });
  return started ? header.e_entry : 0;
}

std::uint32_t elf_file::crc() const {
  std::array<unsigned char, std::size_t{64} * 1024> buffer;
  uLong value = crc32(0, nullptr, 0);
  off_t offset = 0;
  for (ssize_t got; (got = pread(fd_, buffer.data(), buffer.size(), offset)) > 0; offset += got)
    value = crc32(value, buffer.data(), static_cast<uInt>(got));
  return static_cast<std::uint32_t>(value);
}

}  // namespace heapledger::symbols
