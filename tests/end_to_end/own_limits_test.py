"""A program that limits its own memory while it runs meets the limit where it does alone, and sees it as it set it."""

import os
import shutil
import sys

import ledger

SCRIPT = "ulimit -v 500000; ulimit -v; x=$(seq 1 20000); echo ${#x}; sh -c 'ulimit -v; ulimit -Hv'"

PYTHON = """import os, resource, subprocess
resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
print(len(bytearray(100 << 20)), flush=True)
try: bytearray(700 << 20)
except MemoryError: print("refused", flush=True)
show = ["sh", "-c", "ulimit -v; ulimit -Hv"]
subprocess.run(show)
subprocess.run(show, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 400 << 20)))
print(resource.getrlimit(resource.RLIMIT_AS), flush=True)
os.execvp("sh", show)
"""

WITHOUT_DESCRIPTORS = """import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    while True: os.open("/dev/null", os.O_RDONLY)
except OSError: pass
def status_of_child():
    child = os.fork()
    if child == 0: os._exit(len(bytearray(3 << 20)) != 3 << 20)
    return os.waitpid(child, 0)[1]
print([status_of_child() for _ in range(3)])
"""


class OwnLimits(ledger.Case):
    def assert_not_counted(self, command, out, program, why):
        """Which a line says, and the one that started it is."""
        run = [ledger.BIN, "run", "-o", self.path("%e.%p.hlp"), "--", *command]
        done = ledger.execute(run)
        self.assertEqual((done.status, done.out), (0, out), done)
        self.assertIn(f"heapledger: not counted: {os.path.realpath(program)} ({why})\n", done.err.decode())
        profiled = ledger.Profiled(done, self.dir)
        self.assertEqual(len(profiled.files), 1, done)
        reasons = {"ulimit -v": "address-space", "ulimit -f": "file-size", "ulimit -d": "data", "ulimit -n": "descriptors"}
        reason, = (reasons[limit] for limit in reasons if limit in why)
        self.assertEqual([(one["path"], one["reason"]) for one in profiled.report.get("uncounted", [])],
                         [(os.path.realpath(program), reason)])
        os.remove(profiled.files[0])

    def test_shells(self):
        for shell in ("dash", "bash"):
            with self.subTest(shell=shell):
                self.assert_same([shell, "-c", SCRIPT], processes=3)

    def test_python(self):
        self.assert_same(["/usr/bin/python3", "-c", PYTHON], processes=3)

    def test_blocks_that_the_limit_leaves(self):
        users = [(), ledger.AS_NOBODY] if ledger.can_become_nobody() else [()]
        for before in users:
            for kind, mib in (("as", 64), ("as", 300), ("data", 64)):
                with self.subTest(before=before, kind=kind, mib=mib):
                    done = self.assert_same([*before, ledger.program("own_limits"), kind, str(mib)])
                    self.assertEqual(done.err, b"")
                    self.assertGreaterEqual(len(done.of("own_limits")), 1)

    def test_limit_that_is_there_at_start(self):
        """Lowered further, and up to the hard one."""
        for limit in ("-v 2000000", "-S -v 1000000"):
            with self.subTest(limit=limit):
                self.assert_same(["sh", "-c", f"ulimit {limit}; exec {ledger.program('own_limits')} as 300"])

    def test_no_descriptor_left_for_books(self):
        """Of a forked child: it runs as it does alone, and is told of at the end."""
        self.assert_not_counted([sys.executable, "-c", WITHOUT_DESCRIPTORS], b"[0, 0, 0]\n", sys.executable,
                                "3 times; no descriptor was left for its books: ulimit -n")

    def test_too_little_address_space_for_books(self):
        for command in (["sh", "-c", "ulimit -v 60000; exec seq 3"], ["sh", "-c", "ulimit -v 60000; seq 3; exit 0"]):
            with self.subTest(command=command):
                self.assert_not_counted(command, b"1\n2\n3\n", shutil.which("seq"),
                                        "too little address space for its books: ulimit -v")

    def test_too_little_data_for_books(self):
        """Which would be left without their tables: no profile of no allocation."""
        self.assert_not_counted(["sh", "-c", "ulimit -d 2500; exec seq 3"], b"1\n2\n3\n", shutil.which("seq"),
                                "too little data for its books: ulimit -d")

    def test_small_stacks(self):
        """Of threads that start programs: the environment, which is larger with ours, finds room elsewhere."""
        for way in ("vfork", "path", "fork", "spawn", "y-system"):
            with self.subTest(way=way):
                done = self.assert_same([ledger.program("small_stacks"), way], "--only", "small_stacks")
                self.assertEqual(done.out.decode(), f"{way}: 0, given back\n")


if __name__ == "__main__":
    ledger.main()
