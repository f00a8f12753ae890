"""The tool under limits that are meant for the program."""

import os
import signal

import ledger

NOTHING = ledger.program("nothing")


class ToolLimits(ledger.Case):
    def run_limited(self, limit, *command):
        self.output = self.path(f"{limit.replace(' ', '')}.hlp")
        run = [ledger.BIN, "run", "-f", "-o", self.output, "--", *command]
        return ledger.execute(["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *run], cwd=self.dir)

    def test_file_size(self):
        """Too small for the books: nothing is started, and the reason is said."""
        for kib in (0, 10, 100, 1200, 4000, 8000):
            with self.subTest(kib=kib):
                done = self.run_limited(f"-f {kib}", "bash", "-c", "echo started")
                self.assertEqual((done.status, done.out), (125, b""), done)
                self.assertRegex(done.err, rb"\Aheapledger: files are limited to \d+ KiB \(ulimit -f\).*\n\Z")
        done = self.run_limited("-f 20000", "bash", "-c", "ulimit -f; echo started")
        self.assertEqual((done.status, done.out), (0, b"20000\nstarted\n"), done)
        self.assertTrue(os.path.exists(self.output), done)

    def test_file_size_signal_is_the_programs(self):
        done = self.run_limited("-f 20000", "sh", "-c", "head -c 30000000 /dev/zero >big; exit $?")
        self.assertEqual(done.status, 128 + signal.SIGXFSZ, done)

    def test_stack(self):
        for kib in (128, 1000):
            with self.subTest(kib=kib):
                done = self.run_limited(f"-s {kib}", "bash", "-c", f"ulimit -s; exec {NOTHING}")
                self.assertEqual((done.status, done.out), (0, f"{kib}\n".encode()), done)
                self.assertIn(b"wrote ", done.err)
                report = ledger.execute(["sh", "-c", f'ulimit -s {kib}; exec "$@"', "sh", ledger.BIN, "report", self.output])
                self.assertEqual(report.status, 0, report)


if __name__ == "__main__":
    ledger.main()
