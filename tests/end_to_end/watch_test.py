"""The leak watch's mechanism: what is placed, armed, touched, moved and freed, and that the books do not change by it."""

import ledger
from watching import WatchCase

KERNEL_READS = ("write", "send", "futex", "vm_readv", "direct_write")
KERNEL_WRITES = ("read", "recv", "getrandom", "vm_writev", "direct_read")


class Placing(WatchCase):
    def test_every_allocation_of_a_suspect_and_of_no_other(self):
        self.begin()
        account = self.suspect("m", 0, 1000)
        self.allocate("m", 0, 1000, 20)
        self.allocate("m", 1, 1001, 20)
        slots = self.slots()
        self.assertEqual([s["account"] for s in slots], [account] * 20)
        self.assertEqual([s["bytes"] for s in slots], [1000] * 20)
        self.assertEqual(len({s["slot"] for s in slots}), 20)
        counters = self.tool("counters", account)
        self.assertEqual((counters["chosen"], counters["placed"], counters["placed_bytes"]), (20, 20, 20_000))

    def test_a_block_remembers_its_chance_and_the_share_of_time(self):
        self.begin()
        account = self.suspect("m", 0, 1000, chance=1)
        self.allocate("m", 0, 1000)
        self.assertTrue(self.tool("suspect", account, 1, 100, 0.25))
        self.settle()
        self.allocate("m", 0, 1000)
        self.assertEqual([s["chance"] for s in self.slots()], [1, 0.25])

    def test_acquitted(self):
        self.begin()
        account = self.suspect("m", 0, 1000)
        self.allocate("m", 0, 1000)
        self.tool("acquit", account)
        self.settle()
        self.allocate("m", 0, 1000, 5)
        self.assertEqual(len(self.slots()), 1)
        self.tool("suspect", account, 1, 100)
        self.settle()
        self.allocate("m", 0, 1000, 5)
        self.assertEqual(len(self.slots()), 6)

    def test_every_way_to_allocate(self):
        """Alignment, zeros, sizes and operators are what they are elsewhere."""
        self.begin()
        ways = [("m", 0), ("c", 0), ("n", 0), ("N", 0), ("a", 64), ("p", 8), ("p", 512), ("p", 4096), ("g", 2048)]
        suspects = set()
        for kind, alignment in ways:
            if kind not in suspects:
                self.suspect(kind, 2, 100_001 + len(suspects), alignment or 64)
                suspects.add(kind)
            for each in (1, 24, 4000, 4096, 60_000, 65_536, 300_000):
                what = (kind, alignment, each)
                first, second = self.allocate(kind, 2, each, 2, alignment or 64, fill=False)
                for block in (first, second):
                    self.assertEqual(self.app("misaligned", block, alignment or 16), 0, what)
                    self.assertGreaterEqual(self.app("usable", block), each, what)
                    self.assertEqual(kind == "c" and self.app("nonzero", block), 0, what)
                    self.app("fill", block)
                self.assertEqual([s["bytes"] for s in self.slots()], [each] * 2, what)
                self.app("free", first)
                self.assertEqual(self.app("wrong", second), 0, what)
                again, = self.allocate(kind, 2, each, 1, alignment or 64, fill=False)
                self.assertEqual(kind == "c" and self.app("nonzero", again), 0, what)
                self.app("free", again)
                self.app("free", second)
        self.assertEqual(self.slots(), [])
        self.assert_balanced(self.quit())

    def test_in_a_scope(self):
        """Its account is another, its budget counts watched blocks, and they may change their scope."""
        self.begin()
        outside = self.suspect("m", 0, 1000)
        self.app("enter", 200_000)
        self.allocate("m", 0, 1001)
        inside = self.account_of(1001, 1)
        self.tool("suspect", inside, 1, 1000)
        self.settle()
        first = self.allocate("m", 0, 1001, 20)[0]
        self.assertEqual([s["account"] for s in self.slots()], [inside] * 20)
        self.assertEqual(self.app("scope_bytes"), 21 * 1001)
        self.assertEqual(self.app("alloc", "m", 0, 300, 1001), -1)
        self.assertEqual(self.app("scope_bytes"), 199 * 1001)
        self.assertEqual(len(self.slots()), 198)
        self.assertEqual(self.app("realloc", first, 40_000), -1)
        self.assertEqual(self.app("wrong", first), 0)
        self.assertEqual(self.app("transfer", first), 1)
        self.assertEqual(self.app("scope_bytes"), 198 * 1001)
        self.app("free", first)
        self.assertEqual(self.app("scope_bytes"), 198 * 1001)
        self.app("free", first + 1)
        self.assertEqual(self.app("scope_bytes"), 197 * 1001)
        self.app("leave")
        self.allocate("m", 0, 1000, 3)
        self.assertEqual([s["account"] for s in self.slots()].count(outside), 3)
        self.assert_balanced(self.quit())

    def test_slots_are_used_again(self):
        """Zeroed, and their memory was given back in between."""
        self.begin()
        self.suspect("c", 0, 20_000)
        before = self.shared_bytes()
        for block in self.allocate("c", 0, 20_000, 1500):
            self.app("free", block)
        self.assertLess(self.shared_bytes() - before, 4 << 20)
        again = self.allocate("c", 0, 20_000, 400, fill=False)
        self.assertGreater(sum(s["serial"] > 1 for s in self.slots()), 300)
        self.assertEqual([self.app("nonzero", block) for block in again], [0] * 400)

    def shared_bytes(self):
        with open(f"/proc/{self.app.process.pid}/status", encoding="utf-8") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("RssShmem:"))

    def test_slots_are_apart_where_fault_around_is(self):
        """Which maps the pages of a multiple of 64 KiB."""
        self.begin()
        self.assertEqual(self.tool("answer")["base"] % 65_536, 0)

    def test_an_alignment_beyond_a_slot_stays_outside(self):
        self.begin()
        account = self.suspect("p", 0, 5000, 65_536)
        block, = self.allocate("p", 0, 5000, 1, 65_536)
        self.assertEqual(self.app("misaligned", block, 65_536), 0)
        self.assertEqual(self.slots(), [])
        self.assertEqual(self.tool("counters", account)["chosen"], 1)
        self.assertEqual(self.tool("answer")["refused_room"], 1)

    def test_an_alignment_whatever_a_handler_asks_for(self):
        """A handler comes at each instruction of an aligned allocation in turn, and makes one of another alignment."""
        self.begin(under=[ledger.program("interrupted_steps")])
        self.app("interrupted", 0)
        account = self.account_of(5000, 1)
        self.assertTrue(self.tool("suspect", account, 1, 100_000))
        self.settle()
        self.assertEqual(self.app("interrupted", 1), 0)
        self.assertGreater(self.tool("counters", account)["placed"], 300)
        self.assert_balanced(self.quit())

    def test_books_are_the_same(self):
        """With the watch on, the report's totals are what the program did."""
        def run(watched):
            self.begin(watch=watched)
            self.app("alloc", "m", 0, 1, 1000)
            if watched:
                account = self.account_of(1000, 1)
                self.tool("suspect", account, 0.5, 100_000)
                self.settle()
            else:
                for _ in range(20):
                    self.app("beat")
            blocks = []
            for kind, site, size in (("m", 0, 1000), ("c", 1, 333), ("n", 2, 70_000)):
                blocks += self.allocate(kind, site, size, 50, fill=False)
            for block in blocks[::3]:
                self.app("free", block)
            for block in blocks[1:30:3]:
                self.app("realloc", block, 2000)
            if watched:
                self.assertGreater(self.tool("answer")["placed"], 10)
            r = self.quit()
            self.assert_balanced(r)
            beats = [s for s in r["stacks"] if s["allocated_bytes"] == 100_000 * s["allocations"]]
            self.assertEqual(len(beats), 1)
            stacks = sorted((s["allocations"], s["frees"], s["allocated_bytes"], s["freed_bytes"]) for s in r["stacks"]
                            if s not in beats)
            return stacks, [t - sum(s[k] for s in beats) for k, t in r["totals"].items() if k in ledger.BOOK_KEYS]
        self.assertEqual(run(True), run(False))

    def test_realloc(self):
        self.begin()
        self.suspect("m", 0, 500)
        block, = self.allocate("m", 0, 500)
        for size in (100, 500, 5000, 60_000, 70_000, 1_000_000, 10, 0):
            self.assertEqual(self.app("realloc", block, size), 0, size)
        self.assertEqual(self.slots(), [])
        # A stack that reallocates may be a suspect itself: then the block comes into a slot with what it held.
        block, = self.allocate("m", 1, 2001)
        self.app("realloc", block, 3001)
        accounts = [a for a in self.tool("accounts") if a[1] == 8]
        self.assertEqual(len(accounts), 1, accounts)  # main's realloc: seven above, and this one
        self.tool("suspect", accounts[0][0], 1, 100)
        self.settle()
        for size in (3500, 9000, 200, 90_000, 130_000, 50):
            self.assertEqual(self.app("realloc", block, size), 0, size)
            self.assertEqual([s["bytes"] for s in self.slots()], [size])
        self.assertGreaterEqual(self.app("usable", block), 50)
        self.app("free", block)
        self.assert_balanced(self.quit())

    def test_mistakes_are_found_in_slots_too(self):
        self.begin()
        self.suspect("m", 0, 500)
        first, second, third = self.allocate("m", 0, 500, 3)
        self.app("overflow", first)
        self.app("free", first)
        self.app("free_twice", second)
        self.app("free", third)
        errors = {e["kind"]: e["count"] for e in self.quit()["errors"]}
        self.assertEqual(errors, {"overflow": 1, "double-free": 1})


