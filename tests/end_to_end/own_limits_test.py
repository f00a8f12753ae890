"""A program that limits its own memory while it runs meets the limit where it does alone, and sees it as it set it."""

import os

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


def as_nobody():
    return ["setpriv", "--reuid=65534", "--clear-groups"] if os.getuid() == 0 else []


class OwnLimits(ledger.Case):
    def test_shells(self):
        for shell in ("dash", "bash"):
            with self.subTest(shell=shell):
                self.assert_same([shell, "-c", SCRIPT], processes=3)

    def test_python(self):
        self.assert_same(["/usr/bin/python3", "-c", PYTHON], processes=3)

    def test_blocks_that_the_limit_leaves(self):
        for before in ([], as_nobody()):
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


if __name__ == "__main__":
    ledger.main()
