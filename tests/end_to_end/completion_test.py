"""A shell completes what the tool takes: every command, option and value, profiles, and programs that run."""

import os
import re
import shutil
import subprocess
import unittest

import ledger
import shells

CLI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "tool", "cli")
COMPLETION = os.path.join(CLI, "completion.bash")
COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_heapledger
printf '%s\\n' "${COMPREPLY[@]}"
"""


def help_of(*words):
    return ledger.execute([ledger.BIN, *words, "--help"]).out.decode()


@unittest.skipUnless(shutil.which("bash"), "no bash here")
class Completion(ledger.Case):
    def complete(self, *words):
        done = ledger.execute(["bash", "-c", COMPLETE, "bash", COMPLETION, ledger.BIN, *words], cwd=self.dir)
        self.assertEqual((done.status, done.err), (0, b""), done)
        return done.out.decode().split()

    def test_commands(self):
        known = re.findall(r"^  ([a-z]+) ", help_of(), re.M)
        self.assertIn("snapshot", known)
        self.assertEqual([each for each in self.complete("") if not each.startswith("-")], known)
        self.assertEqual(self.complete("sn"), ["snapshot"])
        self.assertEqual(self.complete("help", "d"), ["detach", "diff", "doctor"])

    def test_options(self):
        for command in re.findall(r"^  ([a-z]+) ", help_of(), re.M):
            with self.subTest(command=command):
                known = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", help_of(command), re.M)
                self.assertEqual(sorted(self.complete(command, "-")), sorted(known))

    def test_values(self):
        """Those that the tool takes: it says of no other one which there are."""
        for *words, value in (("run", "--stacks", "jit"), ("run", "--snapshot-signal", "USR2"), ("report", "--by", "temporary"),
                              ("diff", "--by", "live"), ("top", "--by", "churn"), ("top", "--per", "scope"),
                              ("export", "--format", "speedscope"), ("export", "--by", "peak"), ("leaks", "--stop", "no")):
            with self.subTest(words=words):
                values = self.complete(*words, "")
                self.assertIn(value, values)
                self.assertEqual(self.complete(*words, value), [value])
                self.assertEqual(self.complete(*words, "=", value), [value], "as bash splits --by=peak")
                for each in values:
                    refused = ledger.execute([ledger.BIN, *words, each, "--no-such-option"]).err
                    self.assertNotIn(b"none of", refused)
        self.assertEqual(self.complete("report", "--top", ""), [])

    def test_profiles_and_programs(self):
        self.write("a.hlp", "")
        self.write("a.txt", "")
        os.mkdir(self.path("a_folder"))
        for words in (("report",), ("report", "--by", "peak"), ("html", "--diff"), ("diff", "x.hlp"), ("leaks",)):
            with self.subTest(words=words):
                self.assertEqual(sorted(self.complete(*words, "a")), ["a.hlp", "a_folder"])
        self.assertEqual(self.complete("run", "-q", "--depth", "3", "tr"), self.complete("run", "tr"))
        self.assertIn("true", self.complete("run", "-q", "--depth", "3", "tru"))
        self.assertEqual(sorted(self.complete("run", "--stacks", "fp", "true", "a")), ["a.hlp", "a.txt", "a_folder"])
        self.assertEqual(sorted(self.complete("run", "-o", "a")), ["a.hlp", "a.txt", "a_folder"])
        self.assertEqual(self.complete("run", "true", "--sta"), [], "the program's own")

    def test_programs_that_run(self):
        with subprocess.Popen([ledger.BIN, "run", "-q", "-o", self.path("x.hlp"), "--", "sh", "-c", "echo; read line"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ledger.plain_environment()) as run:
            run.stdout.readline()
            pid, = ledger.children_under_probe(run.pid)
            for command in ("report", "top", "snapshot", "detach"):
                self.assertIn(str(pid), self.complete(command, ""), command)
            self.assertIn(str(pid), self.complete("attach", str(pid)))
            run.stdin.close()


class OtherShells(ledger.Case):
    """They ask bash's; here is what becomes of each of its answers."""

    def setUp(self):
        super().setUp()
        for name in ("a.hlp", "a.txt"):
            self.write(name, "")
        os.mkdir(self.path("a_folder"))

    @unittest.skipUnless(shells.FISH, "no fish here")
    def test_fish(self):
        for line, answer in (("heapledger sn", ["snapshot"]), ("heapledger report --by=pea", ["--by=peak"]), ("heapledger run --stacks j", ["jit"]),
                             ("heapledger run -o a", ["a.hlp", "a.txt", "a_folder/"]),
                             ("heapledger run --output=a", ["--output=a.hlp", "--output=a.txt", "--output=a_folder/"]),
                             ("heapledger run -q truncat", ["truncate"]), ("heapledger run -q -- fish --no-conf", ["--no-config"])):
            with self.subTest(line=line):
                self.assertEqual(sorted(shells.fish(os.path.join(CLI, "completion.fish"), line, self.dir)), answer)
        self.assertIn("a.hlp", shells.fish(os.path.join(CLI, "completion.fish"), "heapledger report a", self.dir))

    @unittest.skipUnless(shells.ZSH, "no zsh here")
    def test_zsh(self):
        for words, answer in ((["sn"], ["snapshot"]), (["report", "--by=pea"], ["--by=peak"]), (["run", "--stacks", "j"], ["jit"]),
                              (["report", "a"], ["files -g *.hlp"]), (["run", "-o", ""], ["files"]), (["run", "--output=a"], ["files"]),
                              (["run", "-q", "tr"], ["commands"]), (["run", "-q", "--", "git", "-C", "a"], ["git -C a of 3"])):
            with self.subTest(words=words):
                self.assertEqual(shells.zsh(os.path.join(CLI, "completion.zsh"), ["heapledger", *words], self.dir), answer)


if __name__ == "__main__":
    ledger.main()
