"""Programs that keep their own books: the profile says the same, to the last byte."""

import json

import ledger

EXCEPTION_BYTES = 136  # a std::bad_alloc with what goes before it


class Exact(ledger.Case):
    def books(self, name, *arguments, losses=()):
        """Runs a books_ program; returns its own books, the report, and the report's stacks by site."""
        file = self.path("books.json")
        done = self.profile([ledger.program(name), file, *arguments])
        self.assertEqual(done.status, 0, f"{name} fails under heapledger: {done}")
        self.assertEqual(done.err, b"")
        with open(file, encoding="utf-8") as text:
            own = json.load(text)
        r = done.report
        self.assertEqual(r["process"]["ended"], "exited")
        self.assertEqual(r["process"]["exit_code"], 0)
        self.assert_balanced(r, losses)
        return own, r, self.by_site(own, r["stacks"])

    def by_site(self, own, stacks):
        sites = {}
        for stack in stacks:
            names = [f for f in ledger.functions(stack) if f in own["sites"]]
            if names:
                sites.setdefault(names[0], []).append(stack)
            elif ledger.frames(stack) and ledger.module(ledger.frames(stack)[0]).startswith("ld-linux"):
                sites.setdefault("loader", []).append(stack)
            else:
                sites.setdefault("other", []).append(stack)
        return sites

    def assert_books(self, own, r, sites, temporaries=True):
        for name, book in own["sites"].items():
            for key in ledger.STACK_KEYS if temporaries else ledger.BOOK_KEYS:
                self.assertEqual(ledger.total(sites.get(name, []), key), book[key], f"{key} of {name}")
        loader = sites.get("loader", [])
        # One block a thread: the table of its thread-local storage, 16 bytes for each module that has any, and some.
        self.assertEqual(ledger.total(loader, "allocations"), own["threads"], "the loader's blocks")
        self.assertEqual(ledger.total(loader, "frees"), own["threads"], "the loader's blocks")
        if own["threads"]:
            self.assertEqual(ledger.total(loader, "allocated_bytes") % (16 * own["threads"]), 0)
        other = sites.get("other", [])
        pool = own["emergency_pool"] * ledger.EMERGENCY_POOL_BYTES
        thrown = own["exceptions"] * EXCEPTION_BYTES
        nobody = {"allocations": own["emergency_pool"] + own["exceptions"], "frees": own["exceptions"],
                  "allocated_bytes": pool + thrown, "freed_bytes": thrown}
        for key, value in nobody.items():
            self.assertEqual(ledger.total(other, key), value, f"{key} by nobody: {other}")
        for key in ledger.BOOK_KEYS:
            beside = ledger.total(loader, key) + ledger.total(other, key)
            self.assertEqual(r["totals"][key], sum(b[key] for b in own["sites"].values()) + beside, key)
        self.assertEqual(r["totals"]["reallocations"], sum(b["reallocations"] for b in own["sites"].values()))

    def assert_exact_peak(self, own, r, sites):
        pool = own["emergency_pool"] * ledger.EMERGENCY_POOL_BYTES
        self.assertEqual(r["totals"]["peak_bytes_error"], 0, "the peak of one thread is exact")
        self.assertEqual(r["totals"]["peak_bytes"], own["peak_bytes"] + pool)
        for name, book in own["sites"].items():
            self.assertEqual(ledger.total(sites.get(name, []), "peak_bytes"), book["peak_bytes"], f"peak of {name}")
        self.assertEqual(ledger.total(r["stacks"], "peak_bytes"), r["totals"]["peak_bytes"])

    def test_entry_points(self):
        own, r, sites = self.books("books_entry_points")
        self.assert_books(own, r, sites)
        self.assert_exact_peak(own, r, sites)

    def test_operators(self):
        own, r, sites = self.books("books_operators")
        self.assert_books(own, r, sites)
        self.assert_exact_peak(own, r, sites)

    def test_realloc(self):
        own, r, sites = self.books("books_realloc")
        self.assert_books(own, r, sites, temporaries=False)
        self.assert_exact_peak(own, r, sites)

    def test_around_main(self):
        own, r, sites = self.books("books_lifecycle")
        self.assert_books(own, r, sites)

    def test_peak_of_one_thread(self):
        own, r, sites = self.books("books_peak")
        self.assert_books(own, r, sites)
        self.assert_exact_peak(own, r, sites)

    def test_threads(self):
        for threads in (1, 2, 16, 64):
            with self.subTest(threads=threads):
                own, r, sites = self.books("books_threads", str(threads))
                self.assertEqual(own["threads"], threads)
                self.assert_books(own, r, sites, temporaries=False)
                for name in ("site_temporary", "site_mailed", "site_plateau", "site_kept"):
                    self.assertEqual(ledger.total(sites[name], "temporaries"), own["sites"][name]["temporaries"], name)
                beside = ledger.EMERGENCY_POOL_BYTES + ledger.total(sites["loader"], "allocated_bytes")
                difference = r["totals"]["peak_bytes"] - own["peak_bytes"]
                # Beside the plateau lie the pool and the loader's blocks.
                self.assertGreaterEqual(difference, -r["totals"]["peak_bytes_error"])
                self.assertLessEqual(difference, beside + r["totals"]["peak_bytes_error"])
                self.assertEqual(len(r["threads"]), threads + 1)

    def test_a_peak_that_threads_held_back(self):
        """Each has fewer bytes than it tells the others of: the error that is stated covers what they have together."""
        totals = self.profile([ledger.program("held_back"), "100", "20000"]).report["totals"]
        self.assertGreaterEqual(totals["peak_bytes"] + totals["peak_bytes_error"], 100 * 20000)
        self.assertGreaterEqual(totals["peak_bytes"], 1000000)

    def test_a_peak_of_threads_that_ended(self):
        """What comes after them is no peak for what they told of and never took back; nor is theirs forgotten."""
        for bytes, after in ((40000, 1000000), (20000, 1500000)):
            with self.subTest(bytes=bytes):
                totals = self.profile([ledger.program("held_back"), "100", str(bytes), str(after)]).report["totals"]
                self.assertGreaterEqual(totals["peak_bytes"] + totals["peak_bytes_error"], 100 * bytes)
                self.assertLessEqual(totals["peak_bytes_error"], 103 * 32768)

    def test_modes_count_the_same(self):
        """How stacks are taken changes nothing in what is counted."""
        file = self.path("books.json")
        for options in (["--stacks", "off"], ["--stacks", "fp"], ["--depth", "1"], ["--interval", "0"]):
            with self.subTest(options=options):
                done = self.profile([ledger.program("books_realloc"), file], *options)
                self.assertEqual(done.status, 0, done)
                with open(file, encoding="utf-8") as text:
                    own = json.load(text)
                r = done.report
                cut = ("stack_cut_depth", "stack_cut_bounds", "stack_cut_no_rule")
                self.assert_balanced(r, cut)
                for key in ledger.BOOK_KEYS:
                    self.assertEqual(r["totals"][key], sum(b[key] for b in own["sites"].values()), key)


if __name__ == "__main__":
    ledger.main()
