"""Programs in pid namespaces of their own, as containers and sandboxes have them: the pids that they know are not ours."""

import json
import os
import subprocess

import ledger

# Each ends by itself, and only when all three have begun: three processes that know themselves as 1 are there at once.
MEET = r"""
$| = 1; my ($n) = @ARGV; my $kept = "x" x ($n << 20);
open my $f, ">", "begun.$n" or die; close $f;
select undef, undef, undef, 0.01 until 3 == grep { -e "begun.$_" } 1 .. 3;
exit 10 + $n;
"""
SHELL = "for n in 1 2 3; do unshare --pid --fork perl meet $n & all=\"$all $!\"; done; for one in $all; do wait $one; echo $?; done"

# Ends with 3 when process 1 has waited for a process whose parent has ended; with 4 when it does not.
ORPHAN = r"""
pipe my $read, my $write;
if (!fork) {
  my $orphan = fork;
  if ($orphan) { syswrite $write, "$orphan\n"; exit 0 }
  exit 7;
}
wait;
chomp(my $orphan = <$read>);
my $limit = time + 60;
select undef, undef, undef, 0.01 while kill(0, $orphan) && time < $limit;
exit(kill(0, $orphan) ? 4 : 3);
"""


class PidNamespaces(ledger.Case):
    def setUp(self):
        super().setUp()
        if ledger.execute(["unshare", "--pid", "--fork", "true"]).status != 0:
            self.skipTest("no pid namespaces here")

    def test_three_that_are_all_process_1(self):
        self.write("meet", MEET)
        done = self.profile(["sh", "-c", SHELL], cwd=self.dir)
        self.assertEqual((done.status, done.out, done.err), (0, b"11\n12\n13\n", b""), done)
        perls = done.of("perl")
        self.assertEqual(len(perls), 3, done.files)
        for n, r in enumerate(sorted(perls, key=lambda r: r["totals"]["peak_bytes"]), 1):
            self.assert_sums(r)
            process = r["process"]
            self.assertEqual((process["pid"], process["ended"], process.get("replaced", False)), (1, "exited", False), process)
            self.assertIn(process.get("exit_code"), (None, 10 + n), process)
            self.assertGreater(r["totals"]["peak_bytes"], n << 20)

    def test_a_pid_that_is_another_process_outside(self):
        """Inside, the second process is 2; outside, that is somebody who does not end."""
        done = self.profile(["unshare", "--pid", "--fork", "sh", "-c", "perl -e 'exit 3'; exit 4"])
        self.assertEqual(done.status, 4, done)
        r, = done.of("perl")
        self.assertEqual((r["process"]["pid"], r["process"]["ended"]), (2, "exited"), r["process"])

    def test_asked_while_it_runs(self):
        """By our pid of it. The leak watch of `run` begins when it is asked for, and is heeded before `stop` returns."""
        wait = "$| = 1; print qq(ready\\n); my $rest = <STDIN>"
        command = ["unshare", "--pid", "--fork", "perl", "-e", wait]
        with subprocess.Popen([ledger.BIN, "run", "-q", "-o", self.path("%e.hlp"), "--", *command], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ledger.plain_environment()) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            programs = json.loads(ledger.execute([ledger.BIN, "ps", "--json"]).out)["programs"]
            pid, = (p["pid"] for p in programs if p["command"] == command[3:])
            for asked in (["mark", str(pid), "here"], ["start", str(pid)], ["stop", str(pid)]):
                done = ledger.execute([ledger.BIN, *asked])
                self.assertEqual(done.status, 0, done)
            run.communicate("go on\n")
        self.assertEqual([m["name"] for m in ledger.report(self.path("perl.hlp"))["markers"]], ["here"])
        done = ledger.execute([ledger.BIN, "leaks", "--json", self.path("perl.hlp")])
        self.assertNotIn("broke off", json.loads(done.out).get("obstacle", ""), done)

    def test_leak_watch(self):
        done = self.profile(["unshare", "--pid", "--fork", "perl", "-e", "print join '', map { chr 97 + $_ % 7 } 1 .. 3_000_000"], "--leaks")
        self.assertEqual(done.status, 0, done)
        file, = [path for path in done.files if os.path.basename(path).startswith("perl.")]
        done = ledger.execute([ledger.BIN, "leaks", file])
        self.assertEqual(done.status, 0, done)
        self.assertNotIn(b"broke off", done.out)

    def test_as_process_1(self):
        """As a container's: processes whose parents have ended are ours to wait for."""
        container = ["unshare", "--pid", "--fork", "--mount-proc"]
        if ledger.execute([*container, "true"]).status != 0:
            self.skipTest("no /proc of one's own here")
        run = [ledger.BIN, "run", "-q", "-o", self.path("%p.hlp"), "--", "perl", self.write("orphan", ORPHAN)]
        done = ledger.execute([*container, *run])
        self.assertEqual((done.status, done.out, done.err), (3, b"", b""), done)
        ends = [ledger.report(self.path(name))["process"].get("exit_code") for name in os.listdir(self.dir) if name.endswith(".hlp")]
        self.assertIn(3, ends)
        self.assertIn(7, ends)


if __name__ == "__main__":
    ledger.main()
