// Writes a profile whose names try to break out of whatever they are written into: hostile_profile FILE.hlp
#include <cstdio>
#include <string>

#include "tool/profile/write.hpp"
#include "unit/report_sample.hpp"

using namespace heapledger;
using sample::booked;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sample::profile_builder builder;
  const std::string module = "/opt/my \"pro\ngram\";<b>&amp;\xff/bin";
  const std::string file = "/src/a b;\"c\",\n<d>\t\xc3\x28,(e:1).cpp";
  const sample::sample_frame main{"main", file, 1, module};
  builder.stack({{"f<a, \"b\">(char const*) const;\n 12345", file, 7, module}, main}, booked(5, 500, 2, 200, 400, 1));
  builder.stack({{"=HYPERLINK(\"http://x\",1)", file, 0, module}, main}, booked(1, 10, 0, 0, 10));
  builder.stack({{"</script><script>alert('1')</script>",
                  file,
                  3,
                  module,
                  {{"inlined; \\ \"\r\n 9", file, 4, module},
                   {"<a<T> as b>::f::<c>", file, 5, module},
                   {"ns::(anonymous namespace)::g(int)", file, 5, module},
                   {"h(int)::{lambda()#1}::operator()() const", file, 6, module},
                   {"std::vector<int>::reserve(unsigned long)", file, 6, module}}},
                 main},
                booked(2, 30, 0, 0, 30));
  builder.stack({{"\xff\xfe\x80 not utf-8 \xe2\x80\xae turned", file, 9, module}, main}, booked(1, 7, 0, 0, 7));
  builder.stack({{"\x1b[31mred\x07", "", 0, module}, main}, booked(1, 3, 0, 0, 3));
  builder.stack({{"", "", 0, module}, main}, booked(1, 2, 0, 0, 2));
  builder.stack({{"", "", 0, ""}}, booked(1, 1, 0, 0, 1));
  builder.stack({}, booked(1, 20, 0, 0, 20));
  builder.stack({{"", "", 0, ""}}, booked(1, 4, 0, 0, 4));  // the same frames as those of another stack
  profile& p = builder.edit();
  p.stacks[0].scope = {"query; \"a\"\n/ b 7", "<part>"};
  p.process.pid = 4711;
  p.process.exe = module;
  p.process.command = {"./my program", "--name=\"x\"\n#-----------\nsnapshot=9", "\xff", "a;b 12"};
  p.process.duration_ns = 2'000'000'000;
  p.process.ended = ending::exited;
  p.process.exit_code = 0;
  p.peak.time_ns = 1'000'000'000;
  p.timeline = {{500'000'000, 100, 3, 5, 4'096'000}, {1'500'000'000, 500, 9, 13, 8'192'000}};
  p.peak.error_bytes = 64;  // the timeline saw more at once than the stacks add up to
  for (auto& info : p.modules) info.build_id = "00ff\"\n\xff";
  write_profile(p, argv[1], true);
}
