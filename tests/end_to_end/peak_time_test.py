"""When the peak was, where the probe did not look at the clock, or the tool not at the program, just then."""

import re

import ledger

LATE = ledger.program("late_peak")


class PeakTime(ledger.Case):
    def massif(self, profile):
        file = self.path("massif.out")
        self.assertEqual(ledger.execute([ledger.BIN, "export", "--format", "massif", "-o", file, profile]).status, 0)
        with open(file, encoding="utf-8") as opened:
            return opened.read()

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
        before = sorted(time for time in late if time < peak)
        # The program allocates while the tool is at a look: that one's time is from before, and it may see the block.
        self.assertEqual({late[time] for time in before[:-1]}, {0})
        self.assertEqual(sorted(early[time] for time in before), [early[time] for time in before])
        self.assertEqual(early[before[-1]], 30000)
        text = ledger.execute([ledger.BIN, "report", done.files[0]]).out.decode()
        shapes = [re.search(rf"{size} KiB at the peak.*  (\S+)$", text, re.M)[1] for size in (r"29\.3", r"68\.4")]
        self.assertLess(len(shapes[1]), len(shapes[0]), "the late block's begins in the middle")

    def test_trees_of_moments(self):
        """Each has all that was held then."""
        done = self.profile([LATE, "30000", "70000"], "--interval", "20")
        trees = re.findall(r"^mem_heap_B=(\d+)\n(?:mem_.*\n){2}heap_tree=(?:detailed|peak)\n((?: *n\d+: .*\n)+)",
                           self.massif(done.files[0]), re.M)
        self.assertGreater(len(trees), 3, "the peak, the end, and moments between")
        for held, tree in trees:
            self.assertRegex(tree, rf"^n\d+: {held} ")
            self.assertEqual(sum(int(value) for value in re.findall(r"^ n\d+: (\d+) ", tree, re.M)), int(held), tree)

    def test_no_needle_among_lower_neighbours(self):
        """The first block is published, the second is not."""
        done = self.profile([LATE, "40000", "30000"], "--interval", "20")
        taken = re.findall(r"^time=(\d+)\nmem_heap_B=(\d+)\n(?:.*\n){2}heap_tree=(\w+)", self.massif(done.files[0]), re.M)
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
