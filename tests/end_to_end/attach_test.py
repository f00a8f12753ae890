"""attach and detach: a program that runs already is profiled from then on, goes on as if nothing had been, and is left again
by whoever asks; and what cannot be attached to is told from what can in one line."""

import glob
import json
import os
import select
import shutil
import signal
import subprocess
import unittest
from types import SimpleNamespace

import ledger

ALLOCATES = """import sys
kept = []
print('on', flush=True)
for line in sys.stdin:
    kept += [bytearray(100_000) for _ in range(int(line))]
    print(len(kept), flush=True)
"""

# Before ALLOCATES: from then on the kernel ends it for gettid, as it does chronyd.
DIES_OF_GETTID = """import ctypes, struct
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('steps', ctypes.c_char_p)]
steps = b''.join(struct.pack('HBBI', *step) for step in
                 ((0x20, 0, 0, 0), (0x15, 0, 1, 186), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7fff0000)))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, ctypes.byref(Program(4, steps))) == 0
"""


def probe_can_attach():
    with open(ledger.PROBE, "rb") as file:
        return b"heapledger_attach" in file.read()


class Attached(ledger.Case):
    def start(self, *command, **how):
        process = subprocess.Popen(command, env=ledger.plain_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   start_new_session=True, cwd=self.dir, **how)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def program(self, *command):
        process = self.start(*(command or ("python3", "-c", ALLOCATES)))
        self.assertEqual(process.stdout.readline(), b"on\n")
        return process

    def allocate(self, process, blocks):
        process.stdin.write(f"{blocks}\n".encode())
        process.stdin.flush()
        return int(process.stdout.readline())

    def attach(self, process, *options):
        """The tool, once it is there."""
        tool = self.start(ledger.BIN, "attach", "-o", self.path("out.hlp"), *options, str(process.pid), stderr=subprocess.PIPE)
        line = tool.stderr.readline()
        self.assertRegex(line, rb"^heapledger: attached to (?:python3[^ ]*|mapped) \(pid %d\); counting from now on; Ctrl-C or `heapledger "
                         rb"detach %d` ends it and writes the profile\n$" % (process.pid, process.pid))
        return tool

    def detach(self, process, *options):
        return ledger.execute([ledger.BIN, "detach", *options, str(process.pid)], cwd=self.dir)

    def finish(self, tool):
        _, err = tool.communicate(timeout=ledger.TIMEOUT)
        return tool.returncode, err

    def assert_goes_on(self, process, blocks):
        self.assertEqual(self.allocate(process, 1), blocks + 1)
        process.communicate()
        self.assertEqual(process.returncode, 0)

    def assert_counted(self, blocks, file="out.hlp"):
        r = ledger.report(self.path(file))
        self.assertGreater(r["process"]["attached_after"], 0)
        big = [s for s in r["stacks"] if s["allocated_bytes"] >= 100_000]
        self.assertEqual(sum(s["allocations"] for s in big if s["allocated_bytes"] // s["allocations"] >= 100_000), blocks, big)
        return r

    def assert_nothing_stays(self, process):
        self.assertEqual([name for name in os.listdir("/dev/shm") if name.startswith(f"heapledger-{os.getuid()}-{process}-")], [])


@unittest.skipUnless(probe_can_attach(), "the probe cannot be attached")
class Programs(Attached):
    def test_ctrl_c(self):
        process = self.program()
        self.allocate(process, 5)
        tool = self.attach(process)
        self.allocate(process, 7)
        tool.send_signal(signal.SIGINT)
        status, err = self.finish(tool)
        self.assertEqual(status, 0, err)
        self.assertRegex(err, rb"still runs: its profile holds what it did until now\nheapledger: wrote .*out.hlp; next: heapledger report ")
        r = self.assert_counted(7)
        self.assertEqual((r["process"]["ended"], r["process"]["detached"], r["process"]["pid"]), ("running", True, process.pid))
        text = ledger.execute([ledger.BIN, "report", self.path("out.hlp")]).out
        self.assertRegex(text, rb", attached [0-9.]+ m?s later, watched for [0-9.]+ m?s, ")
        self.assertIn("timeline", r)
        self.assert_nothing_stays(tool.pid)
        self.assert_goes_on(process, 12)

    def test_detach_from_elsewhere(self):
        process = self.program()
        tool = self.attach(process)
        self.allocate(process, 3)
        done = self.detach(process)
        self.assertEqual((done.status, done.err), (0, b"heapledger: wrote %s\n" % self.path("out.hlp").encode()))
        self.assertEqual(self.finish(tool)[0], 0)
        self.assert_counted(3)
        again = self.detach(process)
        self.assertEqual(again.status, 125)
        self.assertIn(b"is not under heapledger", again.err)
        self.assert_goes_on(process, 3)

    def test_mappings(self):
        """What was mapped before is not in the books, nor is it missed when it goes; nor what is mapped afterwards."""
        process = self.program(ledger.program("mapped"), "talk")

        def mapped(*words):
            tool = self.attach(process, "-f")
            for word, kept in words:
                self.assertEqual(self.allocate(process, word), kept)
            self.detach(process)
            self.assertEqual(self.finish(tool)[0], 0)
            sites = ledger.report(self.path("out.hlp"))["mapped"]["stacks"]
            return {ledger.functions(s)[0]: (s["calls"], s["mapped_bytes"], s["live_bytes"]) for s in sites}

        # At first the program has one, of 1 MiB; the first in its list is what it moves and gives back.
        self.assertEqual(mapped(("a 8192", 2), ("b 12288", 3), ("u 0", 2), ("c 16384", 2), ("u 0", 1), ("a 4096", 2)),
                         {"map_a": (2, 12288, 4096), "map_b": (1, 12288, 0), "map_c": (1, 16384, 16384)})
        self.assertEqual(self.allocate(process, "a 40960"), 3)
        self.assertEqual(self.allocate(process, "u 0"), 2)
        self.assertEqual(mapped(("b 8192", 3), ("u 0", 2), ("u 0", 1), ("c 4096", 1)),
                         {"map_b": (1, 8192, 0), "map_c": (1, 4096, 4096)})
        process.communicate()
        self.assertEqual(process.returncode, 0)

    def test_detach_from_another_folder(self):
        process = self.program()
        tool = self.start(ledger.BIN, "attach", str(process.pid), stderr=subprocess.PIPE)
        self.assertIn(b"attached to", tool.stderr.readline())
        os.mkdir(self.path("elsewhere"))
        done = ledger.execute([ledger.BIN, "detach", "-o", "mine.hlp", str(process.pid)], cwd=self.path("elsewhere"))
        self.assertEqual(done.status, 0, done)
        note, wrote = done.err.decode().splitlines()
        self.assertIn("-o mine.hlp is not used", note)
        file = wrote.removeprefix("heapledger: wrote ")
        self.assertTrue(os.path.isabs(file) and os.path.exists(file), wrote)
        self.assertEqual(self.finish(tool)[0], 0)

    def test_again(self):
        """With books of its own; what happened in between is in neither."""
        process = self.program()
        for blocks, total in ((3, 3), (4, 12), (5, 22)):
            tool = self.attach(process, "-f")
            self.allocate(process, blocks)
            self.assertEqual(self.detach(process).status, 0)
            self.assertEqual(self.finish(tool)[0], 0)
            self.assertEqual(self.assert_counted(blocks)["errors"], [])
            self.assertEqual(self.allocate(process, 5), total + 5)
            self.assert_nothing_stays(tool.pid)
        self.assert_goes_on(process, 27)

    def test_who_looks_on_is_told(self):
        process = self.program()
        tool = self.attach(process)
        self.allocate(process, 3)
        text = ledger.execute([ledger.BIN, "top", "--count", "1", str(process.pid)]).out
        self.assertRegex(text, rb"^pid %d, watched for [0-9.]+ m?s, attached [0-9.]+ m?s after its start: live " % process.pid)
        sample = json.loads(ledger.execute([ledger.BIN, "top", "--json", "--count", "1", str(process.pid)]).out)
        listed = [p for p in json.loads(ledger.execute([ledger.BIN, "ps", "--json"]).out)["programs"] if p["pid"] == process.pid]
        self.detach(process)
        self.assertEqual(self.finish(tool)[0], 0)
        age = self.assert_counted(3)["process"]["attached_after"]
        self.assertEqual((sample["attached_after"], [p["attached_after"] for p in listed]), (age, [age]))
        self.assert_goes_on(process, 3)

    def test_its_end(self):
        process = self.program()
        tool = self.attach(process)
        self.allocate(process, 3)
        process.communicate()
        self.assertEqual(process.returncode, 0)
        status, err = self.finish(tool)
        self.assertEqual(status, 0, err)
        self.assertEqual(self.assert_counted(3)["process"]["ended"], "exited")
        self.assert_nothing_stays(tool.pid)

    def test_killed(self):
        process = self.program()
        tool = self.attach(process)
        self.allocate(process, 3)
        process.kill()
        self.assertEqual(self.finish(tool)[0], 0)
        self.assertIn(self.assert_counted(3)["process"]["ended"], ("signaled", "lost"))

    def test_who_watches_is_killed(self):
        process = self.program()
        tool = self.attach(process)
        self.allocate(process, 3)
        tool.kill()
        self.finish(tool)
        self.allocate(process, 4)
        again = ledger.execute([ledger.BIN, "attach", str(process.pid)], cwd=self.dir)
        self.assertIn(b"heapledger detach %d ends that, and writes the profile\n" % process.pid, again.err)
        self.write("taken.hlp", "mine")
        refused = self.detach(process, "-o", "taken.hlp")
        self.assertEqual((refused.status, refused.err), (125, b"heapledger: taken.hlp: exists already; use -f to overwrite "
                                                              b"it, or another name with -o\n"), refused)
        self.allocate(process, 1)
        done = self.detach(process, "-o", "late.hlp")
        self.assertEqual(done.status, 0, done)
        self.assertIn(b"wrote late.hlp; next: heapledger report late.hlp", done.err)
        self.assert_counted(8, "late.hlp")
        self.assert_nothing_stays(tool.pid)
        self.assert_goes_on(process, 8)

    def test_who_would_watch_is_killed_before_it_began(self):
        """The next one removes the directory that it left."""
        stuck = self.start("cat", "/dev/zero")  # writes into a full pipe, where no thread is taken
        tool = self.start(ledger.BIN, "attach", str(stuck.pid))
        mark = None
        while mark is None:
            mark = next(iter(glob.glob(f"/dev/shm/heapledger-{os.getuid()}-{tool.pid}-*/**/attach", recursive=True)), None)
        tool.kill()
        tool.wait()
        self.assertTrue(os.path.exists(mark), "the case at hand")
        process = self.program()
        for age, is_left in ((0, True), (3600, False)):
            os.utime(mark, (os.path.getmtime(mark) - age,) * 2)
            tool = self.attach(process, "-f")
            self.detach(process)
            self.finish(tool)
            self.assertEqual(os.path.exists(mark), is_left, "one that is new may just be at its beginning")
        self.assert_nothing_stays(tool.pid)

    def test_who_watches_is_killed_while_it_is_asked_to_end(self):
        """Who asked does it, then."""
        process = self.program()
        tool = self.attach(process)
        self.allocate(process, 3)
        tool.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, tool.pid, os.WSTOPPED | os.WNOWAIT)
        detaching = self.start(ledger.BIN, "detach", "-o", self.path("mine.hlp"), str(process.pid), stderr=subprocess.PIPE)
        waits_for_lock = "73 "
        call = ""
        while not call.startswith(waits_for_lock):
            self.assertIsNone(detaching.poll())
            with open(f"/proc/{detaching.pid}/syscall", encoding="ascii") as file:
                call = file.read()
        tool.kill()
        self.finish(tool)
        status, err = self.finish(detaching)
        self.assertEqual(status, 0, err)
        self.assert_counted(3, "mine.hlp")
        self.assert_nothing_stays(tool.pid)
        self.assert_goes_on(process, 3)

    def test_it_is_stopped_when_it_is_to_be_left(self):
        """Its profile is written, and it can be left later."""
        process = self.program()
        tool = self.attach(process)
        self.allocate(process, 3)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        done = self.detach(process)
        self.assertEqual(done.status, 0, done)
        words = b"is stopped; let it go on first: kill -CONT %d; it is counted on until you type: heapledger detach %d\n" % (process.pid, process.pid)
        self.assertIn(words, done.err)
        status, err = self.finish(tool)
        self.assertEqual(status, 0, err)
        self.assertIn(words, err)
        self.assert_counted(3)
        process.send_signal(signal.SIGCONT)
        self.allocate(process, 4)
        self.assertEqual(self.detach(process, "-o", "late.hlp").status, 0)
        self.assert_counted(7, "late.hlp")
        self.assert_nothing_stays(tool.pid)
        again = self.attach(process, "-f")
        again.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(again)[0], 0)
        self.assert_goes_on(process, 7)

    def test_child_that_begins_while_profiles_are_written(self):
        """It is left too, and its books stay nowhere."""
        for is_watched in (True, False):
            process = self.program(ledger.program("silent_child"))
            fifo = self.path(f"fifo-{is_watched}")
            os.mkfifo(fifo)
            tool = self.start(ledger.BIN, "attach", "-o", fifo, str(process.pid), stderr=subprocess.PIPE)
            self.assertIn(b"attached to", tool.stderr.readline())
            child = self.allocate(process, "")
            if not is_watched:
                tool.kill()
                self.finish(tool)
            with open(fifo, "r+b", buffering=0, opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as full:
                while full.write(bytes(4096)) is not None:
                    pass
                detaching = self.start(ledger.BIN, "detach", "-f", "-o", fifo, str(process.pid), stderr=subprocess.PIPE)
                while "detached" not in ledger.report(str(process.pid))["process"]:  # then its profile waits for room
                    pass
                process.stdin.write(b"\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), b"allocated\n")
                while (tool if is_watched else detaching).poll() is None:
                    full.read(1 << 20)
            self.assertEqual(self.finish(detaching)[0], 0)
            self.finish(tool)
            self.assert_nothing_stays(tool.pid)
            again = self.start(ledger.BIN, "attach", "-f", "-o", self.path("child.hlp"), str(child), stderr=subprocess.PIPE)
            self.assertIn(b"attached to", again.stderr.readline())
            self.assertEqual(self.detach(SimpleNamespace(pid=child)).status, 0)
            self.assertEqual(self.finish(again)[0], 0)

    def test_options(self):
        process = self.program()
        tool = self.attach(process, "--stacks", "off", "--interval", "0", "--lifetimes", "--leaks")
        self.allocate(process, 3)
        tool.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(tool)[0], 0)
        r = ledger.report(self.path("out.hlp"))
        self.assertEqual(r["process"]["stacks"], "off")
        self.assertEqual(ledger.execute([ledger.BIN, "leaks", self.path("out.hlp")]).status, 0)
        self.assert_goes_on(process, 3)

    def test_threads_that_allocate_all_the_time(self):
        process = self.start(ledger.program("waits"), "new_threads")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        tool = self.start(ledger.BIN, "attach", "-o", self.path("out.hlp"), str(process.pid), stderr=subprocess.PIPE)
        self.assertIn(b"attached to waits", tool.stderr.readline())
        self.assertEqual(self.detach(process).status, 0)
        self.assertEqual(self.finish(tool)[0], 0)
        out, _ = process.communicate(b"x\n")
        self.assertEqual((out, process.returncode), (b"as it should be\n", 0))
        self.assertGreater(ledger.report(self.path("out.hlp"))["totals"]["allocations"], 0)

    def test_already_under_heapledger(self):
        run = self.start(ledger.BIN, "run", "-o", self.path("run.hlp"), "--", "python3", "-c", ALLOCATES, stderr=subprocess.PIPE)
        self.assertEqual(run.stdout.readline(), b"on\n")
        [pid] = ledger.children_under_probe(run.pid)
        done = ledger.execute([ledger.BIN, "attach", str(pid)], cwd=self.dir)
        self.assertEqual((done.status, done.err), (125, b"heapledger: process %d: it is under heapledger already; heapledger top %d, or "
                                                   b"heapledger leaks %d\n" % (pid, pid, pid)))
        done = ledger.execute([ledger.BIN, "detach", str(pid)], cwd=self.dir)
        self.assertEqual(done.status, 125)
        self.assertIn(b"it was started under heapledger, and is profiled up to its end", done.err)
        run.communicate()

    def test_whose_run_was_killed(self):
        run = self.start(ledger.BIN, "run", "-o", self.path("run.hlp"), "--", "python3", "-c", ALLOCATES, stderr=subprocess.PIPE)
        self.assertEqual(run.stdout.readline(), b"on\n")
        [pid] = ledger.children_under_probe(run.pid)
        run.kill()
        run.wait()
        done = ledger.execute([ledger.BIN, "detach", str(pid)], cwd=self.dir)
        self.assertEqual(done.status, 125)
        self.assertIn(b"nobody writes its profile", done.err)
        segment = done.err.split()[-1].decode()
        self.addCleanup(shutil.rmtree, segment[: segment.index("/", segment.index("/heapledger-") + 1)])
        pidfd = os.pidfd_open(pid)
        os.kill(pid, signal.SIGKILL)
        select.select([pidfd], [], [])
        os.close(pidfd)
        done = ledger.execute([ledger.BIN, "export", "--format", "hlp", "-o", "kept.hlp", segment], cwd=self.dir)
        self.assertEqual(done.status, 0, done)
        self.assertGreater(ledger.report(self.path("kept.hlp"))["totals"]["allocations"], 0)

    def test_own_mounts(self):
        if os.getuid() != 0 or ledger.execute(["unshare", "-m", "true"]).status != 0:
            self.skipTest("may not have mounts of its own")
        folder = os.path.dirname(ledger.PROBE)
        process = self.start("unshare", "-m", "--propagation", "private", "sh", "-c",
                             f"mount -t tmpfs none {folder} && echo on && read x")
        self.assertEqual(process.stdout.readline(), b"on\n")
        done = ledger.execute([ledger.BIN, "attach", str(process.pid)], cwd=self.dir)
        self.assertEqual(done.status, 125, done)
        self.assertIn(b"libheapledger.so is not there; run heapledger inside", done.err)

    def test_no_room_for_the_session_at_the_end(self):
        """Who asked for the end learns all the same what was written."""
        if os.getuid() != 0 or ledger.execute(["unshare", "-m", "true"]).status != 0:
            self.skipTest("may not have mounts of its own")
        process = self.program("unshare", "-m", "--propagation", "private", "sh", "-c",
                               'mount -t tmpfs -o size=64m none /dev/shm && exec python3 -c "$0"', ALLOCATES)
        within = ("nsenter", "-t", str(process.pid), "-m", "--wd=.")
        tool = self.start(*within, ledger.BIN, "attach", "-o", self.path("out.hlp"), str(process.pid), stderr=subprocess.PIPE)
        self.assertIn(b"attached to", tool.stderr.readline())
        self.allocate(process, 3)
        self.assertNotEqual(ledger.execute([*within, "dd", "if=/dev/zero", "of=/dev/shm/full", "bs=4k"]).status, 0)
        done = ledger.execute([*within, ledger.BIN, "detach", str(process.pid)], cwd=self.dir)
        self.assertEqual((done.status, done.err), (0, f"heapledger: wrote {self.path('out.hlp')}\n".encode()))
        self.assertEqual(self.finish(tool)[0], 0)
        self.assert_goes_on(process, 3)

    def test_pids_of_its_own(self):
        """To itself it is process 1; here it goes by the pid that it has outside."""
        if ledger.execute(["unshare", "--pid", "--fork", "true"]).status != 0:
            self.skipTest("no pid namespaces here")
        outer = self.program("unshare", "--pid", "--fork", "--kill-child", "python3", "-c", ALLOCATES)
        with open(f"/proc/{outer.pid}/task/{outer.pid}/children") as children:
            process = SimpleNamespace(pid=int(children.read()))
        tool = self.attach(process)
        self.assertEqual(self.allocate(outer, 30), 30)
        done = ledger.execute([ledger.BIN, "snapshot", str(process.pid), "before"])
        self.assertEqual(done.status, 0, done)
        done = ledger.execute([ledger.BIN, "ps", "--json"])
        self.assertIn(process.pid, [program["pid"] for program in json.loads(done.out)["programs"]])
        done = ledger.execute([ledger.BIN, "attach", str(process.pid)], cwd=self.dir)
        self.assertIn(b"it is under heapledger already", done.err)
        done = self.detach(process)
        self.assertEqual((done.status, done.err), (0, b"heapledger: wrote %s\n" % os.fsencode(os.path.realpath(self.path("out.hlp")))))
        self.assertEqual(self.finish(tool)[0], 0)
        r = self.assert_counted(30)
        self.assertEqual((r["process"]["pid"], [m["name"] for m in r["markers"]]), (1, ["before"]))
        self.assert_goes_on(outer, 30)


class Refusals(Attached):
    def refused(self, *words, status=125):
        done = ledger.execute([ledger.BIN, *words], cwd=self.dir)
        self.assertEqual((done.status, done.out), (status, b""), done)
        self.assertEqual(done.err.count(b"\n"), 1, done)
        return done.err.decode()

    def test_no_process(self):
        self.assertIn("to which process? Type: heapledger attach PID", self.refused("attach", status=2))
        self.assertIn("'python3' is no number; pgrep python3 may tell it", self.refused("attach", "python3", status=2))
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            beyond = int(file.read()) + 1
        self.assertIn(f"there is no process {beyond}", self.refused("attach", str(beyond)))
        self.assertIn("is not under heapledger", self.refused("detach", str(os.getpid())))

    def test_thread(self):
        process = self.start("python3", "-c", "import sys, threading\nt = threading.Thread(target=sys.stdin.read)\nt.start()\nprint(t.native_id, flush=True)")
        tid = int(process.stdout.readline())
        self.assertIn(f"is a thread of process {process.pid}; heapledger attach {process.pid}", self.refused("attach", str(tid)))

    def test_in_its_parents_memory(self):
        parent = self.start(ledger.program("vforked"))
        child = int(parent.stdout.readline())
        self.assertEqual(self.refused("attach", str(child)),
                         f"heapledger: process {child}: runs in the memory of its parent, process {parent.pid} (vforked); "
                         f"heapledger attach {parent.pid}\n")
        with open(f"/proc/{parent.pid}/maps", encoding="utf-8") as maps:
            self.assertNotIn("libheapledger", maps.read())

    def test_frozen(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            roots = [line.split()[4] for line in mounts if " - cgroup2 " in line]
        process = self.program()
        try:
            group = os.path.join(roots[0], f"heapledger-test-{process.pid}")
            os.mkdir(group)
        except (IndexError, OSError):
            self.skipTest("needs a control group")
        self.addCleanup(os.rmdir, group)
        self.addCleanup(self.end, process)

        def tell(file, word):
            with open(os.path.join(group, file), "w", encoding="ascii") as control:
                control.write(word)

        def is_frozen():
            with open(os.path.join(group, "cgroup.events"), encoding="ascii") as events:
                return "frozen 1" in events.read()

        tell("cgroup.procs", str(process.pid))
        tell("cgroup.freeze", "1")
        while not is_frozen():
            pass
        refusal = self.refused("attach", str(process.pid))
        tell("cgroup.freeze", "0")
        self.assertIn("is frozen, with its control group; let that go on first", refusal)
        self.assert_goes_on(process, 0)

    def test_its_loader_is_at_work(self):
        """It waits for a file to preload."""
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        process = self.start("env", f"LD_PRELOAD={fifo}", ledger.program("silent_child"), stderr=subprocess.DEVNULL)
        while not os.readlink(f"/proc/{process.pid}/exe").endswith("silent_child"):
            pass
        self.assertIn("has only just begun, and its loader is still at work; try again", self.refused("attach", str(process.pid)))
        os.close(os.open(fifo, os.O_WRONLY))
        self.assertEqual(process.stdout.readline(), b"on\n")
        tool = self.start(ledger.BIN, "attach", "-o", self.path("out.hlp"), str(process.pid), stderr=subprocess.PIPE)
        self.assertIn(b"attached to", tool.stderr.readline())
        self.assertEqual(self.detach(process).status, 0)

    def test_without_its_main_thread(self):
        process = self.start(ledger.program("leaks_without_main_thread"), "1000")
        ledger.await_end_of_main_thread(process.pid)
        self.assertIn("goes on without its main thread", self.refused("attach", str(process.pid)))

    def test_another_user(self):
        self.needs_another_user()
        process = self.program()
        done = ledger.execute([*ledger.AS_NOBODY, ledger.BIN, "attach", str(process.pid)], cwd="/")
        self.assertEqual(done.status, 125)
        self.assertIn(b"belongs to another user; be that user, or root: sudo heapledger attach %d\n" % process.pid, done.err)

    def test_own_limits(self):
        for limit, words in (("--fsize=102400", "its files are limited to 100 KiB (ulimit -f), and the books of a program need 8192 KiB"),
                             ("--as=67108864", "its address space is limited to 65536 KiB (ulimit -v), and a program with books needs ")):
            process = self.program("prlimit", limit, "python3", "-c", ALLOCATES)
            done = self.refused("attach", str(process.pid))
            self.assertIn(words, done)
            self.assert_goes_on(process, 0)

    def test_filter_of_system_calls(self):
        if os.getuid() != 0:
            self.skipTest("filters are shown to root only")
        process = self.program("python3", "-c", DIES_OF_GETTID + ALLOCATES)
        self.assertIn("its filter of system calls (seccomp) ends it for gettid, which the probe needs; start it with heapledger run",
                      self.refused("attach", str(process.pid)))
        self.assert_goes_on(process, 0)

    def test_filter_that_is_not_shown(self):
        self.needs_another_user()
        process = self.program(*ledger.AS_NOBODY, "python3", "-c", DIES_OF_GETTID + ALLOCATES)
        done = ledger.execute([*ledger.AS_NOBODY, ledger.BIN, "attach", "-o", "/tmp", str(process.pid)], cwd="/")
        if b"may not be traced" in done.err:
            self.skipTest("no debuggers for others than root")
        self.assertEqual((done.status, done.err), (125, b"heapledger: process %d: it ended meanwhile\n" % process.pid))
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGSYS)

    def test_output_that_exists(self):
        process = self.program()
        taken = self.write("taken.hlp", "mine")
        self.assertIn("exists already", self.refused("attach", "-o", taken, str(process.pid)))

    def test_it_is_suggested(self):
        process = self.program()
        for words in (("top", str(process.pid)), ("leaks", str(process.pid))):
            self.assertIn(f"heapledger attach {process.pid}", self.refused(*words))


if __name__ == "__main__":
    ledger.main()
