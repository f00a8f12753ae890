"""Real programs, built without frame pointers: every stack of every allocation equals an independent unwinder's."""

import subprocess

import ledger
from oracle_test import CMAKE, CPP, JQ, PERL, PYTHON, SQL

ENVIRONMENT = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "HOME": "/nonexistent"}
JSON = """
import json
data = {"rows": [{"number": i, "text": str(i)} for i in range(200)]}
for _ in range(8):
    assert json.loads(json.dumps(data, indent=1)) == data
"""


class Programs(ledger.Case):
    def checked(self, command, processes=1):
        done = self.profile(command, "--check", env=ENVIRONMENT)
        self.assertEqual(done.status, 0, done)
        self.assertGreaterEqual(len(done.reports), processes)
        for r in done.reports:
            self.assert_sums(r)
            check = r["profiler"]["check"]
            if r["totals"]["allocations"]:
                self.assertGreater(check["stacks"], 0, r["process"])
            self.assertEqual(check["differences"], 0, r["process"])

    def test_cc1plus(self):
        self.checked(["g++", "-std=c++20", "-O1", "-c", self.write("small.cpp", CPP), "-o", self.path("small.o")], 3)

    def test_git(self):
        environment = ledger.plain_environment({"GIT_CONFIG_GLOBAL": "/dev/null"})
        subprocess.run(["git", "init", "-q", self.dir], check=True, env=environment)
        for i in range(5):
            self.write("file", "".join(f"{n * i % 17}\n" for n in range(i * 10)))
            subprocess.run(["git", "-C", self.dir, "add", "file"], check=True, env=environment)
            subprocess.run(["git", "-C", self.dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "c"],
                           check=True, env=environment)
        self.checked(["git", "-C", self.dir, "log", "--stat", "-p"])

    def test_sqlite3(self):
        self.checked(["sqlite3", ":memory:", f".read {self.write('index.sql', SQL)}"])

    def test_perl(self):
        self.checked(["perl", "-e", PERL])

    def test_python(self):
        self.checked(["/usr/bin/python3", "-S", self.write("script.py", PYTHON)])

    # Few places in turn: most stacks are known by their ends, without a walk.
    def test_python_json(self):
        self.checked(["/usr/bin/python3", "-S", self.write("json_round_trip.py", JSON)])

    def test_xz_with_threads(self):
        self.checked(["xz", "-T2", "--block-size=1MiB", "-k", "-c", "/usr/bin/git"])

    def test_jq(self):
        self.checked(["jq", "-n", JQ])

    def test_cmake(self):
        self.checked(["cmake", "-P", self.write("script.cmake", CMAKE)])

    def test_bash(self):
        self.checked(["bash", "-c", "for i in {1..200}; do a[i]=$(echo $i); done; echo ${#a[@]} | sort"], 200)


if __name__ == "__main__":
    ledger.main()
