"""A program with AddressSanitizer that is looked up in PATH runs without the probe: whichever file libc finds is the one
that counts. The program alone is the oracle."""

import os
import shutil

import ledger

ASAN = ledger.program("nothing_asan")
PLAIN = ledger.program("nothing")
SPAWN = """import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


class PathSearch(ledger.Case):
    def setUp(self):
        super().setUp()
        self.places = self.path("places")
        for folder in ("asan", "plain", "directory/searched", "mode", "empty"):
            os.makedirs(os.path.join(self.places, folder))
        shutil.copy(ASAN, self.place("asan", "searched"))
        shutil.copy(PLAIN, self.place("plain", "searched"))
        with open(self.place("mode", "searched"), "wb") as file:  # found, but nobody may execute it
            file.write(b"no program")
        with open(self.place("file"), "wb") as file:
            file.write(b"no folder")

    def place(self, *names):
        return os.path.join(self.places, *names)

    def searched(self, *folders, name="searched"):
        """Both ways of looking the name up: execvp (env) and posix_spawnp (python3)."""
        path = ":".join(self.place(f) if f else "" for f in folders)
        for command in (["/usr/bin/env", f"PATH={path}", name, "3", "7"],
                        ["/usr/bin/env", f"PATH={path}", "/usr/bin/python3", "-c", SPAWN, name, "3", "7"]):
            with self.subTest(command=command):
                done = self.assert_same(command)
                yield [os.path.basename(r["process"]["exe"]) for r in done.reports].count(name), done

    def test_found_behind_what_is_passed_over(self):
        for folders in (("asan",), ("empty", "asan"), ("no such folder", "asan"), ("file", "asan"), ("directory", "asan"),
                        ("mode", "asan"), ("asan", "plain"), ("x" * 5000, "asan"), ("empty", "asan", "")):
            for profiled, done in self.searched(*folders):
                self.assertEqual((done.status, profiled), (7, 0), done)

    def test_another_file_comes_first(self):
        for folders in (("plain", "asan"), ("mode", "directory", "plain", "asan")):
            for profiled, done in self.searched(*folders):
                self.assertEqual((done.status, profiled), (7, 1), done)

    def test_empty_entry_is_the_current_folder(self):
        line = 'cd "$1" && shift && exec "$@"'
        for path in (":/usr/bin", "/usr/bin:", "/usr/bin::/bin", ""):
            command = ["sh", "-c", line, "sh", self.place("asan"), "/usr/bin/env", f"PATH={path}", "searched", "3", "7"]
            with self.subTest(path=path):
                self.assertEqual(self.assert_same(command).status, 7)

    def test_without_a_path(self):
        self.assertEqual(self.assert_same(["/usr/bin/env", "-u", "PATH", "true"]).status, 0)
        self.assertEqual(self.assert_same(["/usr/bin/env", "-u", "PATH", "searched"]).status, 127)

    def test_not_found(self):
        for name in ("no-such-program", "n" * 300, ""):
            self.assertIn(self.assert_same(["/usr/bin/env", f"PATH={self.place('asan')}", name]).status, (126, 127))


if __name__ == "__main__":
    ledger.main()
