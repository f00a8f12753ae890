"""speedscope itself, from its npm package, imports what we export: each total, and each function's self and total."""

import collections
import json
import os

import ledger

NODE = os.environ.get("HEAPLEDGER_NODE", "")
UI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ui")
BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")
HOSTILE = os.path.join(os.path.dirname(ledger.BIN), "hostile_profile")
SHOWN = {"at the peak": "peak_bytes", "never freed": "live_bytes", "allocated": "allocated_bytes", "allocations": "allocations"}


class Speedscope(ledger.Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(NODE) or not os.path.exists(os.path.join(UI, "node_modules/speedscope")):
            self.skipTest("built without node and npm")
        if not os.path.exists(BROWSER):
            self.skipTest("no chromium")

    def imported(self, profile):
        """What speedscope makes of its own format, of folded stacks and of pprof."""
        files = []
        for kind, name in (("speedscope", "a.speedscope.json"), ("folded", "b.folded.txt"), ("pprof", "c.pb.gz")):
            files.append(self.path(name))
            done = ledger.execute([ledger.BIN, "export", "-q", "--format", kind, "-o", files[-1], profile])
            self.assertEqual(done.status, 0, done)
        done = ledger.execute([NODE, os.path.join(UI, "test/speedscope.mjs"), *files],
                              env={"HOME": self.dir, "CHROMIUM": BROWSER})
        self.assertEqual(done.status, 0, done)
        return [{one["name"]: one for one in file["profiles"]} for file in json.loads(done.out)]

    def check(self, profile):
        report = ledger.report(profile)
        totals = report["totals"]
        ours, folded, pprof = self.imported(profile)
        self.assertEqual({name: one["total"] for name, one in ours.items()},
                         {name: totals[key] for name, key in SHOWN.items()})
        self.assertEqual({name: one["unit"] for name, one in ours.items()},
                         {name: "none" if name == "allocations" else "bytes" for name in SHOWN})
        self.assertEqual([one["total"] for one in folded.values()], [totals["peak_bytes"]])
        self.assertEqual({one["total"] for one in pprof.values()}, {totals["peak_bytes"]})  # it reads the default only
        for name, key in SHOWN.items():
            self.check_functions(report, ours[name]["frames"], key)
        return ours

    def check_functions(self, report, frames, key):
        """Names that stand for one function in one file: speedscope tells others apart as we do, but by no name."""
        places = collections.defaultdict(set)
        own, total = collections.Counter(), collections.Counter()
        for stack in report["stacks"]:
            for frame in stack["frames"]:
                places[frame.get("function")].add(frame.get("file"))
            if stack["frames"]:
                own[stack["frames"][0].get("function")] += stack[key]
            for name in {frame.get("function") for frame in stack["frames"]}:
                total[name] += stack[key]
        seen = 0
        shown = collections.Counter(frame["name"] for frame in frames if frame["total"])
        for frame in frames:
            name = frame["name"]
            if len(places.get(name, ())) != 1 or shown[name] != 1 or not frame["total"]:
                continue
            self.assertEqual((frame["self"], frame["total"]), (own[name], total[name]), f"{name} by {key}")
            seen += 1
        self.assertGreater(seen, 0, key)

    def test_threads_and_recursion(self):
        self.check(self.profile([ledger.program("books_threads"), self.path("books"), "3", "2000"]).files[0])

    def test_regression(self):
        self.check(self.profile([ledger.program("regression_after")]).files[0])

    def test_hostile_names(self):
        profile = self.path("hostile.hlp")
        self.assertEqual(ledger.execute([HOSTILE, profile]).status, 0)
        names = {frame["name"] for one in self.check(profile).values() for frame in one["frames"]}
        self.assertIn('f<a, "b">(char const*) const;\\x0a 12345', names)


if __name__ == "__main__":
    ledger.main()
