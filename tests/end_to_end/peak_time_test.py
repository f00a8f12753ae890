"""When the peak was, where the probe did not look at the clock, or the tool not at the program, just then."""

import re

import ledger

LATE = ledger.program("late_peak")


class PeakTime(ledger.Case):
    def test_last_bytes_that_were_not_published(self):
        done = self.profile([LATE, "100", "100"], "--interval", "20")
        totals, timeline = done.report["totals"], done.report["timeline"]
        self.assertGreaterEqual(totals["peak_time"], 0.7)
        for point in timeline:
            if point["time"] < totals["peak_time"]:
                self.assertLess(point["live_bytes"], totals["peak_bytes"], point)
        self.assertLess(totals["peak_time"], done.report["process"]["duration"] - 0.3, "it lives for half a second")

    def test_what_each_place_held(self):
        """Known at the peak and at the end by the books, in between by looks."""
        done = self.profile([LATE, "30000", "70000"], "--interval", "20")
        r = done.report
        early, late = sorted(({p["time"]: p["live_bytes"] for p in place["timeline"]} for place in r["places"]
                              if place["frame"].get("function") == "main"), key=lambda held: max(held.values()))
        peak, end = r["totals"]["peak_time"], r["process"]["duration"]
        self.assertEqual((early[peak], late[peak], early[end], late[end]), (30000, 70000, 0, 0))
        self.assertEqual({held for time, held in late.items() if time < peak}, {0})
        self.assertEqual({held for time, held in early.items() if 0.1 < time < peak}, {30000})
        shape = re.search(r"68\.4 KiB.* (\S+)$", ledger.execute([ledger.BIN, "report", done.files[0]]).out.decode(), re.M)
        self.assertLess(len(shape[1]), 12, "the late block's begins in the middle")

    def test_trees_of_moments(self):
        """Each has all that was held then."""
        done = self.profile([LATE, "30000", "70000"], "--interval", "20")
        massif = self.path("massif.out")
        self.assertEqual(ledger.execute([ledger.BIN, "export", "--format", "massif", "-o", massif, done.files[0]]).status, 0)
        with open(massif, encoding="utf-8") as file:
            trees = re.findall(r"^mem_heap_B=(\d+)\n(?:mem_.*\n){2}heap_tree=(?:detailed|peak)\n((?: *n\d+: .*\n)+)", file.read(), re.M)
        self.assertGreater(len(trees), 3, "the peak, the end, and moments between")
        for held, tree in trees:
            self.assertRegex(tree, rf"^n\d+: {held} ")
            self.assertEqual(sum(int(value) for value in re.findall(r"^ n\d+: (\d+) ", tree, re.M)), int(held), tree)

    def test_no_needle_among_lower_neighbours(self):
        """The first block is published, the second is not."""
        done = self.profile([LATE, "40000", "30000"], "--interval", "20")
        massif = self.path("massif.out")
        self.assertEqual(ledger.execute([ledger.BIN, "export", "--format", "massif", "-o", massif, done.files[0]]).status, 0)
        with open(massif, encoding="utf-8") as file:
            taken = re.findall(r"^time=(\d+)\nmem_heap_B=(\d+)\n(?:.*\n){2}heap_tree=(\w+)", file.read(), re.M)
        at = [kind for _, _, kind in taken].index("peak")
        self.assertIn(taken[at][1], (taken[at - 1][1], taken[at + 1][1]), taken[at - 2:at + 3])

    def test_drawn_until_the_next_look(self):
        """The peak is known before the first look after it: what lives then lived in between."""
        done = self.profile([LATE, "100", str(50 << 20)], "--interval", "450")
        drawn = re.search(r"Live bytes over.*\n(.*)", ledger.execute([ledger.BIN, "report", done.files[0]]).out.decode())[1]
        high = drawn.strip("_▁ ")
        self.assertGreater(len(high), 20, drawn)
        self.assertEqual(set(high), {high[0]}, drawn)


if __name__ == "__main__":
    ledger.main()
