"""The tool is killed while the program runs: the program never notices, and the profile can still be made."""

import ctypes
import glob
import os
import random
import signal
import subprocess

import ledger
import record

PR_SET_CHILD_SUBREAPER = 36
FOLDERS = ("/dev/shm", os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp", "/var/tmp")


def session_folders(tool_pid):
    names = [os.path.join(folder, f"heapledger-{os.getuid()}-{tool_pid}-*") for folder in FOLDERS if folder]
    return sorted({found for name in names for found in glob.glob(name)})


def segments_in(folder, pid):
    """In the folder, or where root keeps them: in one inside."""
    return glob.glob(os.path.join(glob.escape(folder), "**", f"{pid}-*.hls"), recursive=True)


class ToolKilled(ledger.Case):
    def setUp(self):
        super().setUp()
        # The orphan becomes our child, so that its exit status can be seen.
        self.assertEqual(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)

    def orphan(self, threads, moment, operations, ending="return"):
        """Kills the tool after `moment` operations. Returns the segment, the program's status, output and record."""
        file = self.path("record")
        if os.path.exists(file):
            os.remove(file)
        command = [ledger.program("recorded"), file, str(threads), str(operations), ending]
        with subprocess.Popen([ledger.BIN, "run", "-q", "-o", self.path("%e.%p.hlp"), "--", *command],
                              env=ledger.plain_environment(), stdout=subprocess.PIPE) as tool:
            running = record.wait_for(file, moment, lambda: tool.poll() is None)
            tool.kill()
            tool.wait()
            out = tool.stdout.read()  # to the end: when the program has closed it too
        _, status = os.waitpid(running.pid, 0)
        folders = session_folders(tool.pid)
        self.assertEqual(len(folders), 1, "one session folder is left behind")
        self.addCleanup(ledger.shutil.rmtree, folders[0], True)
        segments = segments_in(folders[0], running.pid)
        self.assertEqual(len(segments), 1, os.listdir(folders[0]))
        return segments[0], os.waitstatus_to_exitcode(status), out, record.Record(file)

    def assert_complete(self, r, book):
        sites = [s for s in r["stacks"] if any(f.startswith("site_") for f in ledger.functions(s))]
        for key in record.KEYS:
            self.assertEqual(ledger.total(sites, key), book.done[key], key)
        self.assert_balanced(r)

    def test_program_goes_on(self):
        for threads in (1, 4):
            moment = random.randrange(1, 5000)
            with self.subTest(threads=threads, moment=moment):
                segment, status, out, book = self.orphan(threads, moment, 300000)
                self.assertEqual((status, out), (7, b"done\n"))
                self.assertEqual(book.finished, 1)
                self.assertEqual(book.done, book.started)
                r = ledger.report(segment)
                self.assert_complete(r, book)
                self.assertEqual(os.path.basename(r["process"]["exe"]), "recorded")

    def test_program_dies_too(self):
        segment, status, _, book = self.orphan(1, 1000, 300000, "kill")
        self.assertEqual(status, -signal.SIGKILL)
        self.assert_complete(ledger.report(segment), book)

    def test_segment_of_a_running_program(self):
        """A segment is a profile at any time: while the program runs, its numbers only grow."""
        file = self.path("record")
        command = [ledger.program("recorded"), file, "4", "0", "never"]
        with subprocess.Popen([ledger.BIN, "run", "-q", "-o", self.path("%e.%p.hlp"), "--", *command],
                              env=ledger.plain_environment()) as tool:
            running = record.wait_for(file, 1000, lambda: tool.poll() is None)
            try:
                segments = [s for folder in session_folders(tool.pid) for s in segments_in(folder, running.pid)]
                self.assertEqual(len(segments), 1)
                before = record.Record(file)
                r = ledger.report(segments[0])
                after = record.Record(file)
                self.assertEqual(r["process"]["ended"], "running")
                sites = [s for s in r["stacks"] if any(f.startswith("site_") for f in ledger.functions(s))]
                for key in record.KEYS:
                    self.assertLessEqual(before.done[key], ledger.total(sites, key), key)
                    self.assertLessEqual(ledger.total(sites, key), after.started[key], key)
            finally:
                os.kill(running.pid, signal.SIGKILL)
                tool.wait()
        self.assertEqual(session_folders(tool.pid), [], "nothing is left behind")


if __name__ == "__main__":
    ledger.main()
