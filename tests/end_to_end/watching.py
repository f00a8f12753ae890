"""A program under the leak watch, in lockstep: what the program does and what the tool asks happen when the test says so."""

import json
import os
import select
import subprocess

from ledger import PROBE, Case, plain_environment, program, report


class Talker:
    """A process that answers each line with a line."""

    def __init__(self, command, **keywords):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        **keywords)

    def __call__(self, *words):
        self.say(*words)
        return self.answer(words)

    def say(self, *words):
        """Without waiting for the answer."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def has_answered(self):
        return select.select([self.process.stdout], [], [], 0)[0] != []

    def answer(self, asked=()):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"no answer to {asked}: status {self.process.wait(60)}")
        return json.loads(line)

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class WatchCase(Case):
    def begin(self, preload="", watch=True, under=(), **keywords):
        """Starts the program, by those `under` which it is to run, and the watch on it."""
        self.segment = self.path(f"segment-{len(os.listdir(self.path('.')))}.hlp")
        variables = {"LD_PRELOAD": (PROBE + " " + preload).strip(), "HEAPLEDGER_OUTPUT": self.segment}
        command = [*under, "env", *(f"{name}={value}" for name, value in variables.items()), program("watched")]
        self.app = Talker(command, env=plain_environment(), cwd=self.path("."), **keywords)
        self.addCleanup(self.app.end)
        self.app("beat")
        if watch:
            self.watch()

    def watch(self, *options, start=("start",)):
        self.tool = Talker([program("watcher"), self.segment, *options])
        self.addCleanup(self.tool.end)
        self.assertEqual(self.tool.answer(), "ready")
        if start:
            self.tool(*start)
            self.settle()

    def settle(self):
        """Until the program has done what it was asked. It answers at events off the fast path: a few are enough."""
        for _ in range(1000):
            self.app("beat")
            if self.tool("heeded"):
                return
        self.fail(f"not heeded: {self.tool('answer')}")

    def account_of(self, each_bytes, count):
        """The account whose allocations were so many of so many bytes."""
        found = [a for a in self.tool("accounts") if a[1] == count and a[2] == count * each_bytes]
        self.assertEqual(len(found), 1, f"accounts with {count} allocations of {each_bytes} bytes: {found}")
        return found[0][0]

    def suspect(self, kind, site, each_bytes, alignment=64, chance=1, most=100_000):
        """Makes the place a suspect; it has then allocated one block, that is not watched."""
        self.app("fill", self.app("alloc", kind, site, 1, each_bytes, alignment))
        account = self.account_of(each_bytes, 1)
        self.assertTrue(self.tool("suspect", account, chance, most))
        self.settle()
        return account

    def allocate(self, kind, site, each_bytes, count=1, alignment=64, fill=True):
        """Ids of new blocks."""
        first = self.app("alloc", kind, site, count, each_bytes, alignment)
        self.assertGreaterEqual(first, 0)
        if fill:
            for block in range(first, first + count):
                self.app("fill", block)
        return list(range(first, first + count))

    def slots(self, state="live"):
        return [s for s in self.tool("slots") if s["state"] == state]

    def arm(self):
        self.assertTrue(self.tool("arm"))
        self.settle()

    def touched(self):
        """Of each live slot in order, whether it was touched since it was armed."""
        return [s["present"] for s in self.slots()]

    def quit(self):
        """Ends the program, and returns the report."""
        if self.app.process.poll() is None:
            self.app.process.stdin.write("quit\n")
            self.app.process.stdin.flush()
        self.assertEqual(self.app.process.wait(60), 0)
        return report(self.segment)
