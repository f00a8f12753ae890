"""Pools that show themselves: what the profile tells of them is what they counted themselves."""

import json
import subprocess

import ledger

COUNTS = ("allocations", "frees", "allocated_bytes", "page_bytes", "peak_page_bytes")


def told(out):
    """What the program said of its pool, a line each."""
    return [dict(zip(COUNTS, map(int, line.split()))) for line in out.decode().splitlines()]


def holder(stack):
    """The function of the program that took the chunks."""
    names = [f.get("function", "") for f in stack["frames"]]
    return next((known for name in names for known in ("keep_many", "keep_few", "churn", "forked") if known in name), names)


class Pools(ledger.Case):
    def checked(self, case, *options, status=0):
        done = self.profile([ledger.program("pools"), case], *options)
        self.assertEqual(done.status, status, done)
        for r in done.reports:
            self.assert_sums(r)
            self.assertLessEqual(set(r["profiler"]["losses"]), {"inherited_frees"})
        return done

    def pool(self, r, name):
        found = [p for p in r["pools"] if p["name"] == name]
        self.assertEqual(len(found), 1, r["pools"])
        return found[0]

    def assert_told(self, pool, said):
        self.assertEqual({key: pool[key] for key in COUNTS}, said)

    def test_counts(self):
        done = self.checked("counted")
        pool = self.pool(done.report, "events")
        self.assert_told(pool, told(done.out)[0])
        self.assertEqual((pool["chunk_bytes"], pool["opened"], pool["closed"], pool["chunks_in_use"]), (32, 1, 0, 3000))
        self.assertEqual(pool["sizes"], [{"from": 16, "to": 31, "allocations": 3100}])
        self.assertEqual(pool["stacks"], [])

    def test_stacks(self):
        done = self.checked("sited")
        pool = self.pool(done.report, "requests")
        self.assert_told(pool, told(done.out)[0])
        by_function = {holder(s): s for s in pool["stacks"]}
        self.assertEqual({f: (s["allocations"], s["frees"], s["live_bytes"]) for f, s in by_function.items()},
                         {"keep_many": (1000, 0, 40000), "keep_few": (10, 0, 200), "churn": (5000, 5000, 0)})
        for key in ("allocations", "frees", "allocated_bytes"):
            self.assertEqual(ledger.total(pool["stacks"], key), pool[key], key)
        text = ledger.execute([ledger.BIN, "report", done.files[0]])
        section = text.out[text.out.index(b"\nPools\n"):text.out.index(b"\nSizes")]
        self.assertIn(b"requests", section)
        self.assertIn(b"keep_many", section)

    def test_sets(self):
        """Which pool it is, is found by a call through a pointer: of a function whose name can be demangled."""
        pools = {pool["chunk_bytes"]: pool["stacks"] for pool in self.checked("by_size").report["pools"] if pool["name"] == "nodes"}
        self.assertEqual({chunk: [s["allocations"] for s in stacks] for chunk, stacks in pools.items()}, {16: [16], 48: [8]})
        for stacks in pools.values():
            names = [f["function"] for f in stacks[0]["frames"]]
            self.assertTrue(any("keep_by_size" in name for name in names), names)
            self.assertEqual([name for name in names if name.startswith("_Z")], [])

    def test_without_stacks(self):
        pool = self.pool(self.checked("sited", "--stacks", "off").report, "requests")
        self.assertEqual((pool["allocations"], pool["stacks"]), (6010, []))

    def test_live(self):
        """`top` shows at known moments what the pool counts, and the same of the profile in the end."""
        file = self.path("live.hlp")
        with subprocess.Popen([ledger.program("pools"), "live"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=ledger.plain_environment({"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_OUTPUT": file})) as process:
            for in_use, pages in ((1000, 1), (400, 1), (0, 0)):
                said, = told(process.stdout.readline())
                done = ledger.execute([ledger.BIN, "top", "--json", "--per", "pool", "--count", "1", str(process.pid)])
                pool, = json.loads(done.out)["pools"]
                self.assertEqual((pool["name"], pool["chunk_bytes"], pool["open"], pool["pages"]), ("requests, 48 B", 48, 1, pages))
                self.assertEqual((pool["live_blocks"], pool["live_bytes"]), (in_use, 48 * in_use))
                self.assertEqual({key: pool[key] for key in COUNTS if key in pool and key != "allocated_bytes"},
                                 {key: said[key] for key in COUNTS if key in pool and key != "allocated_bytes"})
                text = ledger.execute([ledger.BIN, "top", "--text", "--per", "pool", "--count", "1", str(process.pid)]).out.decode()
                if in_use != 0:
                    self.assertRegex(text, rf"B +{in_use:,} .*64.0 KiB +{100 * 48 * in_use / 65536:.1f} % .* requests, 48 B\n")
                process.stdin.write(b"x")
                process.stdin.flush()
        self.assertEqual(process.returncode, 0)
        done = ledger.execute([ledger.BIN, "top", "--json", "--per", "pool", "--count", "1", file])
        self.assertEqual([pool["allocations"] for pool in json.loads(done.out)["pools"]], [1000])

    def test_many_pools_take_one_place(self):
        r = self.checked("many").report
        pool = self.pool(r, "short-lived")
        self.assertEqual({key: pool[key] for key in ("opened", "closed", "allocations", "frees", "page_bytes", "arenas")},
                         {"opened": 20000, "closed": 20000, "allocations": 60000, "frees": 60000, "page_bytes": 0, "arenas": 0})
        self.assertGreater(pool["peak_page_bytes"], 0)
        self.assertEqual(self.pool(r, "short")["allocations"], 1)

    def test_forked(self):
        done = self.checked("forked")
        self.assertEqual(len(done.reports), 2)
        child, parent = sorted(done.reports, key=lambda r: not r["process"].get("forked", False))
        of_child, of_parent = told(done.out)
        self.assert_told(self.pool(parent, "requests"), of_parent)
        self.assert_told(self.pool(child, "requests"), of_child)
        self.assertEqual(of_child["allocations"], 1000 + 1 + 10)
        self.assertEqual(of_parent["allocations"], 1000 + 10)
        stacks = {holder(s): (s["allocations"], s["frees"]) for s in self.pool(parent, "requests")["stacks"]}
        self.assertEqual(stacks, {"keep_many": (1000, 0), "keep_few": (10, 10)})
        stacks = {holder(s): (s["allocations"], s["frees"]) for s in self.pool(child, "requests")["stacks"]}
        self.assertEqual(stacks, {"keep_few": (10, 0), "forked": (1, 1)})  # the parent's chunks are the parent's
        self.assertEqual(self.pool(child, "of the child")["closed"], 1)

    def test_forked_with_a_handler(self):
        """What a child takes in the first handlers of its program is the child's."""
        done = self.checked("forked_with_handler")
        parent = [r for r in done.reports if not r["process"].get("forked", False)][0]
        pool = self.pool(parent, "requests")
        self.assertEqual((pool["allocations"], pool["frees"]), (1, 1))

    def test_forked_child_left_alone(self):
        done = self.checked("forked", "--no-follow")
        of_child, of_parent = told(done.out)
        self.assert_told(self.pool(done.report, "requests"), of_parent)
        self.assertEqual(of_child["allocations"], 1011)

    def test_threads(self):
        done = self.checked("threads")
        pool = self.pool(done.report, "requests")
        self.assertEqual((pool["allocations"], pool["frees"]), (4 * 50 * 6000, 4 * 50 * 6000))
        for key in ("allocations", "frees", "allocated_bytes"):
            self.assertEqual(ledger.total(pool["stacks"], key), pool[key], key)
        self.assertEqual(ledger.total(pool["stacks"], "live_bytes"), 0)

    def test_killed(self):
        done = self.checked("killed", status=137)
        self.assert_told(self.pool(done.report, "requests"), told(done.out)[0])
        self.assertEqual(ledger.total(self.pool(done.report, "requests")["stacks"], "live_bytes"), 40000)

    def test_chunks_that_the_leak_watch_moves(self):
        """They hold what the program wrote, also in forked children, and the books do not notice."""
        done = self.checked_moves("--interval", "20", "--leaks", "--leaks-suspicious", "0.4", "--leaks-access", "1", "--leaks-rest", "0.1")
        self.assertEqual(done.out, b"moved enough\n", done)

    def checked_moves(self, *options):
        done = self.profile([ledger.program("pool_moves")], *options)
        self.assertEqual((done.status, done.err), (0, b""), done)
        for r in done.reports:
            self.assert_sums(r)
        parent = min(done.reports, key=lambda r: r["process"].get("forked", False))
        pool = self.pool(parent, "requests")
        self.assertEqual(pool["chunks_in_use"], 0)
        self.assertEqual(ledger.total(pool["stacks"], "live_bytes"), 0)
        return done


if __name__ == "__main__":
    ledger.main()
