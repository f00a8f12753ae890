"""What an earlier tool of this kind got wrong (research on alloc-counter: fifteen defects), one test each."""

import json
import os
import signal
import time

import ledger
from watching import WatchCase


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


class Defects(WatchCase):
    def test_01_no_lock_and_no_node_for_what_is_not_watched(self):
        """With the watch on, allocations of other places make no system call: no lock, and nothing allocated for them."""
        self.begin()
        self.suspect("m", 0, 5000)
        self.allocate("m", 0, 5000, 10)
        self.app("churn", 1, 100, 200)
        self.assertEqual(self.app("strict"), 0)
        self.assertEqual(self.app("churn", 1, 100_000, 200), 0)
        # And that the test can see one: a suspect's allocation takes the lock.
        with self.assertRaisesRegex(AssertionError, f"status -{signal.SIGKILL:d}"):
            self.app("alloc", "m", 0, 1, 5000, 64)

    def test_02_sizes_of_more_than_32_bits(self):
        self.begin()
        huge = (5 << 30) + 3
        account = self.suspect("m", 0, 1000)
        block, = self.allocate("m", 0, huge, fill=False)
        self.assertEqual(self.tool("counters", account)["chosen"], 1)
        self.assertIn([account, 2, 1000 + huge, 0, 0], self.tool("accounts"))
        self.assertEqual(self.slots(), [])  # more than a slot may take: refused, and as large as asked
        self.assertGreaterEqual(self.app("usable", block), huge)
        self.assertEqual(self.app("impossible"), 0)
        large = 60 << 20
        block, = self.allocate("m", 0, large, fill=False)
        self.assertEqual([s["bytes"] for s in self.slots()], [large])
        self.app("fill", block)
        self.assertEqual(self.app("wrong", block), 0)
        totals = self.quit()["totals"]
        self.assertGreaterEqual(totals["live_bytes"], huge + large)

    def test_03_realloc_that_shrinks(self):
        self.begin()
        account = self.suspect("m", 0, 5000)
        for size in (4999, 100, 1):
            block, = self.allocate("m", 0, 5000)
            near, = self.allocate("m", 1, 100)
            self.assertEqual(self.app("realloc", block, size), 0)
            self.assertEqual(self.app("wrong", near), 0)
            self.assertEqual(self.app("wrong", block), 0)
        self.assertEqual(self.slots(), [])
        self.assertEqual(self.tool("counters", account)["freed"], 3)  # and none of them is lost
        self.assertEqual(self.tool("answer")["live_bytes"], 0)
        self.assert_balanced(self.quit())

    def test_04_stacks_that_nobody_can_walk_to_the_end(self):
        """A fiber's ends where the C library starts it, and nothing hangs. stacks_test.py has the rest."""
        done = self.profile([ledger.program("shapes_fibers.O2")], "--leaks")
        self.assertEqual(done.status, 0, done)
        inside = [s for s in done.report["stacks"] if "site_in_fiber" in ledger.functions(s)]
        self.assertEqual({ledger.module(ledger.frames(s)[-1]) for s in inside}, {"libc.so.6"})

    def test_05_times_of_a_clock_that_nobody_sets(self):
        self.begin()
        self.suspect("m", 0, 5000)
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        block, = self.allocate("m", 0, 5000)
        self.arm()
        self.app("free", block)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        slot, = self.slots("freed")
        self.assertEqual(sorted([before, slot["born"], slot["armed"], slot["ended"], after]),
                         [before, slot["born"], slot["armed"], slot["ended"], after])
        self.assertEqual(len({before, slot["born"], slot["armed"], slot["ended"], after}), 5)

    def test_06_each_process_has_its_own(self):
        self.begin()
        self.suspect("m", 0, 5000)
        first_app, first_tool = self.app, self.tool
        self.begin(watch=False)
        self.watch(start=None)
        self.assertEqual(self.tool("answer")["state"], 0)
        self.tool("start")
        self.settle()
        self.suspect("m", 0, 5000)
        self.allocate("m", 0, 5000, 4)
        second_tool = self.tool
        self.app, self.tool = first_app, first_tool
        self.allocate("m", 0, 5000, 7)
        self.assertEqual(len(self.slots()), 7)
        self.assertEqual(second_tool("answer")["live"], 4)

    def test_07_a_forked_child_can_be_watched(self):
        self.begin()
        self.suspect("m", 0, 5000)
        inherited = self.allocate("m", 0, 5000, 10)
        self.app("child")
        parents = self.tool
        self.segment = self.segment + ".1"
        self.watch()
        self.assertEqual(self.slots(), [])
        self.suspect("m", 0, 5000)
        own = self.allocate("m", 0, 5000, 10)
        self.arm()
        self.app("read", own[2])
        self.assertEqual(self.touched(), [i == 2 for i in range(10)])
        for block in inherited + own[:5]:
            self.assertEqual(self.app("wrong", block), 0)
            self.app("free", block)
        self.assertEqual(len(self.slots()), 5)
        r = self.quit_child()
        self.assertEqual(r["profiler"]["losses"].get("inherited_frees", 0), 10)
        self.tool = parents
        self.assertEqual(len(self.slots("apart")), 10)
        for block in inherited:
            self.assertEqual(self.app("wrong", block), 0)

    def quit_child(self):
        self.assertEqual(self.app("quit"), 0)  # the parent's reply
        return ledger.report(self.segment)

    def test_08_fifty_thousand_watched(self):
        """As many as the limit says, and threads and mappings can still be made."""
        self.begin()
        self.suspect("m", 0, 40)
        self.allocate("m", 0, 40, 50_100, fill=False)
        self.assertEqual(self.tool("answer")["live"], 50_000)
        self.assertEqual(self.tool("answer")["refused_most"], 100)
        self.app("thread", 10)
        self.arm()
        self.assertEqual(sum(self.touched()), 0)
        with open(f"/proc/{self.app.process.pid}/maps", encoding="utf-8") as file:
            self.assertLess(sum(1 for _ in file), 150)

    def test_09_a_page_for_a_small_block(self):
        self.begin()
        self.suspect("m", 0, 40)
        def used():
            status = status_of(self.app.process.pid)
            return sum(int(status[key].split()[0]) * 1024 for key in ("RssAnon", "RssShmem", "RssFile", "VmPTE"))
        before = used()
        self.allocate("m", 0, 40, 20_000, fill=False)
        self.assertLess((used() - before) / 20_000, 4096 + 512)

    def test_10_the_kernel_may_touch(self):
        """watch_test.py, Touching; here that a path in an armed block can be opened."""
        self.begin()
        self.suspect("m", 0, 5000)
        block, = self.allocate("m", 0, 5000)
        self.app("kernel", "name", block)
        self.arm()
        self.assertEqual(self.app("kernel", "path", block), 4096)
        self.assertEqual(self.touched(), [True])

    def test_11_no_signal_handler(self):
        self.begin(watch=False)
        keys = ("SigBlk", "SigIgn", "SigCgt", "Threads")
        before = {key: status_of(self.app.process.pid)[key] for key in keys}
        self.watch()
        self.suspect("m", 0, 5000)
        self.allocate("m", 0, 5000, 10)
        self.arm()
        self.assertEqual({key: status_of(self.app.process.pid)[key] for key in keys}, before)
        self.assertEqual(len(os.listdir(f"/proc/{self.app.process.pid}/fd")), 3)

    def watched_run(self, name, good, *options, arguments=()):
        """A program of the corpus under the watch, for longer where the machine let it do too little."""
        profile = self.path(f"{name}.hlp")
        for seconds in (5, 15, 60):
            done = ledger.execute([ledger.BIN, "run", "-q", "-f", "-o", profile, "--interval", "20", "--leaks", *options, "--",
                                   ledger.program("leaks_" + name), str(seconds), *arguments])
            self.assertEqual(done.status, 0, done)
            report = json.loads(ledger.execute([ledger.BIN, "leaks", "--json", profile]).out)
            if good(report):
                return profile, report
        self.fail(report)

    def test_12_pools_need_not_be_disabled(self):
        found = lambda report: [leak for leak in report["leaks"] if leak["verdict"] == "leak"]
        _, report = self.watched_run("pool_chunks", found, "--leaks-suspicious", "0.4", "--leaks-access", "0.8", "--leaks-rest", "0.2")
        leak, = found(report)
        self.assertEqual(leak["pool"], "requests")
        self.assertIn("leak_chunk", ledger.functions(leak))

    def test_13_taken_back_and_told_in_full(self):
        """A hasty verdict is taken back by an access; lines, intervals, suppressions, JSON. An acquittal ends: leaks_hunt.an_acquittal_ends
        of unit_tests."""
        profile, report = self.watched_run("growing_cache", lambda report: report["taken_back"] > 0 and report["leaks"],
                                           "--leaks-suspicious", "0.3", "--leaks-access", "0.05", "--leaks-rest", "0.05",
                                           arguments=["0.5"])
        entry, = [leak for leak in report["leaks"] if "remember" in ledger.functions(leak)]
        self.assertLessEqual(entry["bytes_low"], entry["bytes_high"])
        frame = next(f for f in entry["frames"] if f["function"] == "remember()")
        self.assertTrue(frame["file"].endswith("growing_cache.cpp") and frame["line"] > 0, frame)
        known = self.write("known.txt", "leak:remember*\n")
        hidden = json.loads(ledger.execute([ledger.BIN, "leaks", "--json", "--suppressions", known, profile]).out)
        self.assertEqual((hidden["leaks"], hidden["suppressed"]), ([], 1))

    def test_14_late_blocks_are_as_likely_as_early_ones(self):
        """Where there is room for all that are chosen, the sample has no favourites in time or size."""
        self.begin()
        self.suspect("m", 0, 64, chance=0.1)
        for size in (64, 640, 64, 640):
            self.allocate("m", 0, size, 4000, fill=False)
        slots = sorted(self.slots(), key=lambda s: s["born"])
        small = sum(s["bytes"] == 64 for s in slots)
        middle = [i for i, s in enumerate(slots) if s["bytes"] == 640][0]  # the end of the first quarter
        # Each quarter is binomial: 400, and 19 its deviation.
        self.assertLess(abs(small - 800), 6 * 27)
        self.assertLess(abs(middle - 400), 6 * 19)
        self.assertLess(abs(len(slots) - 1600), 6 * 38)

    def test_15_watched_again_after_an_access(self):
        """What was to do there: the protection comes off with an access and on again. Real programs: watch_programs_test.py."""
        self.begin()
        self.suspect("m", 0, 5000)
        block, = self.allocate("m", 0, 5000)
        for _ in range(3):
            self.arm()
            self.assertEqual(self.touched(), [False])
            self.app("read", block)
            self.assertEqual(self.touched(), [True])
        self.arm()
        self.assertEqual(self.touched(), [False])


if __name__ == "__main__":
    ledger.main()
