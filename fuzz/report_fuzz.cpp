// Any profile that is accepted can be shown: as text and JSON, in windows between its snapshots, compared, on the live
// view's screen, its leaks with suppressions. Text holds no control character and is UTF-8; JSON is JSON.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tool/analyse/snapshots.hpp"
#include "tool/diff/compare.hpp"
#include "tool/leaks/suppressions.hpp"
#include "tool/live/screen.hpp"
#include "tool/live/source.hpp"
#include "tool/live/view.hpp"
#include "tool/profile/container.hpp"
#include "tool/profile/payload.hpp"
#include "tool/report/diff_json.hpp"
#include "tool/report/diff_text.hpp"
#include "tool/report/json.hpp"
#include "tool/report/leaks_json.hpp"
#include "tool/report/leaks_text.hpp"
#include "tool/report/text.hpp"

using namespace heapledger;

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

bool is_utf8(std::string_view text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

void require_plain(std::string_view text) {
  for (const char c : text) require((static_cast<unsigned char>(c) >= 0x20 || c == '\n') && c != 0x7f);
  require(is_utf8(text));
}

template <class Write>
void require_json(Write write) {
  std::string text;
  write([&](std::string_view piece) { text += piece; });
  require(nlohmann::json::accept(text));
}

void show(const profile& p) {
  for (const auto by : {analyse::measure::live, analyse::measure::temporary})
    for (const bool full : {false, true}) {
      report::text_options options;
      options.by = by;
      options.full_recursion = full;
      options.top = full ? 3 : 0;
      options.depth = full ? 4 : 0;
      options.file = "file";
      options.style.unicode = full;
      options.style.width = full ? 100 : 80;
      require_plain(report::text_report(p, options));
    }
  require_json([&](auto sink) { report::write_json(p, {analyse::measure::live, 0}, sink); });
}

void show_leaks(const profile& p) {
  if (!p.leaks) return;
  require_plain(report::leaks_text(p, p.leaks->entries, {0, 0, {}, {}}));
  require(nlohmann::json::accept(report::leaks_json(p, p.leaks->entries, 0)));
  const auto known = leaks::suppressions::parse("leak:*a*b\nleak:^x$\n", "suppressions");
  for (const auto& stack : p.stacks) known.matches(p, stack.node);
}

void compare(const profile& before, const profile& after) {
  const diff::comparison compared(before, after);
  require_plain(report::diff_text(compared, {}, {analyse::measure::peak, 0, {}, "old", "new"}));
  require_json([&](auto sink) { report::write_diff_json(compared, {}, {analyse::measure::live, 0}, sink); });
}

void look_live(const profile& p) {
  const auto source = live::show_profile(p);
  live::screen screen(*source, live::order::live, live::subject{}, true);
  const auto draw = [&] {
    for (const auto& line : screen.draw(20, 90)) require_plain(line.text);
  };
  for (const char key : std::string_view("lgcmw1234/ax")) {
    screen.type(key);
    draw();
  }
  for (const auto key : {live::key::escape, live::key::escape, live::key::enter, live::key::down, live::key::enter}) {
    screen.press(key);
    draw();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::uint32_t few = 4;
  profile given;
  try {
    given = format::decode({reinterpret_cast<const char*>(data), size});
  } catch (const format::damage&) {
    return 0;
  }
  show(given);
  show_leaks(given);
  for (std::uint32_t i = 0; i < given.markers.size() && i < few; ++i) {
    show(analyse::profile_at(given, i));
    show(analyse::profile_between(given, i, {}));
  }
  const profile nothing;
  compare(given, given);
  compare(nothing, given);
  compare(given, nothing);
  look_live(given);
  return 0;
}
