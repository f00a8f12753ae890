"""Two builds of one program, the second with planted regressions and all of its code elsewhere."""

import json
import os
import shlex
import sys

import ledger


class Diff(ledger.Case):
    def setUp(self):
        super().setUp()
        self.old = self.profile([ledger.program("regression_before")]).files[0]
        self.new = self.profile([ledger.program("regression_after")]).files[0]

    def diff(self, *options, old=None, new=None):
        return ledger.execute([ledger.BIN, "diff", *options, old or self.old, new or self.new])

    def diff_json(self, *options, **files):
        done = self.diff("--json", *options, **files)
        self.assertIn(done.status, (0, 1), done)
        return json.loads(done.out), done.status

    def address_of(self, profile, function):
        return {f["address"] for s in ledger.report(profile)["stacks"] for f in s["frames"]
                if f.get("function", "").startswith(function)}

    def test_the_planted_function_comes_first(self):
        moved = self.address_of(self.old, "parser::read_header") & self.address_of(self.new, "parser::read_header")
        self.assertEqual(moved, set(), "the test needs code that moved")
        for by in ("peak", "live"):
            found, _ = self.diff_json("--by", by)
            self.assertTrue(found["functions"][0]["function"].startswith("parser::read_header("), found["functions"][0])
            self.assertEqual(found["functions"][0]["change"]["live_bytes"], 100 * 4096)
            text = self.diff("--by", by).out.decode()
            first = text[text.index("  1. "):].split("\n")
            self.assertIn("+400.0 KiB", first[0])
            self.assertIn("parser::read_header", first[1])
        found, _ = self.diff_json("--by", "allocated")
        self.assertTrue(found["functions"][0]["function"].startswith("parser::index_lines("), found["functions"][0])
        self.assertEqual(found["functions"][0]["change"]["allocated_bytes"], 100 * 200)

    def test_what_did_not_change_is_no_change(self):
        found, _ = self.diff_json()
        self.assertEqual([s["kind"] for s in found["stacks"] if s["kind"] in ("appeared", "vanished")], [])
        deeper = [s for s in found["stacks"] if any("descend" in f.get("function", "") for f in s["frames"])]
        self.assertEqual([s["change"]["allocations"] for s in deeper], [0] * len(deeper), "the recursion went deeper")
        same, status = self.diff_json("--fail-above", "0", "--fail-above", "allocations=0", new=self.old)
        self.assertEqual((same["stacks"], same["functions"], same["worse"], status), ([], [], False, 0))

    def test_changes_add_up_to_the_totals(self):
        found, _ = self.diff_json()
        old, new = ledger.report(self.old)["totals"], ledger.report(self.new)["totals"]
        for key in ("allocations", "frees", "temporaries", "allocated_bytes", "freed_bytes", "live_blocks", "live_bytes",
                    "peak_bytes"):
            change = new[key] - old[key]
            self.assertEqual(found["totals"]["old"][key], old[key])
            self.assertEqual(found["totals"]["new"][key], new[key])
            self.assertEqual(found["totals"]["change"][key], change)
            self.assertEqual(sum(s["change"][key] for s in found["stacks"]), change, key)

    def test_limits_decide_the_status(self):
        old, new = ledger.report(self.old)["totals"], ledger.report(self.new)["totals"]
        grown = new["peak_bytes"] - old["peak_bytes"]
        for limits, status in (([], 0), (["5%"], 1), (["peak=5%"], 1), ([f"peak={grown}"], 0), ([f"peak={grown - 1}"], 1),
                               (["live=1MiB"], 0), (["live=1MiB", "live=399KiB"], 1), (["live=400KiB"], 0),
                               (["allocations=0"], 0), (["count=0%"], 0), (["temporary=0"], 0), (["live=1000%"], 0)):
            with self.subTest(limits=limits):
                options = [word for limit in limits for word in ("--fail-above", limit)]
                for json_option in ([], ["--json"]):
                    done = self.diff(*options, *json_option)
                    self.assertEqual(done.status, status, done)
                    self.assertEqual(done.err.count(b"heapledger: worse: "), status, done)
                self.assertEqual(json.loads(done.out)["worse"], bool(status))
        self.assertEqual(self.diff("--fail-above", "0", "--fail-above", "live=0", old=self.new, new=self.old).status, 0)

    def test_the_next_step_works_as_it_is_written(self):
        last = [line for line in self.diff().out.decode().splitlines() if "html --diff" in line]
        self.assertEqual(len(last), 1)
        page = self.path("changes.html")
        done = ledger.execute([ledger.BIN, *shlex.split(last[0])[1:], "-o", page])
        self.assertEqual(done.status, 0, done)
        self.assertTrue(os.path.exists(page))

    def test_what_cannot_be_compared_is_said(self):
        for options, status in ((["--fail-above", "lots"], 2), (["--by", "size"], 2)):
            done = self.diff(*options)
            self.assertEqual((done.status, done.err.count(b"\n"), done.out), (status, 1, b""), done)
        missing = self.diff(new=self.path("none.hlp"))
        self.assertEqual((missing.status, missing.err.count(b"\n"), missing.out), (125, 1, b""), missing)
        self.assertIn(b"none.hlp", missing.err)

    def test_without_stacks_on_one_side_only_totals_are_compared(self):
        bare = self.profile([ledger.program("regression_before")], "--stacks", "off").files[0]
        for files, which in (({"old": bare, "new": self.old}, "old"), ({"old": self.old, "new": bare}, "new")):
            text = self.diff(**files).out.decode()
            self.assertIn(f"The {which} profile has no stacks, for it was recorded with --stacks off", text)
            self.assertNotIn("appeared", text)
            self.assertNotIn("vanished", text)
            self.assertNotIn("html --diff", text)
            self.assertIn("the same", text)
        self.assertIn("What changed most", self.diff(old=bare, new=bare).out.decode())

    def test_stacks_of_another_kind_are_said(self):
        short = self.profile([ledger.program("regression_before")], "--stacks", "fp", "--depth", "4").files[0]
        words = " ".join(self.diff(old=self.old, new=short).out.decode().split())
        self.assertIn("was recorded with --stacks dwarf, the new one with --stacks fp --depth 4:", words)
        self.assertNotIn("recorded with", self.diff().out.decode())
        found, _ = self.diff_json(old=self.old, new=short)
        self.assertEqual([found[of].get(key) for of in ("old", "new") for key in ("stacks", "depth_limit")],
                         ["dwarf", None, "fp", 4])

    def test_what_was_mapped_is_compared(self):
        code = "import mmap; held = [mmap.mmap(-1, 1 << 24) for i in range({})]"
        old, new = (self.profile([sys.executable, "-c", code.format(times)]).files[0] for times in (1, 3))
        found, _ = self.diff_json(old=old, new=new)
        peaks = [ledger.report(file)["mapped"]["peak_bytes"] for file in (old, new)]
        self.assertEqual([found[of]["mapped"]["peak_bytes"] for of in ("old", "new")], peaks)
        self.assertEqual(peaks[1] - peaks[0], 2 << 24)
        row = r"^ *mapped itself \(peak\) +[\d.]+ .?iB +[\d.]+ .?iB +\+[\d.]+ .?iB"
        self.assertRegex(self.diff(old=old, new=new).out.decode(), "(?m)" + row)
        self.assertRegex(self.diff(old=self.old, new=new).out.decode(), r"(?m)^ *mapped itself \(peak\) +0 B")
        self.assertNotIn("mapped itself", self.diff().out.decode())

    def test_hostile_names(self):
        hostile = self.path("hostile.hlp")
        maker = os.path.join(os.path.dirname(ledger.BIN), "hostile_profile")
        self.assertEqual(ledger.execute([maker, hostile]).status, 0)
        text = self.diff(old=hostile).out
        self.assertNotRegex(text.decode("utf-8", "strict"), "[\x00-\x09\x0b-\x1f\x7f\u202e]")
        found, _ = self.diff_json(old=hostile)
        vanished = [s for s in found["stacks"] if s["kind"] == "vanished"]
        self.assertTrue(any("not utf-8" in f.get("function", "") for s in vanished for f in s["frames"]))


if __name__ == "__main__":
    ledger.main()
