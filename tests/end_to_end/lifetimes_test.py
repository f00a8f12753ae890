"""run --lifetimes: every life is timed, as the programs themselves time theirs; and nothing else changes."""

import collections
import glob
import json
import shutil
import unittest

import exact_test
import ledger

LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.[0-9]"}


def own_lives(path):
    """Of each site what the program wrote down: (bytes, least and most nanoseconds)."""
    lives = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            site, *numbers = line.split()
            lives[site].append(tuple(map(int, numbers)))
    return lives


def nanoseconds(seconds):
    return round(seconds * 1e9)


class Lifetimes(ledger.Case):
    def timed(self, *command, **keywords):
        done = self.profile(command, "--lifetimes", **keywords)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.err, b"")
        return done

    def assert_all_timed(self, r):
        """Every free is in the histogram, with its bytes, and in its stack."""
        self.assertEqual(sum(b["frees"] for b in r["lifetimes"]), r["totals"]["frees"])
        self.assertEqual(sum(b["freed_bytes"] for b in r["lifetimes"]), r["totals"]["freed_bytes"])
        self.assertEqual(r["totals"]["timed_frees"], r["totals"]["frees"])
        for stack in r["stacks"]:
            self.assertEqual(stack["timed_frees"], stack["frees"], stack)
            self.assertEqual("mean_lifetime" in stack, stack["frees"] > 0, stack)
            self.assertEqual("mean_age" in stack, stack["live_blocks"] > 0, stack)

    def by_site(self, r, own):
        sites = collections.defaultdict(list)
        for stack in r["stacks"]:
            sites[next((f for f in ledger.functions(stack) if f in own or f == "site_kept"), "other")].append(stack)
        return sites

    def assert_lives(self, r, own):
        """Of each site the number, the bytes and the sum of its lives; of all of them how many are shorter than each edge."""
        sites = self.by_site(r, own)
        for site, lives in own.items():
            stacks = sites[site]
            self.assertEqual(ledger.total(stacks, "timed_frees"), len(lives), site)
            self.assertEqual(ledger.total(stacks, "freed_bytes"), sum(size for size, _, _ in lives), site)
            told = sum(nanoseconds(s["mean_lifetime"]) * s["timed_frees"] for s in stacks if s["timed_frees"])
            self.assertGreaterEqual(told + len(lives), sum(least for _, least, _ in lives), site)
            self.assertLessEqual(told - len(lives), sum(most for _, _, most in lives), site)
        every = [life for lives in own.values() for life in lives]
        others = ledger.total(sites["other"], "timed_frees")
        below = 0
        for bucket in r["lifetimes"]:
            below += bucket["frees"]
            edge = nanoseconds(bucket["to"]) + 1
            self.assertGreaterEqual(below, sum(most < edge for _, _, most in every), bucket)
            self.assertLessEqual(below, sum(least < edge for _, least, _ in every) + others, bucket)
        self.assertEqual(below, len(every) + others)
        return others

    def test_as_the_program_times_them(self):
        file = self.path("lives")
        r = self.timed(ledger.program("lifetimes"), file).report
        self.assert_balanced(r)
        self.assert_all_timed(r)
        own = own_lives(file)
        self.assertLessEqual(self.assert_lives(r, own), 2 * 3, "a thread is at most two blocks of the libraries'")
        self.assertGreater(len(r["lifetimes"]), 8, "lives of every length")
        kept = self.by_site(r, own)["site_kept"]
        self.assertEqual(ledger.total(kept, "live_blocks"), 3)
        for stack in kept:
            # Older than anything that lived in between, and younger than the process.
            self.assertGreater(stack["mean_age"], 0.05)
            self.assertLess(stack["mean_age"], r["process"]["duration"])

    def test_without_stacks_and_by_frame_pointers(self):
        for mode in ("off", "fp"):
            with self.subTest(stacks=mode):
                file = self.path("lives")
                done = self.profile([ledger.program("lifetimes"), file], "--lifetimes", "--stacks", mode)
                self.assertEqual((done.status, done.err), (0, b""))
                self.assert_all_timed(done.report)

    def test_forked_child_times_its_own(self):
        """What it inherited was born in another process: its free is counted as inherited, and not timed."""
        file = self.path("lives")
        done = self.timed(ledger.program("lifetimes"), file, "fork")
        self.assertEqual(len(done.reports), 2)
        for r in done.reports:
            self.assert_all_timed(r)
            self.assert_lives(r, own_lives(file + (".child" if r["process"].get("forked") else "")))
            forked = bool(r["process"].get("forked"))
            self.assertEqual(r["profiler"]["losses"].get("inherited_frees", 0), 2 if forked else 0)
            self.assertEqual(r["profiler"].get("inherited_freed_bytes", 0), 50 + 100_050 if forked else 0)

    def test_every_allocator(self):
        tried = 0
        for file in LIBRARIES.values():
            for path in glob.glob(f"/usr/lib/*/{file}"):
                with self.subTest(preloaded=path):
                    lives = self.path("lives")
                    r = self.timed(ledger.program("lifetimes"), lives, env={"LD_PRELOAD": path}).report
                    self.assert_all_timed(r)
                    self.assert_lives(r, own_lives(lives))
                tried += 1
        if not tried:
            self.skipTest("no other allocator is installed")

    def test_overflows_are_found_as_without(self):
        for size in ("16", "24", "32", "40", "48", "56", "64", "104", "112", "1000", "1008"):
            with self.subTest(bytes=size):
                found = [self.profile([ledger.program("mistakes"), "overflow", size], *options).report
                         for options in ([], ["--lifetimes"])]
                # What is asked for and what is ours fill a chunk: elsewhere the byte is nobody's.
                for r, ours in zip(found, (8, 16)):
                    fills = (int(size) + ours) % 16 == 8
                    self.assertEqual([(e["kind"], e["count"]) for e in r["errors"]], [("overflow", 1)] if fills else [])
                unknown = found[1]["profiler"]["losses"].get("lives_unknown", 0)
                self.assertEqual(unknown, len(found[1]["errors"]))
                self.assertEqual(found[1]["totals"]["timed_frees"], found[1]["totals"]["frees"] - unknown)
                for key in ledger.BOOK_KEYS:
                    self.assertEqual(found[1]["totals"][key], found[0]["totals"][key], key)

    def test_other_mistakes_are_found_as_without(self):
        for mode in ("clean", "double_free", "malloc_delete", "new_free", "array"):
            with self.subTest(mode=mode):
                r = self.profile([ledger.program("mistakes"), mode], "--lifetimes").report
                kinds = {"clean": [], "double_free": [("double-free", 1)]}.get(mode, [("mismatch", 1)])
                self.assertEqual([(e["kind"], e["count"]) for e in r["errors"]], kinds)
                self.assertEqual(r["totals"]["timed_frees"], r["totals"]["frees"])

    def test_scopes_and_moves(self):
        """A block that is moved to another scope ends one life and begins another, as in the books."""
        for name, cases in {"scopes": ["credits", "moves", "nested", "threads", "forked"],
                            "scope_lives": ["outliving", "churn", "resized_last", "odd_moments", "moved_out"],
                            "budgets": ["fails", "counts", "reserve"]}.items():
            for case in cases:
                with self.subTest(program=name, case=case):
                    for r in self.timed(ledger.program(name), case).reports:
                        foreign = 2 if case == "moves" else 0  # of what was added as foreign bytes nothing is born
                        self.assertEqual(r["totals"]["timed_frees"], r["totals"]["frees"] - foreign)
                        self.assertEqual(sum(b["frees"] for b in r["lifetimes"]), r["totals"]["timed_frees"])
                        self.assertEqual(r["profiler"]["losses"].get("lives_unknown", 0), 0)

    def test_threads_and_signals(self):
        for command in (["many_threads"], ["signals"]):
            with self.subTest(program=command[0]):
                for r in self.profile([ledger.program(command[0]), *command[1:]], "--lifetimes").reports:
                    self.assertEqual(sum(b["frees"] for b in r["lifetimes"]), r["totals"]["frees"])

    def test_self_check(self):
        r = self.timed(ledger.program("lifetimes"), self.path("lives"), env={"HEAPLEDGER_CHECK": "1"}).report
        self.assertGreater(r["profiler"]["check"]["stacks"], 1000)
        self.assertEqual(r["profiler"]["check"]["differences"], 0)
        self.assert_all_timed(r)

    def test_absent_where_nobody_asked(self):
        r = self.profile([ledger.program("lifetimes"), self.path("lives")]).report
        self.assertNotIn("lifetimes", r)
        self.assertNotIn("timed_frees", r["totals"])
        self.assertFalse([s for s in r["stacks"] if {"timed_frees", "mean_lifetime", "mean_age"} & set(s)])

    def test_killed(self):
        """The sums are in the segment as everything else is."""
        r = self.profile(["sh", "-c", "x=0; while [ $x -lt 3000 ]; do x=$((x+1)); done; kill -9 $$"], "--lifetimes").report
        self.assertEqual(r["process"]["signal"], 9)
        self.assertEqual(sum(b["frees"] for b in r["lifetimes"]), r["totals"]["frees"])

    def test_text_and_exports(self):
        done = self.timed(ledger.program("lifetimes"), self.path("lives"))
        text = ledger.execute([ledger.BIN, "report", done.files[0]]).out.decode()
        self.assertIn("How long blocks lived", text)
        self.assertIn("10 to 100 us", text)
        self.assertNotIn("run --lifetimes", text)
        r = done.report
        dhat = json.loads(ledger.execute([ledger.BIN, "export", "--format", "dhat", done.files[0]]).out)
        ages = sum(s.get("mean_age", 0) * s["live_blocks"] + s.get("mean_lifetime", 0) * s["timed_frees"] for s in r["stacks"])
        self.assertTrue(dhat["bklt"])
        self.assertLess(abs(sum(pp["tl"] for pp in dhat["pps"]) - ages * 1e6), len(dhat["pps"]))
        csv = ledger.execute([ledger.BIN, "export", "--format", "csv", done.files[0]]).out.decode().splitlines()
        self.assertTrue(csv[0].endswith(",mean_lifetime,mean_age"))
        untimed = self.profile([ledger.program("nothing")])
        self.assertIn(b"run --lifetimes", ledger.execute([ledger.BIN, "report", untimed.files[0]]).out)


