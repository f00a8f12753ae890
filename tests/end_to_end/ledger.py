"""What every end-to-end test needs: run a program under heapledger, read its profiles, say clearly what is wrong.

HEAPLEDGER_BIN is the tool, HEAPLEDGER_PROGRAMS the folder of the test programs; both come from ctest. Neither is in the
environment of what is profiled.
"""

import ctypes
import glob
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ["HEAPLEDGER_BIN"]
PROGRAMS = os.environ["HEAPLEDGER_PROGRAMS"]
PROBE = os.path.normpath(os.path.join(os.path.dirname(BIN), "..", "lib", "heapledger", "libheapledger.so"))
TIMEOUT = 300  # seconds: only ends what hangs
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")

BOOK_KEYS = ("allocations", "frees", "allocated_bytes", "freed_bytes")
STACK_KEYS = BOOK_KEYS + ("temporaries",)



def emergency_pool_bytes():
    """What libstdc++ allocates when it is loaded, for exceptions when memory is short: other objects from GCC 13 on."""
    ctypes.CDLL("libstdc++.so.6")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        file = next(line.split()[-1] for line in maps if "/libstdc++.so.6" in line)
    with open(file, "rb") as library:
        return 73728 if b"GLIBCXX_3.4.31\0" in library.read() else 72704


EMERGENCY_POOL_BYTES = emergency_pool_bytes()


def plain_environment(extra=None):
    """The environment of a profiled program: ours, without the test's own variables."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HEAPLEDGER", "CTEST", "LD_"))}
    env.update({"LC_ALL": "C", "TZ": "UTC"})
    env.update(extra or {})
    return env


def await_end_of_main_thread(pid):
    """Of a process that goes on in other threads."""
    state = ""
    while state != "Z":
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            state = file.read().rsplit(") ", 1)[1][0]
        time.sleep(0.005)  # only spares the processor


def program(name):
    return os.path.join(PROGRAMS, name)


class Outcome:
    """What a command left: status as subprocess has it (-n: killed by signal n), both streams as bytes."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return f"status {self.status}\nstdout: {self.out[-2000:]!r}\nstderr: {self.err[-2000:]!r}"


def execute(command, env=None, cwd=None, stdin=b"", pass_env=False, preexec=None, timeout=TIMEOUT):
    environment = env if pass_env else plain_environment(env)
    with subprocess.Popen(command, env=environment, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=preexec, start_new_session=True) as process:
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"hangs after {timeout} s: {command}\n{Outcome(None, out, err)}") from None
    return Outcome(process.returncode, out, err)


def can_become_nobody():
    """Which needs root, and all of ours in a folder that others can read: a home is closed to them."""
    ours = ["test", "-x", BIN, "-a", "-r", PROBE, "-a", "-x", program("nothing")]
    return os.getuid() == 0 and execute([*AS_NOBODY, *ours]).status == 0


def shell_status(status):
    """The exit status that `run` answers with for a program that ended like this."""
    return 128 - status if status < 0 else status


def report(profile, *options):
    """The JSON report of a profile or a segment."""
    done = execute([BIN, "report", "--json", *options, profile])
    if done.status != 0:
        raise AssertionError(f"report --json {profile} failed\n{done}")
    return json.loads(done.out)


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except OSError:  # gone
        return 0


def children_under_probe(pid):
    """The pids of the programs that this process, `run`, has started, as `ps` lists them."""
    listed = json.loads(execute([BIN, "ps", "--json"]).out)["programs"]
    return [p["pid"] for p in listed if parent_of(p["pid"]) == pid]


class Profiled(Outcome):
    """A run under heapledger: also the reports of every process that left a profile."""

    def __init__(self, done, folder):
        super().__init__(done.status, done.out, done.err)
        self.files = sorted(glob.glob(os.path.join(glob.escape(folder), "*.hlp")))
        self._reports = None

    @property
    def reports(self):
        if self._reports is None:
            self._reports = [report(file) for file in self.files]
        return self._reports

    @property
    def report(self):
        if len(self.reports) != 1:
            raise AssertionError(f"one profile expected, there are {self.files}\n{self}")
        return self.reports[0]

    def of(self, name):
        """The reports of the processes whose program has this name."""
        return [r for r in self.reports if os.path.basename(r["process"]["exe"]) == name]


def frames(stack):
    return stack.get("frames", [])


def functions(stack):
    """Bare function names, innermost first: no arguments, no namespace of the test programs."""
    return [(f.get("function") or "?").split("(")[0] for f in frames(stack)]


def module(frame):
    return os.path.basename(frame.get("module") or "")


