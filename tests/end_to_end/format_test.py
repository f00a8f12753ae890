"""scripts/format with another clang-format than the one whose layout the sources have."""

import os
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Format(unittest.TestCase):
    def test_another_version_changes_nothing(self):
        with tempfile.TemporaryDirectory(prefix="heapledger-test.") as folder:
            for name in ("clang-format-14", "clang-format"):  # the first, so that none of this machine is found
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write('#!/bin/sh\n[ "$*" = --version ] && echo "clang-format version 19.1.7" || exit 9\n')
                os.chmod(os.path.join(folder, name), 0o755)
            env = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])
            for options, status in (["--check"], 0), ([], 1):
                with self.subTest(options=options):
                    done = subprocess.run([os.path.join(ROOT, "scripts", "format"), *options], env=env, text=True,
                                          capture_output=True, check=False)
                    self.assertEqual(done.returncode, status)
                    self.assertEqual(done.stderr, "format: this is clang-format version 19.1.7; "
                                                  "the sources are in the layout of version 14\n")


if __name__ == "__main__":
    unittest.main()