class BesideDhat(ledger.Case):
    """DHAT counts time in instructions: what both must say is which blocks live longer, and how many there are."""

    def sites(self, path):
        with open(path, encoding="utf-8") as file:
            read = json.load(file)
        found = {}
        for point in read["pps"]:
            text = " ".join(read["ftbl"][i] for i in point["fs"])
            site = next((s for s in ("site_kept", "site_slow", "site_quick") if s in text), None)
            if site:
                found[site] = (point["tbk"], point["tb"], point["tl"] / point["tbk"])
        return found

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind")
    def test_the_same_order(self):
        theirs, ours = self.path("theirs.json"), self.path("ours.json")
        command = [ledger.program("three_lives")]
        done = ledger.execute(["valgrind", "--tool=dhat", f"--dhat-out-file={theirs}", *command])
        self.assertEqual(done.status, 0, done)
        profile = self.profile(command, "--lifetimes").files[0]
        self.assertEqual(ledger.execute([ledger.BIN, "export", "--format", "dhat", "-o", ours, profile]).status, 0)
        theirs, ours = self.sites(theirs), self.sites(ours)
        self.assertEqual({site: row[:2] for site, row in ours.items()}, {site: row[:2] for site, row in theirs.items()})
        for rows in (theirs, ours):
            self.assertEqual(sorted(rows, key=lambda site: rows[site][2]), ["site_quick", "site_slow", "site_kept"])


class ExactWithLifetimes(exact_test.Exact):
    """The same books, to the last byte."""

    def profile(self, command, *options, **keywords):
        return super().profile(command, "--lifetimes", *options, **keywords)

    def assert_balanced(self, r, losses=(), own_frames=False):
        super().assert_balanced(r, losses, own_frames)
        self.assertEqual(r["totals"]["timed_frees"], r["totals"]["frees"])
        self.assertEqual(sum(b["frees"] for b in r["lifetimes"]), r["totals"]["frees"])
        self.assertEqual(sum(b["freed_bytes"] for b in r["lifetimes"]), r["totals"]["freed_bytes"])


del exact_test  # its own tests run elsewhere

if __name__ == "__main__":
    ledger.main()