def total(stacks, key):
    return sum(s[key] for s in stacks)


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="heapledger-test-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self._runs = 0

    def needs_another_user(self):
        if not can_become_nobody():
            self.skipTest("needs root to become somebody else, who can read the tool")

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def profile(self, command, *options, **keywords):
        """Runs the command under heapledger; its profiles go to a folder of their own."""
        self._runs += 1
        folder = self.path(f"profiles-{self._runs}")
        os.mkdir(folder)
        done = execute([BIN, "run", "-q", "-o", os.path.join(folder, "%e.%p.hlp"), *options, "--", *command], **keywords)
        return Profiled(done, folder)

    def assert_balanced(self, r, losses=(), own_frames=False):
        """The sums over stacks are the totals, threads too, and nothing was lost but what is named."""
        totals, stacks = r["totals"], r["stacks"]
        for key in STACK_KEYS + ("live_blocks", "live_bytes"):
            self.assertEqual(total(stacks, key), totals[key], f"sum of {key} over stacks")
        self.assertEqual(totals["allocations"] - totals["frees"], totals["live_blocks"])
        self.assertEqual(totals["allocated_bytes"] - totals["freed_bytes"], totals["live_bytes"])
        for key in BOOK_KEYS:
            self.assertEqual(total(r["threads"], key), totals[key], f"sum of {key} over threads")
        self.assertEqual(sum(s["allocations"] for s in r["sizes"]), totals["allocations"], "sum over sizes")
        self.assertGreaterEqual(totals["peak_bytes"] + totals["peak_bytes_error"], totals["live_bytes"])
        lost = {name: count for name, count in r["profiler"].get("losses", {}).items() if count and name not in losses}
        # What the loader runs before the program starts ends in the loader's own start, which has no unwind rule.
        started = [s for s in stacks if frames(s) and module(frames(s)[-1]).startswith("ld-linux")]
        if lost.get("stack_cut_no_rule", 0) <= total(started, "allocations"):
            lost.pop("stack_cut_no_rule", None)
        self.assertEqual(lost, {}, "losses")
        self.assertEqual(r.get("errors", []), [], "errors found in a program without any")
        ours = [s for s in stacks if any(module(f) == "libheapledger.so" for f in frames(s))]
        if not own_frames:
            self.assertEqual(ours[:3], [], "frames of our own")

    def assert_sums(self, r):
        """Whatever was lost, what is shown adds up."""
        name = f"{r['process']['exe']} {r['process']['pid']}"
        for key in STACK_KEYS:
            self.assertEqual(total(r["stacks"], key), r["totals"][key], f"sum of {key} over stacks of {name}")
        for stack in r["stacks"]:
            self.assertGreaterEqual(stack["allocations"], stack["frees"], f"more frees than allocations in {name}: {stack}")
            self.assertGreaterEqual(stack["live_bytes"], 0, f"negative live bytes in {name}: {stack}")

    def assert_same(self, command, *options, files=None, processes=None, **keywords):
        """The command does under heapledger what it does alone: both streams, the status, and every file it leaves.

        It runs in a fresh folder of the same name, in which `files` (name to content) were put before. `processes` is
        how many profiles there must be at least. Returns the run under heapledger.
        """
        alone, left = self._in_fresh_folder(files, lambda cwd: execute(command, cwd=cwd, **keywords))
        profiled, left_profiled = self._in_fresh_folder(
            files, lambda cwd: self.profile(command, *options, cwd=cwd, **keywords))
        self.assertEqual(profiled.out, alone.out, f"stdout; stderr is {profiled.err!r}")
        self.assertEqual(profiled.err, alone.err, "stderr")
        self.assertEqual(profiled.status, shell_status(alone.status), "status")
        self.assertEqual(left_profiled, left, "files")
        if processes is not None:
            self.assertGreaterEqual(len(profiled.files), processes, f"profiles: {profiled.files}")
            for r in profiled.reports:
                self.assert_sums(r)
        return profiled

    def _in_fresh_folder(self, files, action):
        cwd = self.path("work")
        shutil.rmtree(cwd, ignore_errors=True)
        os.mkdir(cwd)
        for name, text in (files or {}).items():
            self.write(os.path.join("work", name), text)
        result = action(cwd)
        left = {}
        for folder, _, names in os.walk(cwd):
            for name in names:
                path = os.path.join(folder, name)
                if not stat.S_ISREG(os.lstat(path).st_mode):
                    left[os.path.relpath(path, cwd)] = os.lstat(path).st_mode
                    continue
                with open(path, "rb") as file:
                    left[os.path.relpath(path, cwd)] = file.read()
        return result, left


def main():
    unittest.main(verbosity=2, argv=[sys.argv[0], *sys.argv[1:]])
