// A document of nested lists is read into a tree, changed, copied and written, again and again: recursive code of the
// standard library's containers, which allocates from a few dozen places in turn, at every depth.
// Built with SCOPED, each document has a scope.
// usage: documents TIMES
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#ifdef SCOPED
#include "heapledger/scope.hpp"
#endif

namespace {

struct node {
  std::string text;  // of a leaf
  std::vector<std::unique_ptr<node>> items;
  std::map<std::string, std::string> attributes;
};

std::string written(const node& of) {
  if (of.items.empty()) return of.text;
  std::string out = "(";
  for (const auto& item : of.items) {
    if (out.size() > 1) out += ' ';
    out += written(*item);
  }
  return out + ')';
}

std::unique_ptr<node> read(std::string_view& text) {
  auto made = std::make_unique<node>();
  if (text.front() != '(') {
    const std::size_t end = text.find_first_of(" )");
    made->text = text.substr(0, end);
    text.remove_prefix(end);
    return made;
  }
  while (text.front() != ')') {
    text.remove_prefix(1);
    made->items.push_back(read(text));
  }
  text.remove_prefix(1);
  return made;
}

std::unique_ptr<node> copied(const node& of) {
  auto made = std::make_unique<node>();
  made->text = of.text;
  made->attributes = of.attributes;
  for (const auto& item : of.items) made->items.push_back(copied(*item));
  return made;
}

void annotate(node& at, const std::string& path) {
  at.attributes["path of the node"] = path;
  at.attributes["items"] = std::to_string(at.items.size());
  for (std::size_t i = 0; i < at.items.size(); ++i) annotate(*at.items[i], path + '/' + std::to_string(i));
}

std::string sample(unsigned depth, unsigned& leaves) {
  if (depth == 0) return "leaf-of-the-document-" + std::to_string(leaves++);
  std::string out = "(";
  for (unsigned i = 0; i < 3 + depth % 2; ++i) out += (i != 0 ? " " : "") + sample(depth - 1, leaves);
  return out + ')';
}

}  // namespace

int main(int argc, char** argv) {
  unsigned leaves = 0;
  const std::string text = sample(6, leaves);
  std::size_t total = 0;
  for (int times = argc == 2 ? std::atoi(argv[1]) : 1; times > 0; --times) {
#ifdef SCOPED
    const heapledger::owned_scope request("document");
    const heapledger::enter inside(request);
#endif
    std::string_view rest = text;
    const auto document = read(rest);
    annotate(*document, "document");
    total += written(*copied(*document)).size();
  }
  std::printf("%zu\n", total);
}
