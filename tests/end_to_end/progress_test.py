"""What long work shows on a terminal while it goes on, and that nothing of it stays."""

import os
import subprocess

import ledger
from terminal import Terminal


class Progress(ledger.Case):
    def on_a_terminal(self, *command):
        terminal = Terminal([ledger.BIN, *command], columns=200)
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.wait_for_end(), 0, terminal.text)
        return terminal

    def test_export(self):
        profile = self.profile([ledger.program("new_stacks"), "2"]).files[0]
        written = self.path("a.csv")
        terminal = self.on_a_terminal("export", "--format", "csv", profile, "-o", written)
        self.assertGreater(os.path.getsize(written), 2 << 20)
        self.assertIn(f"heapledger: writing {written}, 1.0 MiB".encode(), terminal.raw)
        self.assertEqual(terminal.text.rstrip(), f"heapledger: wrote {written}")

    def test_the_end_of_a_run_of_many_processes(self):
        terminal = self.on_a_terminal("run", "-o", self.path("%p.hlp"), "--", "sh", "-c", "true; /bin/true; /bin/true")
        self.assertIn(b"heapledger: finding symbols, ", terminal.raw)
        self.assertIn(b"heapledger: writing profile 2 of 3", terminal.raw)
        self.assertNotIn("writing", terminal.text)
        self.assertNotIn("finding", terminal.text)
        self.assertIn("heapledger: wrote", terminal.text)

    def test_names_for_a_program_that_runs(self):
        program = subprocess.Popen([ledger.BIN, "run", "-q", "-o", self.path("a.hlp"), "--", "sh", "-c", "echo; read x"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(program.communicate)
        program.stdout.readline()
        with open(f"/proc/{program.pid}/task/{program.pid}/children") as children:
            pid = children.read().split()[0]
        terminal = self.on_a_terminal("report", pid)
        self.assertIn(b"heapledger: finding symbols, ", terminal.raw)
        self.assertNotIn("finding symbols", terminal.text)
