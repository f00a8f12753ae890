"""The leak watch from outside: attached to a program that runs, killed and begun again, told what is known, and asked by
programs."""

import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import ledger

TIMES = ("--suspicious", "0.3", "--access", "0.5", "--rest", "0.2")


class Leaks(ledger.Case):
    def start(self, name, *options, seconds=100):
        """A program of the corpus under `run`, without the watch. Returns the tool, and the program's pid."""
        tool = subprocess.Popen([ledger.BIN, "run", "-q", "-f", "-o", self.path(f"{name}.hlp"), *options, "--", ledger.program(name),
                                 str(seconds)],
                                env=ledger.plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(tool.wait)
        children = f"/proc/{tool.pid}/task/{tool.pid}/children"
        pid = 0
        while not pid or os.path.basename(os.readlink(f"/proc/{pid}/exe")) != name or not self.has_segment(pid):
            self.assertIsNone(tool.poll())
            with open(children, encoding="ascii") as file:
                pid = int((file.read().split() or ["0"])[0])
            time.sleep(0.005)  # only spares the processor
        self.addCleanup(self.end, tool, pid)
        return tool, pid

    def has_segment(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            return ".hls" in file.read()

    def end(self, tool, pid):
        if tool.poll() is None:
            os.kill(pid, signal.SIGTERM)
        tool.communicate()

    def leaks(self, target, *options, status=0):
        done = ledger.execute([ledger.BIN, "leaks", *options, str(target)])
        self.assertEqual(done.status, status, done)
        return done

    def of_process(self, pid):
        """Watches until something leaks: on a busy machine a program may get little done."""
        for seconds in (4, 12, 36):
            report = json.loads(self.leaks(pid, "--json", "--duration", str(seconds), *TIMES).out)
            if self.found(report):
                break
        return report

    def found(self, report):
        return [leak for leak in report["leaks"] if leak["verdict"] == "leak"]

    def places(self, found):
        return [next((name for name in ledger.functions(leak) if name.startswith("leak_")), None) for leak in found]

    def test_of_a_program_that_runs(self):
        tool, pid = self.start("leaks_steady_small")
        report = self.of_process(pid)
        self.assertEqual((report["format"], report["version"]), ("heapledger-leaks", 1))
        found = self.found(report)
        self.assertEqual(self.places(found), ["leak_session"], report)
        leak = found[0]
        for key in ("stack", "witnesses", "bytes", "bytes_low", "bytes_high", "bytes_per_hour", "blocks", "oldest_age", "sampled"):
            self.assertIn(key, leak)
        self.assertIn("stale", leak["witnesses"])
        if "obstacle" not in report.get("reachability", {"obstacle": ""}):
            self.assertIn("unreachable", leak["witnesses"])
            self.assertGreater(report["reachability"]["stopped"], 0)
        self.assertGreaterEqual(report["duration"], 3)
        self.assertIsNone(tool.poll(), "the program goes on")
        top = json.loads(ledger.execute([ledger.BIN, "top", "--json", "--count", "1", "--by", "leaks", str(pid)]).out)
        self.assertEqual(top["leaks"]["places"], 1)
        self.assertIn("leak_session", ledger.functions(top["stacks"][0]))
        self.assertEqual(top["stacks"][0]["leak"]["verdict"], "leak")
        self.assertGreater(top["stacks"][0]["leak"]["bytes_per_hour"], 0)
        text = ledger.execute([ledger.BIN, "top", "--text", "--count", "1", "--by", "leaks", str(pid)]).out
        self.assertIn(b", 1 leak of about", text)
        self.assertRegex(text, rb"LEAK [0-9.]+ .?i?B/h: ")

    def test_of_a_program_whose_main_thread_has_ended(self):
        tool = subprocess.Popen([ledger.BIN, "run", "-o", self.path("out.hlp"), "--", ledger.program("leaks_without_main_thread"), "1000"],
                                env=ledger.plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(tool.communicate)
        pid = int(re.search(rb"[(]pid ([0-9]+)[)]", tool.stderr.readline())[1])
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        ledger.await_end_of_main_thread(pid)
        self.assertEqual(self.places(self.found(self.of_process(pid))), ["leak_in_thread"])
        self.assertIn(str(pid).encode(), ledger.execute([ledger.BIN, "ps"]).out)
        top = json.loads(ledger.execute([ledger.BIN, "top", "--json", "--count", "1", str(pid)]).out)
        self.assertGreater(top["live_bytes"], 0)

    def test_of_a_run_whose_main_thread_has_ended(self):
        for seconds in (4, 12, 36):  # on a busy machine a program may get little done
            done = ledger.execute([ledger.BIN, "run", "-q", "-f", "-o", self.path("out.hlp"), "--interval", "20", "--leaks",
                                   "--leaks-suspicious", "0.3", "--leaks-access", "0.5", "--leaks-rest", "0.2",
                                   "--leaks-error-exitcode", "42", "--", ledger.program("leaks_without_main_thread"), str(seconds)])
            if done.status == 42:
                break
        self.assertEqual(done.status, 42, done)
        r = ledger.report(self.path("out.hlp"))
        sampled = [point["time"] for point in r["timeline"]]
        self.assertGreater(sum(time > sampled[-1] / 2 for time in sampled), 5, "the timeline goes on")
        self.assertIn("memory", r)

    def test_nohup(self):
        _, pid = self.start("leaks_steady_small")
        watch = subprocess.Popen([ledger.BIN, "leaks", "--report", "0", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=ledger.plain_environment(), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.assertIn(b"watching process", watch.stderr.readline())
        watch.send_signal(signal.SIGHUP)
        watch.send_signal(signal.SIGUSR1)
        seen = b""
        while b"The watch" not in seen:
            line = watch.stdout.readline()
            self.assertNotEqual(line, b"", seen)
            seen += line
        watch.send_signal(signal.SIGINT)
        out, err = watch.communicate(timeout=ledger.TIMEOUT)
        self.assertEqual(watch.returncode, 0, err)
        self.assertEqual((seen + out).count(b"The watch"), 2, "one that was asked for, and one at the end")

    def test_the_second_witness_needs_no_root(self):
        self.needs_another_user()
        folder = self.path("nobody")
        os.mkdir(folder)
        os.chmod(self.dir, 0o755)
        os.chmod(folder, 0o777)
        profile = os.path.join(folder, "list.hlp")
        times = [option.replace("--", "--leaks-") if option.startswith("--") else option for option in TIMES]
        for seconds in ("5", "20", "60"):
            done = ledger.execute([*ledger.AS_NOBODY, ledger.BIN, "run", "-q", "-f", "-o", profile, "--interval", "20", "--leaks", *times, "--",
                                   ledger.program("leaks_reachable_list"), seconds])
            report = json.loads(self.leaks(profile, "--json").out)
            if self.found(report):
                break
        self.assertEqual(done.status, 0, done)
        self.assertEqual([leak["witnesses"] for leak in self.found(report)], [["stale", "reachable"]], report)
        self.assertNotIn("obstacle", report["reachability"])

    def test_something_that_still_points_to_it(self):
        _, pid = self.start("leaks_reachable_list")
        report = self.of_process(pid)
        found = self.found(report)
        self.assertEqual(self.places(found), ["leak_to_list"], report)
        if "obstacle" not in report.get("reachability", {"obstacle": ""}):
            self.assertIn("reachable", found[0]["witnesses"])

    def live(self, pid, place):
        """Bytes that live of a place right now."""
        done = ledger.execute([ledger.BIN, "top", "--json", "--count", "1", "--top", "1000", str(pid)])
        self.assertEqual(done.status, 0, done)
        return sum(row["live_bytes"] for row in json.loads(done.out)["stacks"] if place in ledger.functions(row))

    def test_start_up_is_not_counted(self):
        """A program under `run` alone is watched from `start` to `stop`, and only that."""
        times = [option.replace("--", "--leaks-") if option.startswith("--") else option for option in TIMES]
        for seconds in (4, 12, 36):
            tool, pid = self.start("leaks_steady_small", "--interval", "20", *times)
            while not self.live(pid, "leak_session") > 10_000:
                self.assertIsNone(tool.poll())
            before = self.live(pid, "leak_session")
            done = ledger.execute([ledger.BIN, "start", str(pid)])
            self.assertEqual((done.status, done.err.count(b"\n")), (0, 1), done)
            self.assertIn(b"what lives already is not counted", done.err)
            time.sleep(seconds)
            done = ledger.execute([ledger.BIN, "stop", str(pid)])
            self.assertEqual((done.status, done.err.count(b"\n")), (0, 1), done)
            stopped = self.live(pid, "leak_session")
            self.end(tool, pid)
            report = json.loads(self.leaks(self.path("leaks_steady_small.hlp"), "--json").out)
            if self.found(report):
                break
        leak, = self.found(report)
        self.assertEqual(self.places([leak]), ["leak_session"], report)
        self.assertLessEqual(leak["bytes_high"], stopped - before)

    def holds_a_lock(self, pid):
        for name in os.listdir(f"/proc/{pid}/fdinfo"):
            try:
                with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as info:
                    if "OFDLCK" in info.read():
                        return True
            except FileNotFoundError:  # closed by now
                pass
        return False

    def switches(self, pid):
        """How often a process has waited for something."""
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))

    def test_stop_waits_for_one_who_is_busy(self):
        """As with a large program's memory to search, or another one's symbols."""
        tool, pid = self.start("leaks_steady_small")
        self.assertEqual(ledger.execute([ledger.BIN, "start", str(pid)]).status, 0)
        os.kill(tool.pid, signal.SIGSTOP)
        try:
            stop = subprocess.Popen([ledger.BIN, "stop", str(pid)], env=ledger.plain_environment(), stderr=subprocess.PIPE)
            while stop.poll() is None and self.switches(stop.pid) < 520:
                time.sleep(0.02)  # only spares the processor
        finally:
            os.kill(tool.pid, signal.SIGCONT)
        said = stop.communicate()[1]
        self.assertEqual((stop.returncode, said.count(b"\n")), (0, 1), said)
        self.assertIn(b"is not watched any more", said)
        self.end(tool, pid)

    def test_start_and_stop_at_once(self):
        """Only the last one is heeded; the other one does not wait for it."""
        tool, pid = self.start("leaks_steady_small", "--interval", "20")
        self.assertEqual(ledger.execute([ledger.BIN, "start", str(pid)]).status, 0)
        for earlier, later in (("stop", "start"), ("start", "stop")):
            os.kill(tool.pid, signal.SIGSTOP)
            try:
                waiting = []
                for what in (earlier, later):
                    waiting.append(subprocess.Popen([ledger.BIN, what, str(pid)], env=ledger.plain_environment(),
                                                    stderr=subprocess.PIPE))
                    while waiting[-1].poll() is None and self.switches(waiting[-1].pid) < 20:  # its wish is written
                        time.sleep(0.005)  # only spares the processor
            finally:
                os.kill(tool.pid, signal.SIGCONT)
            (_, first), (_, second) = (process.communicate(timeout=60) for process in waiting)
            self.assertEqual([process.returncode for process in waiting], [125, 0], (first, second))
            self.assertEqual(first, b"heapledger: process %d: somebody typed heapledger %s meanwhile, and the last one holds\n"
                             % (pid, later.encode()))
        self.end(tool, pid)

    def test_start_and_stop_of_a_watch_from_outside(self):
        """`leaks PID` begins anew, and ends with its report."""
        tool, pid = self.start("leaks_steady_small")
        watch = subprocess.Popen([ledger.BIN, "leaks", "--json", *TIMES, str(pid)], env=ledger.plain_environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not self.holds_a_lock(watch.pid):  # or `run` would heed the start
            self.assertIsNone(watch.poll())
        done = ledger.execute([ledger.BIN, "start", str(pid)])
        self.assertEqual(done.status, 0, done)
        self.assertEqual(ledger.execute([ledger.BIN, "stop", "-q", str(pid)]).err, b"")
        out, err = watch.communicate(timeout=ledger.TIMEOUT)
        self.assertEqual((watch.returncode, err), (0, b""))
        self.assertEqual(json.loads(out)["format"], "heapledger-leaks")
        self.assertIsNone(tool.poll())

    def test_stop_where_nobody_watches(self):
        tool, pid = self.start("leaks_steady_small", "--interval", "20")
        for _ in range(2):
            done = ledger.execute([ledger.BIN, "stop", str(pid)])
            self.assertEqual((done.status, done.err.count(b"\n")), (2, 1), done)
            self.assertIn(b"nobody watches process", done.err)
            for what, status in (("start", 0), ("stop", 0)):
                self.assertEqual(ledger.execute([ledger.BIN, what, str(pid)]).status, status)
        # Nor does `run` keep others from it: what it found is in its profile all the same.
        report = json.loads(self.leaks(pid, "--json", "--duration", "0.5", *TIMES).out)
        self.assertEqual(report["format"], "heapledger-leaks")
        self.end(tool, pid)
        self.leaks(self.path("leaks_steady_small.hlp"), "--json")

    def test_a_stop_that_nobody_hears_is_no_watch(self):
        tool, pid = self.start("leaks_steady_small", "--interval", "20")
        self.assertEqual(ledger.execute([ledger.BIN, "stop", str(pid)]).status, 2)
        self.end(tool, pid)
        profile = self.path("leaks_steady_small.hlp")
        self.assertNotEqual(ledger.execute([ledger.BIN, "leaks", "--error-exitcode", "9", str(profile)]).status, 0)

    def test_reports_at_intervals_and_on_request(self):
        def read_report():
            text = b""
            while b"watched at the end" not in text:
                line = watch.stdout.readline()
                self.assertNotEqual(line, b"", text)
                text += line
            return text

        _, pid = self.start("leaks_steady_small")
        for options, ask in ((("--report", "0"), True), (("--report", "0.3"), False)):
            watch = subprocess.Popen([ledger.BIN, "leaks", *options, *TIMES, str(pid)], env=ledger.plain_environment(),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertIn(b"SIGUSR1 reports", watch.stderr.readline())
            for _ in range(2):
                if ask:
                    watch.send_signal(signal.SIGUSR1)
                self.assertIn(f"pid {pid}, watched for".encode(), read_report())
            watch.send_signal(signal.SIGINT)
            out, err = watch.communicate(timeout=ledger.TIMEOUT)
            self.assertEqual((watch.returncode, err), (0, b""))
            self.assertIn(b"watched at the end", out)

    def test_killed_and_begun_again(self):
        tool, pid = self.start("leaks_steady_small")
        first = subprocess.Popen([ledger.BIN, "leaks", *TIMES, str(pid)], env=ledger.plain_environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(b"watching process", first.stderr.readline())
        refused = ledger.execute([ledger.BIN, "leaks", str(pid)])
        self.assertEqual(refused.status, 125, refused)
        self.assertIn(b"another heapledger watches this process", refused.err)
        time.sleep(2.5)  # watched blocks there shall be; how many does not matter
        first.kill()
        first.communicate()
        self.assertIsNone(tool.poll())
        report = self.of_process(pid)
        found = self.found(report)
        self.assertEqual(self.places(found), ["leak_session"], report)
        self.assertIsNone(tool.poll())

    def test_two_processes_have_nothing_in_common(self):
        _, one = self.start("leaks_steady_small")
        _, other = self.start("leaks_reachable_list")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for report, place in zip(pool.map(self.of_process, (one, other)), ("leak_session", "leak_to_list")):
                self.assertEqual(self.places(self.found(report)), [place])

    def test_known_leaks_and_gates(self):
        known = self.write("known.txt", "# by design\nleak:^leak_to_list(*)$\n")
        profile = self.path("list.hlp")
        times = [option.replace("--", "--leaks-") if option.startswith("--") else option for option in TIMES]
        command = [ledger.BIN, "run", "-o", profile, "--interval", "20", "--leaks", *times, "--leaks-error-exitcode", "42"]
        for seconds in ("5", "20", "60"):  # as above
            done = ledger.execute([*command, "-f", "--", ledger.program("leaks_reachable_list"), seconds])
            if done.status == 42:
                break
        self.assertEqual(done.status, 42, done)
        self.assertIn(b"1 leak of about", done.err)
        self.assertIn(b"heapledger leaks", done.err)
        shown = self.leaks(profile)
        self.assertIn(b"LEAKS at 1 place", shown.out)
        self.assertIn(b"leak_to_list", shown.out)
        self.leaks(profile, "--error-exitcode", "9", status=9)
        hidden = self.leaks(profile, "--error-exitcode", "9", "--suppressions", known)
        self.assertIn(b"No leak found", hidden.out)
        self.assertIn(b"1 place was suppressed", hidden.out)
        self.assertEqual(json.loads(self.leaks(profile, "--json", "--suppressions", known).out)["suppressed"], 1)
        done = ledger.execute([*command, "-f", "--leaks-suppressions", known, "--", ledger.program("leaks_reachable_list"), "5"])
        self.assertEqual(done.status, 0, done)

    def test_too_short_to_tell_is_not_green(self):
        """A program that leaves many blocks, and ends long before any could become suspicious; and one that leaves none."""
        profile = self.path("short.hlp")
        command = [ledger.BIN, "run", "-f", "-o", profile, "--leaks", "--leaks-error-exitcode", "42", "--"]
        loses = "import ctypes; libc = ctypes.CDLL(None); [libc.malloc(100) for _ in range(100)]"
        done = ledger.execute([*command, os.path.realpath(sys.executable), "-c", loses])
        self.assertEqual(done.status, 125, done)
        self.assertIn(b"nothing was watched: too short to tell", done.err)
        gate = self.leaks(profile, "--error-exitcode", "9", status=125)
        self.assertEqual((gate.out, gate.err.count(b"\n")), (b"", 1), gate)
        self.assertIn(b"No leak found, for nothing was watched", self.leaks(profile).out)
        done = ledger.execute([*command, ledger.program("nothing")])
        self.assertEqual(done.status, 0, done)
        self.leaks(profile, "--error-exitcode", "9")

    def test_the_end_of_the_program_ends_the_watch(self):
        """Whether it watches a block already or not, or has not begun."""
        for options, said in (((), b"Nothing was watched"), (("--after", "9000"), b"Nothing was watched"),
                              ((*TIMES, "--report", "0.1"), b"blocks watched at the end")):
            tool, pid = self.start("leaks_steady_small")
            with subprocess.Popen([ledger.BIN, "leaks", *options, str(pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watcher:
                self.addCleanup(watcher.kill)
                self.assertIn(b"watching process", watcher.stderr.readline())
                while TIMES[0] in options and not re.search(rb" [1-9]\d* blocks watched at the end", watcher.stdout.readline()):
                    pass
                os.kill(pid, signal.SIGKILL)
                out, _ = watcher.communicate(timeout=ledger.TIMEOUT)
            tool.communicate()
            self.assertEqual(watcher.returncode, 0)
            self.assertIn(said, out)
            self.assertNotIn(b"is still running", out[out.rindex(b"pid %d, watched" % pid):])

    def test_what_is_freed_at_the_end_is_no_leak(self):
        """Whenever the last look was; and what is not freed then is one, beside it."""
        times = [option.replace("--", "--leaks-") if option.startswith("--") else option for option in TIMES]
        profile = self.path("freed.hlp")
        command = [ledger.BIN, "run", "-q", "-f", "-o", profile, "--interval", "20", "--leaks", *times, "--leaks-error-exitcode", "42",
                   "--", ledger.program("leaks_freed_at_end")]
        freed = []
        for seconds in ("4", "4", "20", "60"):
            done = ledger.execute([*command, seconds, "freed"])
            self.assertEqual(done.status, 0, done)
            freed = [leak for leak in json.loads(self.leaks(profile, "--json").out)["leaks"] if "freed" in leak["witnesses"]]
            if freed:
                break
        self.assertEqual([leak["verdict"] for leak in freed], ["retention"])
        self.assertIn("keep_in_list", ledger.functions(freed[0]))
        self.assertIn(b"freed when the program ended", self.leaks(profile).out)
        for seconds in ("5", "20", "60"):
            done = ledger.execute([*command, seconds])
            found = self.found(json.loads(self.leaks(profile, "--json").out))
            if found:
                break
        self.assertEqual((done.status, self.places(found)), (42, ["leak_to_list"]), done)

    def test_what_cannot_be_is_said_in_one_line(self):
        bad = self.write("bad.txt", "leak:a\nwhatever\n")
        plain = self.profile([ledger.program("nothing")]).files[0]
        self.assertIn(b"The profile has no leak watch", self.leaks(plain).out)
        gate = self.leaks(plain, "--error-exitcode", "9", status=125)
        self.assertEqual((gate.out, gate.err.count(b"\n")), (b"", 1), gate)
        self.assertIn(b"the profile has no leak watch", gate.err)
        for arguments, words in ((("--suppressions", bad, plain), b"bad.txt:2: 'whatever' is no suppression"),
                                 (("--suppressions", "/nonexistent", plain), b"/nonexistent: No such file"),
                                 ((str(os.getpid()),), b"not under heapledger"),
                                 (("4194303",), b"no process 4194303"),
                                 (("/nonexistent.hlp",), b"/nonexistent.hlp")):
            done = ledger.execute([ledger.BIN, "leaks", *arguments])
            self.assertEqual(done.status, 125, done)
            self.assertIn(words, done.err)
            self.assertEqual(done.err.count(b"\n"), 1, done)


if __name__ == "__main__":
    unittest.main(verbosity=2)
