"""What a profile takes depends on how many places allocate, not on how often."""

import os

import ledger

MIB = 1 << 20


class Bounded(ledger.Case):
    def steady(self, *arguments):
        done = self.profile([ledger.program("steady"), *arguments])
        self.assertEqual(done.status, 0, done)
        return done.report, os.path.getsize(done.files[0])

    def assert_close(self, a, b, what):
        self.assertLessEqual(abs(a - b), max(a, b) // 10, f"{what}: {a} and {b}")

    def test_a_hundred_times_longer(self):
        # The timeline has points of fixed number at most; without it nothing at all may grow.
        short, short_file = self.steady("100000")
        long, long_file = self.steady("10000000")
        self.assertEqual(long["totals"]["allocations"] - short["totals"]["allocations"], 9900000)
        self.assert_close(short["profiler"]["own_bytes"], long["profiler"]["own_bytes"], "own memory")
        self.assertEqual(short["profiler"]["accounts"], long["profiler"]["accounts"])
        self.assertLessEqual(long_file, short_file + 16384, "profile")

    def test_many_stacks(self):
        r, _ = self.steady("stacks", "200000")
        self.assert_balanced(r)
        self.assertGreaterEqual(r["profiler"]["accounts"], 200000)
        self.assertEqual(sum(1 for s in r["stacks"] if "site_leaf" in ledger.functions(s)), 200000)
        self.assertLessEqual(r["profiler"]["own_bytes"], r["profiler"]["accounts"] * 200 + 32 * MIB)

    def test_many_threads(self):
        r, _ = self.steady("threads", "1000")
        self.assert_balanced(r)
        self.assertEqual(len(r["threads"]), 1001)
        bound = r["profiler"]["accounts"] * 200 + 1001 * 16384 + 32 * MIB
        self.assertLessEqual(r["profiler"]["own_bytes"], bound)


if __name__ == "__main__":
    ledger.main()
