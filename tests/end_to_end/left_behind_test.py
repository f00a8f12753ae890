"""What `run` says of processes that go on when its program has ended."""

import os
import re
import signal

import ledger

NOTHING = ledger.program("nothing")


class LeftBehind(ledger.Case):
    def run_daemon(self, *arguments):
        done = ledger.execute([ledger.BIN, "run", "-f", "-o", self.path("d.hlp"), "--", ledger.program("becomes_daemon"), *arguments])
        self.assertEqual(done.status, 0, done)
        said = re.search(rb"becomes_daemon \(pid (\d+)\) still runs(.*)\n", done.err)
        self.assertTrue(said, done)
        os.kill(int(said[1]), signal.SIGKILL)
        return said[2]

    def test_daemon_without_events(self):
        self.assertIn(b"in no profile", self.run_daemon())

    def test_daemon_with_events(self):
        self.assertIn(b"its profile holds what it did until now", self.run_daemon("allocates"))

    def test_nobody_is_left(self):
        done = ledger.execute([ledger.BIN, "run", "-f", "-o", self.path("n.hlp"), "--", "sh", "-c", f"({NOTHING}); {NOTHING}"])
        self.assertNotIn(b"still run", done.err)


if __name__ == "__main__":
    ledger.main()
