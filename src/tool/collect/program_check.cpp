#include "tool/collect/program_check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tool/collect/elf_traits.hpp"

namespace heapledger {
namespace {

constexpr int script_nesting_limit = 4;  // the kernel's own

class descriptor {
 public:
  explicit descriptor(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

void add(program_check& check, obstacle what, severity weight, std::string words) {
  check.findings.push_back({what, weight, std::move(words)});
}

bool is_executable_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

// The first executable match; else the first match at all, so that "permission denied" can be told from "not found".
std::string find_in_path(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return access(name.c_str(), F_OK) == 0 ? name : "";
  const char* value = std::getenv("PATH");
  const std::string_view path = value != nullptr ? value : "/bin:/usr/bin";
  std::string not_executable;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string_view folder = path.substr(begin, end - begin);
    std::string candidate = folder.empty() ? "./" + name : fmt::format("{}/{}", folder, name);
    if (is_executable_file(candidate)) return candidate;
    if (not_executable.empty() && access(candidate.c_str(), F_OK) == 0) not_executable = std::move(candidate);
    begin = end + 1;
  }
  return not_executable;
}

void check_privileges(const std::string& path, const struct stat& info, program_check& check) {
  struct statvfs mount {};
  if (statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) return;
  const char* what = nullptr;
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != getuid()) what = "setuid";
  const bool setgid = (info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0 && info.st_gid != getgid();
  if (what == nullptr && setgid) what = "setgid";
  if (what == nullptr && getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    what = "given file capabilities";
  }
  if (what == nullptr) return;
  add(check, obstacle::privileged, severity::fatal,
      fmt::format("is {}, so the loader ignores preloaded libraries; profile a copy without that (cp {} /tmp/), "
                  "or run heapledger as the file's owner",
                  what, path));
}

void check_elf(int fd, program_check& check) {
  const auto traits = read_elf_traits(fd);
  if (!traits) {
    add(check, obstacle::not_executable, severity::fatal, "is a damaged ELF file");
    return;
  }
  if (!traits->native) {
    add(check, obstacle::not_executable, severity::fatal,
        fmt::format("is a {} program; this heapledger profiles {} programs only", traits->machine, native_machine()));
    return;
  }
  if (!traits->program) {
    add(check, obstacle::not_executable, severity::fatal, "is an ELF file, but not a program");
    return;
  }
  if (traits->loader) return;
  if (traits->interpreter.empty()) {
    add(check, obstacle::static_program, severity::fatal,
        "is statically linked, so nothing can be preloaded into it; link it dynamically (without -static)");
    return;
  }
  if (traits->interpreter.find("musl") != std::string::npos) {
    add(check, obstacle::foreign_libc, severity::fatal,
        fmt::format("runs on {}, and the probe needs glibc; build it against glibc", traits->interpreter));
    return;
  }
  if (access(traits->interpreter.c_str(), X_OK) != 0) {
    add(check, obstacle::not_executable, severity::fatal,
        fmt::format("needs the loader {}, which is not on this machine", traits->interpreter));
    return;
  }
  if (!traits->sanitizer.empty()) {
    add(check, obstacle::sanitizer, severity::fatal,
        fmt::format("is built with {}, which brings its own malloc; build it without -fsanitize", traits->sanitizer));
  }
  if (!traits->own_allocator.empty()) {
    add(check, obstacle::own_allocator, severity::warning,
        fmt::format("has an allocator linked in ({}), so allocations of its own code may be missed; "
                    "link the allocator as a shared library",
                    traits->own_allocator));
  }
  if (!traits->unwind_tables) {
    add(check, obstacle::no_unwind_tables, severity::note,
        "is built without unwind tables, so stacks end in its code; --stacks jit goes on there by frame pointers");
  }
}

// The words of a #! line: the interpreter, and what follows it as one argument, as the kernel splits them.
struct script_line {
  std::string interpreter;
  std::string argument;
};

script_line parse_script_line(std::string_view head) {
  head.remove_prefix(2);
  head = head.substr(0, head.find('\n'));
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!head.empty() && blank(head.front())) head.remove_prefix(1);
  while (!head.empty() && (blank(head.back()) || head.back() == '\r')) head.remove_suffix(1);
  const auto* end = std::find_if(head.begin(), head.end(), blank);
  std::string_view rest(end, static_cast<std::size_t>(head.end() - end));
  while (!rest.empty() && blank(rest.front())) rest.remove_prefix(1);
  return {std::string(head.begin(), end), std::string(rest)};
}

void check_file(const std::string& path, int nesting, program_check& check);

void check_script(std::string_view head, int nesting, program_check& check) {
  const script_line line = parse_script_line(head);
  std::string interpreter = line.interpreter;
  if (interpreter.ends_with("/env") && !line.argument.empty() && line.argument.front() != '-') {
    interpreter = line.argument.substr(0, line.argument.find_first_of(" \t"));
  }
  const std::string found = find_in_path(interpreter);
  if (found.empty() || nesting == 0) {
    add(check, obstacle::not_executable, severity::fatal,
        found.empty() ? fmt::format("is a script for {}, which is not on this machine", interpreter)
                      : std::string("is a script whose interpreters are scripts without end"));
    return;
  }
  add(check, obstacle::script, severity::note,
      fmt::format("is a script; {} runs it and is profiled; what it starts was not looked at", found));
  check_file(found, nesting - 1, check);
}

void check_file(const std::string& path, int nesting, program_check& check) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    add(check, obstacle::not_found, severity::fatal, fmt::format("cannot be looked at: {}", std::strerror(errno)));
    return;
  }
  if (!S_ISREG(info.st_mode)) {
    add(check, obstacle::not_executable, severity::fatal,
        S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file");
    return;
  }
  if (!is_executable_file(path)) {
    add(check, obstacle::not_executable, severity::fatal, fmt::format("is not executable; chmod +x {}", path));
    return;
  }
  const descriptor file(path);
  std::array<char, 256> buffer{};
  const ssize_t got = file.get() < 0 ? -1 : pread(file.get(), buffer.data(), buffer.size(), 0);
  if (got < 0) {
    check_privileges(path, info, check);
    add(check, obstacle::unchecked, severity::note, "cannot be read, so it is not checked further");
    return;
  }
  const std::string_view head(buffer.data(), static_cast<std::size_t>(got));
  if (head.starts_with("#!")) {
    check_script(head, nesting, check);
  } else if (head.starts_with("\x7f"
                              "ELF")) {
    check.image = path;
    check_privileges(path, info, check);  // a script's own setuid bit is ignored by the kernel
    check_elf(file.get(), check);
  } else if (head.find('\0') != std::string_view::npos) {
    add(check, obstacle::not_executable, severity::fatal, "is neither a program for Linux nor a script");
  } else {
    check.image = "/bin/sh";
    add(check, obstacle::script, severity::note,
        "has no #! line; /bin/sh runs it and is profiled; what it starts was not looked at");
  }
}

}  // namespace

program_check check_program(const std::string& program) {
  program_check check;
  check.path = find_in_path(program);
  if (check.path.empty()) {
    const auto here = "./" + program;
    add(check, obstacle::not_found, severity::fatal,
        program.find('/') != std::string::npos
            ? "not found"
            : "not found in PATH; give its path, " + (is_executable_file(here) ? here : "such as ./name"));
    return check;
  }
  check_file(check.path, script_nesting_limit, check);
  return check;
}

}  // namespace heapledger
