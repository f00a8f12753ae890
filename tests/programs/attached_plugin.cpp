// A plugin in C++ for programs in C: its operators new and delete are libstdc++'s, which nobody else has.
#include <cstddef>
#include <memory>
#include <string>

extern "C" [[gnu::noinline]] void* site_made_in_plugin(std::size_t bytes) {
  auto* made = new char[bytes];
  asm volatile("" : : "g"(made) : "memory");
  return made;
}
extern "C" [[gnu::noinline]] std::string* site_text_in_plugin(std::size_t bytes) {
  return new std::string(bytes, 'x');
}

extern "C" void* plugin_make(std::size_t bytes) {
  void* volatile made = site_made_in_plugin(bytes);
  return made;
}
extern "C" void plugin_drop(void* made) {
  delete[] static_cast<char*>(made);
}
extern "C" void plugin_text(std::size_t bytes) {
  delete site_text_in_plugin(bytes);
}
