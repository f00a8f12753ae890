"""A program under `run` that waits between its steps, so that a test can look at it at moments that it knows."""

import os
import subprocess

import ledger

MARKERS = ledger.program("markers")


class Stepping(ledger.Case):
    """The cases of the program that end in a wait, and go on with each byte."""

    def start(self, case, *options, env=None, program=MARKERS):
        """The program under `run`, up to its first wait."""
        folder = self.path("started")
        os.mkdir(folder)
        process = subprocess.Popen(
            [ledger.BIN, "run", "-q", "-o", os.path.join(folder, "p.hlp"), *options, "--", program, case],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ledger.plain_environment(env))
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process, os.path.join(folder, "p.hlp")

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.stdin.close()
            process.wait()
        process.stdin.close()
        process.stdout.close()

    def step(self, process):
        process.stdin.write(b"x")
        process.stdin.flush()
        return process.stdout.readline()

    def program_of(self, process):
        """The pid of what `run` started."""
        pid, = ledger.children_under_probe(process.pid)
        return pid

    def command(self, *words, status=0):
        done = ledger.execute([ledger.BIN, *map(str, words)])
        self.assertEqual(done.status, status, done)
        return done
