"""scripts/demo says on standard output what the profiled program and the report say, and nothing else."""

import os
import shutil

import ledger

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/demo")


class Demo(ledger.Case):
    def demo(self, cmake):
        """In a tree of its own: everything is built already, and `cmake` is what building says and does."""
        for folder in ("scripts", "tools", "build/release/bin"):
            os.makedirs(self.path(folder), exist_ok=True)
        shutil.copy(DEMO, self.path("scripts/demo"))
        for name, text in (("scripts/setup", "exit 0"), ("tools/cmake", cmake)):
            os.chmod(self.write(name, f"#!/bin/sh\n{text}\n"), 0o755)
        self.write("build/release/build.ninja", "")
        os.symlink(ledger.BIN, self.path("build/release/bin/heapledger"))
        return ledger.execute([self.path("scripts/demo")], env={"PATH": f"{self.path('tools')}:{os.environ['PATH']}"})

    def test_nothing_to_build(self):
        done = self.demo("echo 'ninja: no work to do.'")
        self.assertEqual(done.status, 0, done)
        lines = done.out.decode().splitlines()
        self.assertRegex(lines[0], r"^\d+ words, \d+ times std$")
        self.assertTrue(lines[1].startswith("perl -e"), lines[1])
        self.assertNotIn(b"ninja", done.err)

    def test_build_fails(self):
        done = self.demo("echo 'FAILED: why'; exit 1")
        self.assertEqual((done.status, done.out), (1, b""), done)
        self.assertIn(b"FAILED: why", done.err)


if __name__ == "__main__":
    ledger.main()
