"""Threads, signals, children and the end of memory: programs that go to the edge do what they do alone."""

import os

import ledger


class Threads(ledger.Case):
    def same(self, name, *arguments, timeout=ledger.TIMEOUT, processes=1):
        return self.assert_same([ledger.program(name), *arguments], processes=processes, timeout=timeout)

    def site(self, r, name):
        stacks = [s for s in r["stacks"] if name in ledger.functions(s)]
        return {key: ledger.total(stacks, key) for key in ledger.STACK_KEYS}

    def test_ten_thousand_short_threads(self):
        r = self.same("many_threads", "short", "10000").report
        self.assert_balanced(r)
        self.assertEqual(self.site(r, "site_thread")["allocations"], 10000)
        self.assertEqual(self.site(r, "site_thread")["frees"], 10000)

    def test_five_hundred_at_once(self):
        r = self.same("many_threads", "at_once", "500").report
        self.assert_balanced(r)
        self.assertEqual(self.site(r, "site_thread")["allocations"], 25000)
        names = {t["name"] for t in r["threads"]}
        self.assertLessEqual({f"worker-{i}" for i in range(500)}, names)
        self.assertEqual(len(r["threads"]), 501)

    def test_running_at_exit(self):
        for _ in range(10):
            r = self.same("many_threads", "at_exit", "4").report
            self.assertEqual(r["process"]["ended"], "exited")
            self.assertLessEqual(self.site(r, "site_thread")["allocations"] - self.site(r, "site_thread")["frees"], 4)

    def test_destructors_that_allocate(self):
        r = self.same("many_threads", "destructors", "50").report
        self.assert_balanced(r)
        # Each of 50 threads: 4 calls for the key and one object; the last thread: one of each.
        self.assertEqual(self.site(r, "site_thread")["allocations"], 50 * 5 + 2)
        self.assertEqual(self.site(r, "site_thread")["frees"], 50 * 5 + 2)

    def test_first_events_in_destructors(self):
        """Threads that have none before give their books back all the same: each may hold back a part of the peak."""
        r = self.same("many_threads", "late", "200").report
        self.assert_balanced(r)
        self.assertEqual(self.site(r, "site_thread")["allocations"], 200)
        self.assertLessEqual(r["totals"]["peak_bytes_error"], 3 * 32768)

    def child(self, *arguments):
        done = self.same("first_in_child", *arguments, processes=2)
        return [r for r in done.reports if r["process"].get("forked")]

    def test_childs_that_begin_oddly(self):
        """Its first event is another thread's, several threads' at once, or a realloc within a budget."""
        r, = self.child("thread")
        self.assert_balanced(r)
        site = self.site(r, "site_child")
        self.assertEqual((site["allocations"], site["frees"], site["allocated_bytes"]), (2, 1, 150))
        children = self.child("race", "30")
        self.assertEqual(len(children), 30)
        for r in children:
            self.assert_balanced(r)
            self.assertEqual(self.site(r, "site_child")["allocations"], 2)
        r, = self.child("realloc")
        self.assertEqual(r["totals"]["allocations"], 1)

    def test_a_child_with_the_smallest_stack(self):
        r, = self.child("small")
        self.assertEqual(self.site(r, "site_child")["allocated_bytes"], 100)

    def test_pools_of_a_child_that_allocated_first(self):
        r, = self.child("pool")
        pool, = r["pools"]
        self.assertEqual((pool["allocations"], pool["allocated_bytes"]), (8, 8 * 64))

    def test_large_blocks_of_the_parent(self):
        r, = self.child("large")
        self.assert_balanced(r, losses=("inherited_frees", "foreign_frees"))
        self.assertEqual(r["profiler"]["tag_bytes"], 1000 * 8)

    def test_block_of_the_grandparent(self):
        losses = [r["profiler"]["losses"] for r in self.same("first_in_child", "grandchild", processes=3).reports]
        self.assertEqual(sum(each.get("inherited_frees", 0) for each in losses), 1)
        self.assertEqual(sum(each.get("foreign_frees", 0) for each in losses), 0)

    def test_more_threads_than_books(self):
        """In a small file there are none for some of a crowd; each of them takes one thread's place in it, not one for each event."""
        command = ["prlimit", "--fsize=9216000", ledger.program("many_threads"), "at_once", "1100"]
        losses = self.assert_same(command).of("many_threads")[0]["profiler"]["losses"]
        self.assertGreater(losses["unbooked"], 0)
        self.assertLess(losses["threads_full"], 1000)

    def test_a_realloc_in_vain_is_no_temporary(self):
        r = self.same("first_in_child", "kept").report
        site = self.site(r, "site_kept")
        self.assertEqual((site["allocations"], site["frees"], site["temporaries"]), (1003, 2, 1))

    def test_handlers_that_allocate(self):
        for mode in ("allocating", "interrupting", "jumping", "alternate"):
            with self.subTest(mode=mode):
                r = self.same("signals", mode).report
                self.assert_balanced(r)
                if mode == "allocating":
                    self.assertGreaterEqual(self.site(r, "site_handler")["allocations"], 2 * 2000)

    def test_fork_while_others_allocate(self):
        done = self.same("forks", "fork", "40", processes=1 + 40)
        books = [self.site(r, "site_child") for r in done.of("forks")]
        # The parent has none of these blocks; 32 children, the 8 that exec later and 8 grandchildren have 100 each.
        # What a child did between fork and exec may be left out when it was little.
        self.assertEqual(sum(b["allocations"] == 0 for b in books), 1)
        self.assertIn(sum(b["allocations"] == 100 and b["frees"] == 50 for b in books), range(40, 49))
        self.assertEqual({b["allocations"] for b in books}, {0, 100})

    def test_fork_where_the_kernel_wipes_nothing(self):
        """It does not know MADV_WIPEONFORK: a child's books are its own all the same."""
        command = [ledger.program("refusing"), "18", ledger.program("forks"), "fork", "4"]
        if ledger.execute(command).status == 77:
            self.skipTest("this kernel, or its sandbox, installs no filters")
        done = self.assert_same(command, processes=2 + 4)
        books = [self.site(r, "site_child")["allocations"] for r in done.of("forks")]
        self.assertEqual((books.count(0), books.count(100)), (1, len(books) - 1))

    def test_fork_while_another_holds_a_lock(self):
        """Whichever lock of the probe another thread holds: the child does what takes it too, and comes to its end."""
        preload = [f"LD_PRELOAD={ledger.PROBE}", "HEAPLEDGER_OUTPUT=/dev/null"]
        steps = [ledger.program("interrupted_steps"), "--beside", ledger.program("forked_beside")]
        done = ledger.execute(["env", *preload, *steps])
        self.assertEqual((done.status, done.err), (0, b""), done)
        self.assertGreater(int(done.out), 500, "children")

    def test_vfork(self):
        self.same("forks", "vfork", "40", processes=1 + 20)

    def test_posix_spawn(self):
        self.same("forks", "spawn", "40", processes=1 + 40)

    def test_pidfd_spawn(self):
        done = self.same("spawns_by_pidfd", ledger.program("nothing"), processes=1 + 2)
        self.assertEqual(sorted(r["totals"]["allocated_bytes"] for r in done.of("nothing")), [11, 22])

    def test_exec(self):
        # Ten children execute the program again, ten a shell with an empty environment: all are followed.
        done = self.same("forks", "exec", "20", processes=1 + 20)
        self.assertEqual(len(done.of(os.path.basename(os.path.realpath("/bin/sh")))), 10)

    def test_no_follow(self):
        done = self.assert_same([ledger.program("forks"), "spawn", "5"], "--no-follow")
        self.assertEqual(len(done.files), 1, done.files)

    def test_only_programs_by_name(self):
        command = ["sh", "-c", f"{ledger.program('nothing')}; seq 3; {ledger.program('nothing')} 9 4"]
        done = self.assert_same(command, "--only", "noth*")
        self.assertEqual([r["process"]["exe"].split("/")[-1] for r in done.reports], ["nothing", "nothing"])

    def test_memory_exhausted(self):
        r = self.same("exhaustion").report
        self.assert_sums(r)

    def test_memory_exhausted_with_the_library_within(self):
        """No operator of the C++ library stands behind the probe's."""
        done = self.profile([ledger.program("exhaustion_within")])
        self.assertEqual((done.status, done.out), (0, b"exhausted, thrown, and went on\n"), done)
        self.assert_sums(done.report)

    def test_plugins_in_a_loop(self):
        r = self.assert_same([ledger.program("plugins"), ledger.PROGRAMS, "200"], processes=1).report
        self.assert_balanced(r)
        for name in ("site_plugin_a", "site_plugin_b"):
            self.assertEqual(self.site(r, name)["allocations"], 400, name)
            self.assertEqual(self.site(r, name)["allocated_bytes"], 100 * (64 + 1000 + 10 + 7), name)


if __name__ == "__main__":
    ledger.main()
