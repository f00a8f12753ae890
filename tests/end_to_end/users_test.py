"""A program that root starts and that goes on as another user is profiled, and nobody else gets at its books."""

import json
import os
import subprocess

import ledger
from ledger import AS_NOBODY, NOBODY

FORKS = f"""import os
os.setgroups([]); os.setresgid(*[{NOBODY}] * 3); os.setresuid(*[{NOBODY}] * 3)
for generation in range(2):
    pid = os.fork()
    if pid: break
blocks = [bytes(100_000) for i in range(10 + generation)]
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if pid else 5
print(generation, os.getuid(), status, flush=True)
os._exit(status)
"""


class Users(ledger.Case):
    def setUp(self):
        super().setUp()
        self.needs_another_user()

    def test_exec_as_another_user(self):
        done = self.assert_same([*AS_NOBODY, ledger.program("nothing"), "77", "6"], processes=2)
        self.assertEqual(done.status, 6)
        totals = done.of("nothing")[0]["totals"]
        self.assertEqual((totals["allocations"], totals["allocated_bytes"]), (1, 77))

    def test_fork_as_another_user(self):
        done = self.assert_same(["/usr/bin/python3", "-c", FORKS], processes=3)
        self.assertEqual(len(done.reports), 3, "a parent, a child and a grandchild")
        self.assertEqual(done.status, 5)

    def test_nobody_else_finds_the_session(self):
        look = "find /dev/shm/heapledger-0-* /tmp/heapledger-0-* -mindepth 1 -maxdepth 1 2>/dev/null; exit 0"
        done = ledger.execute([ledger.BIN, "run", "-q", "-o", self.path("%e.%p.hlp"), "--", *AS_NOBODY, "sh", "-c", look])
        self.assertEqual((done.status, done.out), (0, b""), done)
        self.assertEqual(len(ledger.Profiled(done, self.dir).of("find")), 1, "profiled, so there was a session to find")

    def test_umask_that_leaves_nothing(self):
        """To the tool, which is not root here and reads what the program has made."""
        os.chmod(self.dir, 0o777)
        run = [*AS_NOBODY, "sh", "-c", 'umask 777; exec "$0" run -q -o "$1" -- sh -c "umask; seq 1; exit 3"',
               ledger.BIN, self.path("%e.%p.hlp")]
        done = ledger.Profiled(ledger.execute(run), self.dir)
        self.assertEqual((done.status, done.out, done.err), (3, b"0777\n1\n", b""), done)
        self.assertEqual(len(done.of("seq")), 1, done.files)

    def test_leaks_of_a_program_that_hides_its_memory(self):
        """As ssh-agent does: only root may look, and that is said."""
        os.chmod(self.dir, 0o777)
        hide = "import ctypes; print(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0), flush=True); input()"
        command = [*AS_NOBODY, ledger.BIN, "run", "-q", "-o", self.path("p.hlp"), "--", "/usr/bin/python3", "-c", hide]
        with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.dir,
                              env=ledger.plain_environment()) as run:
            self.assertEqual(run.stdout.readline(), "0\n")
            pid, = ledger.children_under_probe(run.pid)
            refused = ledger.execute([*AS_NOBODY, ledger.BIN, "report", str(pid)])
            self.assertEqual(refused.status, 125, refused)
            self.assertIn(b"it hides its memory (PR_SET_DUMPABLE)", refused.err)
            ledger.execute([ledger.BIN, "start", str(pid)])
            run.communicate("go on\n")
        told = json.loads(ledger.execute([ledger.BIN, "leaks", "--json", self.path("p.hlp")]).out)
        self.assertIn("PR_SET_DUMPABLE", told.get("obstacle", ""))


if __name__ == "__main__":
    ledger.main()
