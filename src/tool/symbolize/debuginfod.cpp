#include "tool/symbolize/debuginfod.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <system_error>

#include "tool/profile/error.hpp"

namespace heapledger::symbols {
namespace {

constexpr const char* option = "--debuginfod";
constexpr const char* library_name = "libdebuginfod.so.1";

void* load_library() {
  const char* servers = std::getenv("DEBUGINFOD_URLS");
  if (servers == nullptr || *servers == '\0')
    throw input_error(option, "no server is named", "set DEBUGINFOD_URLS to those of your distribution");
  void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw input_error(option, std::string(library_name) + " is not here",
                      "install libdebuginfod1, or elfutils-debuginfod-client");
  return library;
}

template <typename Function>
Function* function_of(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr) throw input_error(option, std::string(library_name) + " has no " + name);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

// As elfutils/debuginfod.h declares them.
struct debuginfod::client {
  struct session;
  using find_function = int(session*, const unsigned char* build_id, int bytes, char** path);

  explicit client(void* library)
      : find(function_of<find_function>(library, "debuginfod_find_debuginfo")),
        end(function_of<void(session*)>(library, "debuginfod_end")),
        current(function_of<session*()>(library, "debuginfod_begin")()) {
    if (current == nullptr) throw std::bad_alloc();
  }
  ~client() { end(current); }

  find_function* find;
  void (*end)(session*);
  session* current;
};

debuginfod::debuginfod() : client_(std::make_unique<client>(load_library())) {}

debuginfod::~debuginfod() = default;

std::string debuginfod::fetch(const std::string& build_id) {
  if (build_id.empty() || !trouble_.empty()) return {};
  char* path = nullptr;
  const auto* digits = reinterpret_cast<const unsigned char*>(build_id.c_str());
  const int result = client_->find(client_->current, digits, 0, &path);  // 0 bytes: they are digits
  if (result < 0) {
    if (result != -ENOENT) trouble_ = std::generic_category().message(-result);
    return {};
  }
  ::close(result);
  std::string found = path;
  std::free(path);
  return found;
}

}  // namespace heapledger::symbols