class Touching(WatchCase):
    def armed(self, size=5000, count=3, kind="m", alignment=64):
        self.begin()
        self.suspect(kind, 0, size, alignment)
        blocks = self.allocate(kind, 0, size, count, alignment)
        self.arm()
        self.assertEqual(self.touched(), [False] * count)
        return blocks

    def test_reads_and_writes(self):
        blocks = self.armed(count=4)
        self.app("read", blocks[1])
        self.app("write", blocks[2])
        self.assertEqual(self.touched(), [False, True, True, False])
        self.arm()
        self.assertEqual(self.touched(), [False] * 4)
        for block in blocks:
            self.assertEqual(self.app("wrong", block), 0)
        self.assertEqual(self.touched(), [True] * 4)

    def test_neighbours_stay_untouched(self):
        """Fault-around makes whole runs of pages present; none of them is another block's."""
        blocks = self.armed(size=40, count=200)
        for block in blocks[::2]:
            self.app("read", block)
        self.assertEqual(self.touched(), [True, False] * 100)

    def test_any_page_of_a_large_block(self):
        blocks = self.armed(size=1_000_000, count=3)
        self.app("read", blocks[1])
        self.assertEqual(self.touched(), [False, True, False])

    def test_the_kernel_reads(self):
        self.kernel(KERNEL_READS)

    def test_the_kernel_writes(self):
        self.kernel(KERNEL_WRITES)

    def kernel(self, ways):
        blocks = self.armed(size=4096, count=len(ways) * 2, kind="p", alignment=4096)
        for block, way in zip(blocks[::2], ways):
            result = self.app("kernel", way, block)
            if way.startswith("direct") and result == -22:
                self.skipTest("no O_DIRECT here")
            self.assertEqual(result, 4096, way)
        self.assertEqual(self.touched(), [True, False] * len(ways))

    def test_usable_size_and_free_of_an_armed_block(self):
        blocks = self.armed()
        self.app("free", blocks[0])
        self.assertEqual(self.touched(), [False, False])
        freed, = self.slots("freed")
        self.assertGreater(freed["ended"], freed["armed"])
        self.assertGreater(freed["armed"], freed["born"])

    def test_without_pagemap_scan(self):
        blocks = self.armed(count=300)
        self.tool.end()
        self.watch("read-only")
        for block in blocks[7::10]:
            self.app("read", block)
        self.assertEqual(self.touched(), [i % 10 == 7 for i in range(300)])
        self.assertFalse(self.tool("scans"))

    def test_the_book_keeping_touches_nothing(self):
        self.armed(count=50)
        self.app("churn", 0, 1000, 5000)
        self.allocate("m", 1, 70_000, 20)
        self.settle()
        self.assertEqual(self.touched()[:50], [False] * 50)


if __name__ == "__main__":
    ledger.main()
