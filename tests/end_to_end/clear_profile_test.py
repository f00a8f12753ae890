"""A file that is no good profile: one line, status 125, never a crash, never a hang."""

import os
import random

import ledger


class ClearProfile(ledger.Case):
    def refused(self, path, *says):
        done = ledger.execute([ledger.BIN, "report", path], timeout=60)
        lines = done.err.decode(errors="replace").splitlines()
        self.assertEqual(done.status, 125, done)
        self.assertEqual((done.out, len(lines)), (b"", 1), done)
        self.assertTrue(lines[0].startswith("heapledger") and os.path.basename(path) in lines[0], lines[0])
        for word in says:
            self.assertIn(word, lines[0].lower())

    def good(self):
        done = self.profile([ledger.program("steady"), "stacks", "50"])
        with open(done.files[0], "rb") as file:
            return file.read()

    def test_missing_and_foreign(self):
        self.refused(self.path("missing"))
        self.refused(self.dir)
        self.refused(self.write("empty.hlp", ""))
        self.refused(self.write("text.hlp", "not a profile\n" * 100))
        self.refused(self.write("zero.hlp", bytes(100000)))
        self.refused("/bin/true")

    def test_cut_off(self):
        data = self.good()
        for length in sorted({1, 4, 7, 8, 9, 15, 16, 31, 32, 64, len(data) // 2, len(data) - 8, len(data) - 1}):
            with self.subTest(length=length):
                self.refused(self.write("cut.hlp", data[:length]))

    def test_newer(self):
        """A version from the future is named as such. The version is the 32 bits after the magic of 8 bytes."""
        data = bytearray(self.good())
        data[8:12] = (1000).to_bytes(4, "little")
        self.refused(self.write("newer.hlp", bytes(data)), "newer")

    def test_damaged(self):
        """Any byte may be wrong: the report is refused in one line, or is whole. Nothing else."""
        data = self.good()
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"seed {seed}", flush=True)
        choose = random.Random(seed)
        for i in range(150):
            damaged = bytearray(data)
            for _ in range(choose.choice((1, 1, 3, 20))):
                damaged[choose.randrange(len(damaged))] = choose.choice((0, 255, choose.randrange(256)))
            path = self.write("damaged.hlp", bytes(damaged))
            done = ledger.execute([ledger.BIN, "report", "--json", path], timeout=60)
            self.assertIn(done.status, (0, 125), f"seed {seed}, round {i}: {done}")
            if done.status == 125:
                self.assertEqual(len(done.err.splitlines()), 1, f"seed {seed}, round {i}: {done}")

    def test_json_of_many_stacks(self):
        path = self.path("many.hlp")
        ledger.execute([ledger.BIN, "run", "-q", "-o", path, "--", ledger.program("steady"), "stacks", "150000"])
        for options, words in [([], b"stacks with all their frames"), (["--top", "1000"], b"")]:
            with self.subTest(options=options):
                done = ledger.execute(["sh", "-c", f"exec {ledger.BIN} report --json {path} {' '.join(options)} >/dev/null"])
                self.assertEqual((done.status, len(done.err.splitlines())), (0, 1 if words else 0), done)
                self.assertIn(words, done.err)

    def test_one_of_several(self):
        """What can be read is in the table, what cannot is said, and the status is that of the worst."""
        good = self.write("good.hlp", self.good())
        done = ledger.execute([ledger.BIN, "report", good, self.write("bad.hlp", "x"), good])
        self.assertEqual((done.status, len(done.err.splitlines())), (125, 1), done)
        self.assertIn(b"2 processes allocated", done.out)
        self.assertEqual(done.out.count(b"\n  steady stacks 50 "), 2, done)
        self.assertEqual(ledger.execute([ledger.BIN, "report", good, good]).status, 0)

    def test_report_into_a_closed_pipe(self):
        path = self.write("good.hlp", self.good())
        done = ledger.execute(["bash", "-c", f"{ledger.BIN} report --json {path} | head -c 1; exit ${{PIPESTATUS[0]}}"])
        self.assertIn(done.status, (0, 125, 141), done)
        self.assertLessEqual(len(done.err.splitlines()), 1)

    def test_report_on_a_full_disk(self):
        path = self.write("good.hlp", self.good())
        done = ledger.execute(["sh", "-c", f"{ledger.BIN} report --json {path} > /dev/full"])
        self.assertEqual((done.status, len(done.err.splitlines())), (125, 1), done)


if __name__ == "__main__":
    ledger.main()
