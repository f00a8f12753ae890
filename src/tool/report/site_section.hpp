// "Where": the largest allocation sites by one measure, each with the callers that lead to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tool/analyse/groups.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/profile/profile.hpp"
#include "tool/report/page.hpp"

namespace heapledger::report {

struct site_section_options {
  analyse::measure by = analyse::measure::live;
  std::int64_t shares_of = 0;  // 0: of what all have
  std::size_t top = 0;         // 0: `usual`, and none that hardly matter
  std::size_t usual = 10;
  std::size_t depth = 0;  // 0: what matters
  bool full_recursion = false;
  bool aside = false;                                       // not the list that the reader came for: less of each site
  std::function<std::string(const counters&)> amount = {};  // other words than those of `by`
};

// Sites of one profile, found once and shown by several measures.
class site_list {
 public:
  explicit site_list(const profile& p, const std::vector<bool>& left_out = {})
      : profile_(p), machinery_(p), sites_(analyse::find_sites(p, machinery_, left_out)) {}

  const profile& source() const { return profile_; }
  const std::vector<analyse::site>& sites() const { return sites_; }
  analyse::machinery& machinery() { return machinery_; }

 private:
  const profile& profile_;
  analyse::machinery machinery_;
  std::vector<analyse::site> sites_;
};

void write_sites(page& page, site_list& list, const site_section_options& options);

// One stack, for errors: what matters of it, indented.
void write_stack(page& page, const profile& p, analyse::machinery& machinery, std::uint32_t node);

}  // namespace heapledger::report
