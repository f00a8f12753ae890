"""Real programs with every stack a suspect and every block that fits in a slot: they do what they do alone."""

import os
import shutil
import subprocess

import ledger
from ledger import PROBE, plain_environment, program
from watching import Talker

PYTHON = """
import json, sys
def work(count):
    rows = [{"id": i, "names": [str(j) for j in range(9)], "text": "x" * (i % 700)} for i in range(count)]
    again = json.loads(json.dumps(rows))
    print(len(again), again == rows, sum(len(r["text"]) for r in again), flush=True)
work(300)
sys.stdin.readline()
work(800)
"""

PYTHON_THREADS_AND_FORKS = """
import os, sys, threading
table = {i: str(i) * 10 for i in range(3000)}
def churn(rounds):
    for _ in range(rounds):
        kept = [str(i) for i in range(1000)]
def forks(count):
    bad = 0
    for _ in range(count):
        child = os.fork()
        if child == 0:
            right = all(table[i] == str(i) * 10 for i in table)
            table.clear()
            os._exit(0 if right else 1)
        bad += os.waitpid(child, 0)[1] != 0
    return bad
def work(rounds):
    threads = [threading.Thread(target=churn, args=(rounds,)) for _ in range(3)]
    for each in threads: each.start()
    table.update((i, str(i) * 10) for i in range(rounds * 100))
    bad = forks(rounds)
    for each in threads: each.join()
    print(bad, all(table[i] == str(i) * 10 for i in table), flush=True)
work(2)
sys.stdin.readline()
work(6)
"""

PERL = r"""
$| = 1;
sub work { my %h; $h{"key $_"} = [1 .. 4] for 1 .. $_[0]; delete $h{"key $_"} for 1 .. $_[0] / 2; print scalar(%h), "\n"; }
work(200);
<STDIN>;
work(3000) for 1 .. 2;
"""

SHELL = r"""
work() { for i in $(seq $1); do x=$(echo $i | cat); a[$i]="$x and $x"; done; echo ${#a[@]} "${a[7]}"; }
work 10
read line
work 25
"""


class Programs(ledger.Case):
    def started(self, command, environment):
        return subprocess.Popen(command, env=plain_environment(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True, cwd=self.path("."))

    def second_half(self, process, meanwhile=lambda: None):
        """Sets it going, and reads what it says until its end."""
        process.stdin.write("\n")
        process.stdin.flush()
        while process.poll() is None:
            meanwhile()
        rest = process.stdout.read()
        process.stdin.close()
        process.stdout.close()
        return rest, process.returncode

    def same(self, name, *arguments, **environment):
        path = shutil.which(name, path="/usr/bin:/bin") or self.skipTest(f"there is no {name}")
        command = [path, *arguments]
        alone = self.started(command, environment)
        first_line = alone.stdout.readline()
        expected = self.second_half(alone)

        folder = self.path("profiles")
        os.mkdir(folder)
        environment.update(LD_PRELOAD=PROBE, HEAPLEDGER_OUTPUT=os.path.join(folder, "%p.hlp"))
        watched = self.started(command, environment)
        self.assertEqual(watched.stdout.readline(), first_line)
        segment = os.path.join(folder, f"{watched.pid}.hlp")
        tool = Talker([program("watcher"), segment])
        self.addCleanup(tool.end)
        self.assertEqual(tool.answer(), "ready")
        tool("start", 1000, 20_000)
        suspects = set()

        def look():
            for account in tool("accounts"):
                if account[0] not in suspects:
                    suspects.add(account[0])
                    tool("suspect", account[0], 1, 20_000)
            tool("arm")
            tool("slots")

        look()
        self.assertEqual(self.second_half(watched, look), expected)
        answer = tool("answer")
        self.assertGreater(answer["placed"], 100)
        self.assertEqual(answer["failed_arms"], 0)
        r = ledger.report(segment)
        self.assert_sums(r)
        self.assertEqual(r["errors"], [])
        return answer

    def test_python(self):
        self.same("python3", "-S", "-c", PYTHON, PYTHONMALLOC="malloc")

    def test_python_with_threads_and_forks(self):
        answer = self.same("python3", "-S", "-c", PYTHON_THREADS_AND_FORKS, PYTHONMALLOC="malloc")
        self.assertGreater(answer["set_apart"], 0)

    def test_perl(self):
        self.same("perl", "-e", PERL)

    def test_shell(self):
        answer = self.same("bash", "-c", SHELL)
        self.assertGreater(answer["forks"], 10)


if __name__ == "__main__":
    ledger.main()
