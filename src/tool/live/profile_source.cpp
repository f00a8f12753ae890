// A profile shown like a program that has ended.
#include <numeric>
#include <utility>

#include "tool/analyse/scopes.hpp"
#include "tool/live/mapped.hpp"
#include "tool/live/pools.hpp"
#include "tool/live/source.hpp"

namespace heapledger::live {
namespace {

class profile_source : public source {
 public:
  explicit profile_source(profile ended) : profile_(std::move(ended)) {
    only_.state = watched::ended;
    only_.time_ns = profile_.process.duration_ns;
    only_.totals = profile_.totals();
    for (std::uint32_t i = 0; i < profile_.stacks.size(); ++i)
      only_.stacks.push_back({.id = i, .name = {}, .count = profile_.stacks[i].count, .rate = {}});
    for (std::uint32_t i = 0; i < profile_.threads.size(); ++i) {
      const auto& thread = profile_.threads[i];
      only_.threads.push_back({.id = i,
                               .name = thread.name + " " + std::to_string(thread.tid),
                               .count = {.allocations = thread.allocations,
                                         .allocated_bytes = thread.allocated_bytes,
                                         .frees = thread.frees,
                                         .freed_bytes = thread.freed_bytes},
                               .rate = {}});
    }
    for (const auto& scope : analyse::scope_rows(profile_)) {
      std::string name;
      for (const auto& part : scope.path) name += (name.empty() ? "" : " / ") + part;
      if (name.empty()) name = "(in no scope)";
      only_.scopes.push_back({.id = static_cast<std::uint32_t>(only_.scopes.size()),
                              .name = std::move(name),
                              .count = scope.all,
                              .rate = {}});
      if (scope.path.empty()) only_.scopes.back().count = scope.alone;
    }
    only_.pools = pool_rows(profile_);
    if (profile_.mapped) {
      std::vector<std::uint32_t> ids(profile_.mapped->sites.size());
      std::iota(ids.begin(), ids.end(), 0);
      only_.mapped = mapped_rows(*profile_.mapped, ids);
      if (profile_.memory) only_.mapped_resident_bytes = profile_.memory->mapped_bytes;
    }
    stacks_ = profile_.stacks;
  }

  const process_info& process() const override { return profile_.process; }
  const sample& take() override { return only_; }

  const profile& describe(subject what, std::span<const std::uint32_t> rows) override {
    profile_.stacks.clear();
    for (const auto index : rows) {
      if (what == subject::stack)
        profile_.stacks.push_back(stacks_[index]);
      else
        profile_.stacks.push_back({.id = index, .node = profile_.mapped->sites[index].node, .scope = {}, .count = {}});
    }
    return profile_;
  }

 private:
  profile profile_;  // but for its stacks, those that are shown
  std::vector<stack_entry> stacks_;
  sample only_;
};

}  // namespace

std::unique_ptr<source> show_profile(profile ended) {
  return std::make_unique<profile_source>(std::move(ended));
}

}  // namespace heapledger::live
