"""Whatever allocator lies below, or replaces a part: the program does what it does alone, and is counted."""

import glob
import os

import ledger

LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.[0-9]"}


class Allocators(ledger.Case):
    def client(self, name, env=None):
        r = self.assert_same([ledger.program(name), "4"], env=env, processes=1).report
        self.assertEqual(r["errors"], [])
        self.assertNotIn("foreign_frees", r["profiler"]["losses"])
        return r

    def books(self, r):
        """What the client itself allocates: allocators and the loader may allocate for themselves."""
        stacks = [s for s in r["stacks"] if any(f.startswith("work") for f in ledger.functions(s))]
        return {key: ledger.total(stacks, key) for key in ledger.BOOK_KEYS}

    def test_the_same_books_on_every_allocator(self):
        expected = self.books(self.client("allocator_client"))
        self.assertGreater(expected["allocations"], 4 * 4000)
        self.assertEqual(expected["allocations"], expected["frees"])
        tried = 0
        for name, file in LIBRARIES.items():
            if os.path.exists(ledger.program(f"allocator_client_{name}")):
                with self.subTest(linked=name):
                    self.assertEqual(self.books(self.client(f"allocator_client_{name}")), expected)
                tried += 1
            for path in glob.glob(f"/usr/lib/*/{file}"):
                with self.subTest(preloaded=path):
                    self.assertEqual(self.books(self.client("allocator_client", {"LD_PRELOAD": path})), expected)
                tried += 1
        if not tried:
            self.skipTest("no other allocator is installed")

    def test_sizes_that_are_believed(self):
        """What jemalloc is told of a block is less than what the probe asked for."""
        installed = glob.glob("/usr/lib/*/libjemalloc.so.2")
        if not installed:
            self.skipTest("jemalloc is not installed")
        for path in installed:
            r = self.assert_same([ledger.program("sized_release")], env={"LD_PRELOAD": path}, processes=1).report
            self.assertEqual(r["errors"], [])
            self.assertNotIn("foreign_frees", r["profiler"]["losses"])
            at_site = [s for s in r["stacks"] if "site_sized" in ledger.functions(s)]
            self.assertEqual(ledger.total(at_site, "allocations"), 400000)
            self.assertEqual(ledger.total(at_site, "frees"), 400000)

    def test_sizes_that_come_late(self):
        """tcmalloc answers 0 of every block until its constructor has run; by then libraries' constructors have."""
        self.early_blocks("late_sizes.so", 332)  # to nothing is to be freed

    def test_no_sizes(self):
        """libc's malloc_usable_size says nothing of the blocks of an allocator that has none."""
        self.early_blocks("sizeless.so", 334)

    def early_blocks(self, allocator, resized):
        done = self.assert_same([ledger.program("early_blocks")], env={"LD_PRELOAD": ledger.program(allocator)}, processes=1)
        self.assertEqual(done.status, 0, done)
        r = done.report
        self.assertEqual(r["errors"], [])
        self.assertNotIn("foreign_frees", r["profiler"]["losses"])
        for site, count in (("site_early", 1000), ("site_resize", resized)):
            stacks = [s for s in r["stacks"] if site in ledger.functions(s)]
            self.assertEqual([ledger.total(stacks, key) for key in ("allocations", "frees")], [count, count], site)
            self.assertEqual(ledger.total(stacks, "allocated_bytes"), ledger.total(stacks, "freed_bytes"), site)

    def test_the_own_functions_of_jemalloc(self):
        """Counted as malloc's are, in any mixture with them; and what sallocx tells the program to use does not hold the tag."""
        installed = glob.glob("/usr/lib/*/libjemalloc.so.2")
        if not installed:
            self.skipTest("jemalloc is not installed")
        for path in installed:
            done = self.assert_same([ledger.program("mallocx_client")], env={"LD_PRELOAD": path}, processes=1)
            self.assert_counted(done)
        with self.subTest("where there is none, they are made of malloc's"):
            self.assert_counted(self.profile([ledger.program("mallocx_client")]))

    def assert_counted(self, done):
        r = done.report
        self.assertEqual(r["errors"], [])
        self.assertNotIn("foreign_frees", r["profiler"]["losses"])
        stacks = [s for s in r["stacks"] if {"site_take", "site_resize"} & set(ledger.functions(s))]
        counted = [ledger.total(stacks, key) for key in ("allocations", "allocated_bytes", "frees")]
        self.assertEqual(counted, [int(word) for word in done.out.split()])

    def test_own_operators(self):
        """Operators that the program replaces stay replaced, and what builds on them keeps building on them."""
        r = self.assert_same([ledger.program("own_operators")], processes=1).report
        self.assert_sums(r)
        self.assertEqual(r["errors"], [])

    def test_operators_of_a_library(self):
        """Which the program is linked with, or which a program without operators opens; bound within it, or not."""
        for kind in ("global", "symbolic"):
            for command in ([ledger.program(f"arena_operators_client_{kind}")],
                            [ledger.program("opens_plugin"), ledger.program(f"arena_operators_{kind}.so")]):
                with self.subTest(command=command):
                    done = self.assert_same(command, processes=1)
                    self.assertEqual(done.status, 0, done)
                    self.assertEqual(done.report["errors"], [])

    def test_own_malloc(self):
        self.assert_same([ledger.program("own_malloc")])

    def test_preload_of_the_user(self):
        """A library that the user preloads stays in the environment, and ours does not show."""
        env = {"LD_PRELOAD": ledger.program("plugin_a.so")}
        done = self.assert_same(["/usr/bin/printenv", "LD_PRELOAD"], env=env)
        self.assertEqual(done.out.decode().strip(), env["LD_PRELOAD"])


if __name__ == "__main__":
    ledger.main()
