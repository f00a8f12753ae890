"""Forks of a watched program: what one side writes never reaches the other, and the watch goes on with new blocks."""

import os

import ledger
from watching import WatchCase


class Forking(WatchCase):
    def forked(self, threads=0, **begin):
        self.begin(**begin)
        self.account = self.suspect("m", 0, 5000)
        self.blocks = self.allocate("m", 0, 5000, 40) + self.allocate("m", 0, 130_000, 3) + self.allocate("m", 0, 20, 40)
        self.plain = self.allocate("m", 1, 5001, 10)
        self.arm()
        self.assertEqual(len(self.slots()), 83)
        self.assertEqual(self.app("fork", threads, 0), 0, "bytes that are not what this side wrote")

    def after(self):
        """The old blocks are apart and whole, new ones are watched."""
        self.assertEqual(self.slots(), [])
        self.assertEqual(len(self.slots("apart")), 83)
        for block in self.blocks + self.plain:
            self.assertEqual(self.app("wrong", block), 0)
        new = self.allocate("m", 0, 5000, 10)
        self.arm()
        self.app("read", new[3])
        self.assertEqual(self.touched(), [i == 3 for i in range(10)])
        for block in self.blocks + new:
            self.app("free", block)
        answer = self.tool("answer")
        self.assertEqual((answer["live"], answer["apart"], answer["set_apart"]), (0, 0, 83))
        self.assertEqual(self.tool("counters", self.account)["freed"], 10)
        r = self.quit()
        self.assert_balanced(r)

    def test_one_thread(self):
        self.forked()
        self.after()

    def test_without_the_c_librarys_handlers(self):
        """_Fork, which signal handlers may call."""
        self.forked()
        self.assertEqual(self.app("fork", 0, 2), 0, "bytes that are not what this side wrote")
        self.after()

    def test_threads_that_write_all_the_time(self):
        self.forked(threads=1)
        self.after()

    def test_again_and_again(self):
        self.forked()
        for _ in range(30):
            self.allocate("m", 0, 300, 20)
            self.assertEqual(self.app("fork", 1, 0), 0)
        self.assertEqual(len(self.slots("apart")), 83 + 30 * 20)
        self.after_count = self.tool("answer")
        self.assertEqual(self.after_count["forks"], 31)
        new = self.allocate("m", 0, 5000, 10)
        self.arm()
        self.assertEqual(self.touched(), [False] * len(new))

    def test_arenas_are_given_back(self):
        """One fork after another does not fill the window."""
        self.begin()
        self.suspect("m", 0, 5000)
        for _ in range(80):
            block, = self.allocate("m", 0, 5000)
            self.assertEqual(self.app("fork", 0, 0), 0)
            self.app("free", block)
        self.assertLess(self.tool("answer")["slot_count"], 3 * 4096)

    def test_blocks_that_stay_do_not_end_the_watch(self):
        """Leaks outlive any number of forks: each fork takes the slots that were in use, and no more."""
        self.begin()
        self.suspect("m", 0, 5000)
        for _ in range(150):
            self.allocate("m", 0, 5000, 2)
            self.assertEqual(self.app("child_that_exits"), 0)
        answer = self.tool("answer")
        self.assertEqual((answer["apart"], answer["refused_room"]), (300, 0))
        self.assertLess(answer["slot_count"], 400)
        new = self.allocate("m", 0, 5000, 10)
        self.arm()
        self.assertEqual(self.touched(), [False] * 10)
        for block in range(1, 301):
            self.assertEqual(self.app("wrong", block), 0)
            self.app("free", block)
        self.assertEqual(self.tool("answer")["apart"], 0)
        self.app("read", new[3])
        self.assertEqual(self.touched(), [i == 3 for i in range(10)])

    def test_freed_slots_are_not_taken_from_what_is_apart(self):
        self.begin()
        self.suspect("m", 0, 5000)
        for block in self.allocate("m", 0, 5000, 1500, fill=False):
            self.app("free", block)
        self.allocate("m", 0, 5000)
        self.assertEqual(self.app("fork", 0, 0), 0)
        self.allocate("m", 0, 5000, 100)
        self.arm()
        self.assertEqual([s["armed"] != 0 and not s["present"] for s in self.slots()], [True] * 100)

    def test_no_mappings_left(self):
        self.begin()
        self.suspect("m", 0, 5000)
        blocks = self.allocate("m", 0, 5000, 20)
        if self.app("maps", 1 << 20) == 1 << 20:
            self.skipTest("vm.max_map_count has no end")
        self.assertEqual(self.app("fork", 0, 0), 0)
        self.assertEqual(len(self.slots("apart")), 20)
        for block in blocks:
            self.assertEqual(self.app("wrong", block), 0)

    def test_before_any_watch(self):
        self.begin(watch=False)
        self.allocate("m", 0, 5000, 10)
        self.assertEqual(self.app("fork", 1, 0), 0)

    def test_books_of_both(self):
        """The child's segment counts as inherited what it frees of its parent's blocks."""
        self.forked()
        children = [name for name in os.listdir(self.path(".")) if name.startswith(os.path.basename(self.segment) + ".")]
        self.assertEqual(len(children), 1)
        r = ledger.report(self.path(children[0]))
        self.assert_sums(r)
        freed = sum(i % 2 == 0 for i in range(95))
        self.assertGreaterEqual(r["profiler"]["losses"]["inherited_frees"], freed)
        self.assert_balanced(self.quit())

    def test_spawning_leaves_the_watch_alone(self):
        self.begin()
        self.suspect("m", 0, 5000)
        self.allocate("m", 0, 5000, 10)
        self.arm()
        self.assertEqual(self.app("spawn"), 0)
        self.assertEqual(self.touched(), [False] * 10)
        self.assertEqual(self.tool("answer")["forks"], 0)

    def test_a_fork_behind_the_library_shares_nothing(self):
        """A system call without the C library: the child has no slots, so nothing of the parent's can change."""
        self.begin()
        self.suspect("m", 0, 5000)
        block, = self.allocate("m", 0, 5000)
        with open(f"/proc/{self.app.process.pid}/smaps", encoding="utf-8") as file:
            flags = [part for part in file.read().split("\n") if part.startswith(("VmFlags", "7", "5"))]
        at = [i for i, line in enumerate(flags) if "heapledger-watch" in line and " rw-s " in line]
        self.assertEqual(len(at), 1)
        self.assertIn(" dc ", flags[at[0] + 1] + " ")
        self.assertEqual(self.app("wrong", block), 0)


if __name__ == "__main__":
    ledger.main()
