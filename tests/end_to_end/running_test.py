"""Profiles of a program that runs, by its pid: what it knows at that moment, in every command that reads one."""

import contextlib
import json
import os
import shutil
import subprocess
import time

import ledger
from stepping import MARKERS, Stepping


def has_open(pid, file):
    folder = f"/proc/{pid}/fd"
    for fd in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            if os.readlink(os.path.join(folder, fd)) == file:
                return True
    return False


class Running(Stepping):
    def json(self, *words):
        return json.loads(self.command("report", "--json", *words).out)

    def test_report(self):
        process, file = self.start("steps")
        pid = self.program_of(process)
        first = self.json(pid)
        self.assertEqual((first["totals"]["live_bytes"], first["totals"]["live_blocks"]), (6400, 100))
        self.assertEqual((first["process"]["pid"], first["process"]["ended"]), (pid, "running"))
        self.assert_sums(first)
        self.assertEqual(ledger.functions(first["stacks"][0])[::2][:2], ["cache_grows", "main"])
        self.assertGreater(first["memory"]["rss_bytes"], 0)
        self.step(process)
        self.assertEqual(self.json(pid)["totals"]["live_bytes"], 32000)
        self.assertIn(b"is still running", self.command("report", pid).out)
        self.end(process)
        self.assertEqual(ledger.report(file)["totals"]["allocations"], 200)

    def test_that_was_built_again_meanwhile(self):
        """The file under its name is another now; what runs is found all the same."""
        program = self.path("program")
        shutil.copy(MARKERS, program)
        process, file = self.start("steps", program=program)
        pid = self.program_of(process)
        os.remove(program)
        shutil.copy(ledger.program("nothing"), program)
        self.assertEqual(ledger.functions(self.json(pid)["stacks"][0])[::2][:2], ["cache_grows", "main"])
        text = self.command("top", "--json", "--count", "1", pid).out.decode()
        self.assertIn("cache_grows", text)
        self.end(process)
        self.assertIn(b"the file was replaced", self.command("report", file).out)

    def test_snapshots(self):
        process, _ = self.start("steps")
        pid = self.program_of(process)
        self.command("snapshot", pid, "before")
        self.step(process)
        self.assertEqual(self.json(f"{pid}@before")["totals"]["live_bytes"], 6400)
        grown = self.json("--since", "before", pid)
        self.assertEqual((grown["totals"]["live_bytes"], grown["until"]["name"]), (25600, "now"))
        self.assertRegex(self.command("diff", f"{pid}@before", pid).out, rb"by live bytes\n(.*\n)*.* \+25\.0 KiB ")
        self.assertRegex(self.command("report", "--since", "before", pid).out, rb"From 'before' \(at .*\) to now \(at ")

    def test_as_files(self):
        process, _ = self.start("steps")
        pid = self.program_of(process)
        kept = self.path("now.hlp")
        self.assertIn(b"type: heapledger report", self.command("export", "--format", "hlp", "-o", kept, pid).err)
        said = self.command("export", "--format", "hlp", "-o", kept, pid, status=125).err
        self.assertIn(b"exists", said)
        whole = self.json(kept)
        self.step(process)
        self.assertEqual((whole["totals"]["live_bytes"], ledger.functions(whole["stacks"][0])[0]), (6400, "cache_grows"))
        self.assert_sums(whole)
        worse = self.command("diff", "--fail-above", "live=25600B", kept, pid)
        self.assertEqual(worse.err, b"")
        self.assertIn(b"worse: ", self.command("diff", "--fail-above", "live=25599B", kept, pid, status=1).err)
        folded = self.command("export", "--format", "folded", "--by", "live", pid).out
        self.assertRegex(folded, rb"main;.*steps.*;cache_grows.* 25600\n")

    def test_page(self):
        process, _ = self.start("steps")
        pid = self.program_of(process)
        folder = self.path("pages")
        os.mkdir(folder)
        done = ledger.execute([ledger.BIN, "html", str(pid)], cwd=folder)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(os.listdir(folder), [f"heapledger.markers.{pid}.html"])

    def test_books_that_somebody_removes(self):
        """Who cleans up, or logind when the user has gone: the tool has them open."""
        process, file = self.start("steps")
        pid = self.program_of(process)
        segment, = [p["segment"] for p in json.loads(self.command("ps", "--json").out)["programs"] if p["pid"] == pid]
        while not has_open(process.pid, segment):
            time.sleep(0.005)  # only spares the processor
        shutil.rmtree(os.path.dirname(segment))
        self.step(process)
        self.end(process)
        r = ledger.report(file)
        self.assertEqual((r["totals"]["live_bytes"], r["process"]["ended"]), (6400 + 25600, "exited"))
        self.assert_sums(r)

    def test_what_is_no_program(self):
        for command in (["report"], ["html"], ["export", "--format", "pprof"], ["leaks"]):
            self.assertIn(b"process 1: it is not under heapledger", self.command(*command, 1, status=125).err)
            self.assertIn(b"there is no process 999999998", self.command(*command, 999999998, status=125).err)

    def test_what_has_ended(self):
        """While nobody has waited for it."""
        with subprocess.Popen(["true"]) as gone:
            os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
            for command in (["report"], ["top", "--text"], ["detach"], ["leaks"]):
                self.assertIn(f"process {gone.pid}: it has ended".encode(), self.command(*command, gone.pid, status=125).err)


if __name__ == "__main__":
    ledger.main()
