"""The leak watch where something is short or gone: memory, mappings, descriptors, the tool, an old kernel's abilities."""

import ctypes.util
import math
import os
import resource
import subprocess
import time
import unittest

import ledger
from ledger import program
from watching import Talker, WatchCase

NO_ADDRESS_ROOM = 2
WATCHING, STOPPED, IMPOSSIBLE = 1, 2, 3


def mapping_count(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return sum(1 for _ in file)


class Sampling(WatchCase):
    def test_the_coin_is_fair(self):
        """Of many blocks a binomial number is chosen, in any order of sizes, whatever is in slots already."""
        self.begin()
        account = self.suspect("m", 0, 100, chance=0.125)
        count = 20_000
        self.allocate("m", 0, 100, count, fill=False)
        counters = self.tool("counters", account)
        self.assertEqual(counters["placed"], counters["chosen"], self.tool("answer"))
        deviation = math.sqrt(count * 0.125 * 0.875)
        self.assertLess(abs(counters["chosen"] - count * 0.125), 6 * deviation)  # by chance: 1 in 10^9
        ids = [s["address"] for s in self.slots()]
        self.assertEqual(len(ids), counters["placed"])

    def test_limits(self):
        self.begin(watch=False)
        self.watch(start=("start", 1000, 10, 100_000, 40_000))
        account = self.suspect("m", 0, 50, most=7)
        self.allocate("m", 0, 50, 20)
        self.assertEqual(len(self.slots()), 7)
        other = self.suspect("m", 1, 51)
        self.allocate("m", 1, 51, 20)
        self.assertEqual(len(self.slots()), 10)
        self.assertEqual(self.tool("counters", account)["chosen"], 20)
        self.assertEqual(self.tool("counters", other)["placed"], 3)
        self.assertEqual(self.tool("answer")["refused_most"], 13 + 17)
        for block in (1, 2, 3, 4):
            self.app("free", block)
        third = self.suspect("m", 2, 30_000)
        self.allocate("m", 2, 30_000, 4)
        self.assertEqual(self.tool("counters", third)["placed"], 3)  # 100 kB in all
        self.allocate("m", 2, 45_000)
        self.assertEqual(self.tool("counters", third)["placed"], 3)

    def test_threads_and_short_lived(self):
        """Threads that come after the suspicion; blocks that come and go between two looks are in the sums."""
        self.begin()
        self.app("thread", 1)
        account = self.account_of(48, 1)
        self.tool("suspect", account, 1, 1000)
        self.settle()
        self.app("thread", 100)
        self.assertEqual(len(self.slots()), 100)
        self.assertNotIn(self.app.process.pid, [s["tid"] for s in self.slots()])
        self.suspect("m", 0, 3000)
        before = self.tool("answer")["placed"]
        self.app("churn", 0, 5000, 3001)
        first = [a[0] for a in self.tool("accounts") if a[1] == 5000 and a[2] == 5000 * 3001][0]
        self.tool("suspect", first, 1, 10)
        self.settle()
        self.app("churn", 0, 5000, 3001)
        counters = self.tool("counters", first)
        self.assertEqual((counters["placed"], counters["freed"], counters["live"]), (5000, 5000, 0))
        self.assertEqual(self.tool("answer")["placed"] - before, 5000)
        self.assertLess(self.tool("answer")["slot_count"], 4096)
        self.assert_balanced(self.quit())


class Stress(WatchCase):
    def run_stress(self, forks, **begin):
        self.begin(**begin)
        self.app("stress", 1, 100, 0)
        for account in self.tool("accounts"):
            self.tool("suspect", account[0], 0.3, 100_000)
        self.settle()
        before = self.tool("answer")["placed"]
        self.app.say("stress", 4, 20_000, forks)
        armed = 0
        while not self.app.has_answered():
            armed += self.tool("arm")
            self.tool("slots")
        self.assertEqual(self.app.answer(), 0)
        self.settle()
        answer = self.tool("answer")
        self.assertGreater(armed, 1)
        self.assertGreater(answer["placed"] - before, 5000)
        left = answer["live"] + answer["apart"]
        self.assertEqual(answer["placed"] - answer["freed"], left)
        self.assertLessEqual(left, 5)  # what the C library keeps of threads that ended
        r = self.quit()
        self.assert_balanced(r)
        self.assertLessEqual(r["totals"]["live_blocks"], 7)

    def test_threads(self):
        self.run_stress(0)

    def test_threads_and_forks(self):
        self.run_stress(40)


class Tools(WatchCase):
    def test_killed_and_resumed(self):
        self.begin()
        account = self.suspect("m", 0, 5000)
        self.allocate("m", 0, 5000, 10)
        self.arm()
        self.tool.process.kill()
        self.tool.end()
        self.app("read", 3)
        self.allocate("m", 0, 5000, 5)
        self.watch(start=None)
        slots = self.slots()
        self.assertEqual([s["account"] for s in slots], [account] * 15)
        self.assertEqual([s["present"] for s in slots[:10]], [i == 2 for i in range(10)])
        self.assertTrue(all(s["armed"] for s in slots[:10]))
        self.tool("start")
        self.settle()
        self.arm()
        self.assertEqual(self.touched(), [False] * 15)
        self.tool("suspect", account, 1, 100_000)
        self.settle()
        self.allocate("m", 0, 5000, 5)
        self.assertEqual(len(self.slots()), 20)
        self.assertEqual(self.tool("counters", account)["placed"], 20)

    def test_a_dead_tools_watch_ends_by_itself(self):
        self.begin(watch=False)
        self.watch(start=("start", 0.05))
        self.app("alloc", "m", 0, 1, 5000)
        self.tool("suspect", self.account_of(5000, 1), 1, 1000)
        self.tool.process.kill()
        self.tool.end()
        self.tool = None
        over = time.monotonic() + 0.06  # the lease has ended by then
        while time.monotonic() < over:
            self.app("beat")
        self.allocate("m", 0, 5000, 10)
        self.app("beat")
        self.watch(start=None)
        self.assertLessEqual(len(self.slots()), 1)
        self.assertEqual(self.tool("answer")["state"], STOPPED)
        self.assert_balanced(self.quit())

    def test_two_tools(self):
        self.begin()
        second = Talker([program("watcher"), self.segment])
        self.addCleanup(second.end)
        self.assertIn("another heapledger", second.answer()["error"])

    def test_stop_and_start(self):
        self.begin()
        self.suspect("m", 0, 5000)
        self.allocate("m", 0, 5000, 3)
        self.tool("stop")
        self.settle()
        self.allocate("m", 0, 5000, 3)
        self.assertEqual(len(self.slots()), 3)
        self.assertEqual(self.tool("answer")["state"], STOPPED)
        self.tool("start")
        self.settle()
        self.allocate("m", 0, 5000, 3)
        self.assertEqual(len(self.slots()), 6)

    def test_nothing_before_the_start(self):
        self.begin(watch=False)
        before = mapping_count(self.app.process.pid)
        self.allocate("m", 0, 5000, 3)
        self.watch(start=None)
        answer = self.tool("answer")
        self.assertEqual((answer["state"], answer["base"], answer["slot_count"]), (0, 0, 0))
        self.assertEqual(mapping_count(self.app.process.pid), before)

    def test_hostile_requests(self):
        """Words that no tool of ours writes: the program runs on."""
        self.begin()
        self.suspect("m", 0, 5000)
        self.allocate("m", 0, 5000, 20)
        self.arm()
        self.tool.end()
        hostile = subprocess.run([program("watcher"), self.segment, "hostile"], stdout=subprocess.PIPE, input=b"", check=False)
        self.assertEqual(hostile.returncode, 0, hostile.stdout)
        for _ in range(20):
            self.app("beat")
            self.allocate("m", 0, 5000, 3)
        self.assert_balanced(self.quit())


class Shortages(WatchCase):
    def goes_on(self, count=20):
        self.suspect("m", 0, 5000)
        blocks = self.allocate("m", 0, 5000, count)
        self.arm()
        self.app("read", blocks[1])
        self.assertEqual(self.touched(), [i == 1 for i in range(count)])
        return blocks

    def test_a_program_that_closes_everything(self):
        self.begin()
        before = self.app("count_fds")
        self.app("close_all")
        blocks = self.goes_on()
        self.app("close_all")
        self.assertEqual(self.app("fork", 1, 0), 0)
        self.allocate("m", 0, 5000, 3)
        self.assertEqual(len(self.slots()), 3)
        self.assertEqual(self.app("count_fds"), before)
        self.assertEqual(self.app("wrong", blocks[0]), 0)

    def test_few_mappings(self):
        """Not one for each slot: 20,000 slots, and as many mappings as before but a few."""
        self.begin(watch=False)
        before = mapping_count(self.app.process.pid)
        self.watch()
        self.suspect("m", 0, 40)
        self.allocate("m", 0, 40, 20_000, fill=False)
        self.arm()
        self.assertEqual(len(self.slots()), 20_000)
        self.assertLess(mapping_count(self.app.process.pid) - before, 40)

    def test_no_mappings_left(self):
        self.begin()
        self.suspect("m", 0, 40)
        first = self.allocate("m", 0, 40, 4000)
        self.app("alloc", "m", 1, 1000, 1000)  # so that malloc itself needs no mapping
        for block in range(4001, 5001):
            self.app("free", block)
        if self.app("maps", 1 << 20) == 1 << 20:
            self.skipTest("vm.max_map_count has no end")
        more = self.allocate("m", 0, 40, 200)
        self.assertEqual(len(self.slots()), 4096)
        self.assertEqual(self.tool("answer")["refused_room"], 104)
        self.arm()
        for block in first + more:
            self.app("free", block)
        self.assert_balanced(self.quit(), losses=("large_full", "segment_full", "foreign_frees"))

    def test_no_mappings_at_the_start(self):
        self.begin(watch=False)
        self.app("maps", 1 << 20)
        self.watch()
        answer = self.tool("answer")
        self.assertEqual((answer["state"], answer["obstacle"], answer["error"]), (IMPOSSIBLE, NO_ADDRESS_ROOM, 12))

    def test_little_address_space(self):
        """A window of a thirty-second of what there is; none where that is less than an arena."""
        for limit, slots in ((40 << 30, 16_384), (9 << 30, 4096), (4 << 30, 0)):
            self.begin(watch=False)
            self.app("address_space", limit)
            self.watch()
            answer = self.tool("answer")
            self.assertEqual(answer["slot_limit"], slots)
            self.assertEqual(answer["state"], WATCHING if slots else IMPOSSIBLE)
            if slots:
                self.goes_on()

    def test_small_files_only(self):
        """RLIMIT_FSIZE would kill the program with SIGXFSZ."""
        self.begin(watch=False)
        self.app("file_size", 1 << 20)
        self.watch()
        answer = self.tool("answer")
        self.assertEqual((answer["state"], answer["obstacle"]), (IMPOSSIBLE, NO_ADDRESS_ROOM))
        self.allocate("m", 0, 5000, 3)

    def locked(self, flags, before):
        self.begin(watch=False)
        if before and self.app("lock", flags) != 0:
            self.skipTest("mlockall is not allowed here")
        self.watch()
        blocks = self.goes_on()
        if not before and self.app("lock", flags) != 0:
            self.skipTest("mlockall is not allowed here")
        self.arm()
        self.app("read", blocks[4])
        self.assertEqual(self.touched(), [i == 4 for i in range(20)])
        self.app("free", blocks[0])
        with open(f"/proc/{self.app.process.pid}/smaps_rollup", encoding="utf-8") as file:
            resident = [int(line.split()[1]) for line in file if line.startswith("Rss:")]
        return resident[0] / 1024, self.tool("answer")

    def test_mlockall_of_the_future(self):
        resident, _ = self.locked(2, before=True)
        self.assertLess(resident, 100)  # MiB; an arena has 256

    @unittest.skipIf(resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] < 1 << 33 and os.geteuid() != 0, "mlockall is limited")
    def test_mlockall_of_everything(self):
        _, answer = self.locked(1, before=False)
        self.assertGreater(answer["locked_arms"], 0)
        self.assertEqual(answer["failed_arms"], 0)


class Allocators(WatchCase):
    def test_other_allocators(self):
        """Where sizes are asked by a call, watched blocks are not asked about."""
        tried = 0
        for name in ("jemalloc", "tcmalloc", "mimalloc"):
            library = ctypes.util.find_library(name)
            if library is None:
                continue
            tried += 1
            self.begin(preload=library)
            self.suspect("m", 0, 5000)
            blocks = self.allocate("m", 0, 5000, 20)
            self.assertEqual(len(self.slots()), 20, name)
            self.arm()
            self.app("read", blocks[1])
            self.assertEqual(self.touched(), [i == 1 for i in range(20)], name)
            for size in (10, 5000, 100_000, 20):
                self.assertEqual(self.app("realloc", blocks[2], size), 0)
            self.assertGreaterEqual(self.app("usable", blocks[3]), 5000)
            for block in blocks:
                self.app("free", block)
            self.assertEqual(self.slots(), [])
            self.assert_balanced(self.quit(), losses=("stack_cut_no_rule",))
        if not tried:
            self.skipTest("there is none here")


if __name__ == "__main__":
    ledger.main()
