"""Marks and snapshots: by the program, by a command, by a signal; and what can be asked of a profile that has them."""

import json
import os
import resource
import signal
import subprocess

import ledger
from stepping import MARKERS, Stepping


def sites(r):
    """The stacks by their innermost frame's function."""
    return {ledger.functions(s)[0]: s for s in r["stacks"] if ledger.frames(s)}


def names(r):
    return [m["name"] for m in r.get("markers", [])]


class Markers(Stepping):
    def between(self, file, *options):
        return json.loads(self.command("report", "--json", *options, file).out)

    def check_phases(self, file):
        whole = ledger.report(file)
        self.assertEqual(names(whole), ["A", "work", "B", "C"])
        self.assertEqual([m["live_bytes"] for m in whole["markers"]], [6400, 6400, 32000, 19200])
        self.assertEqual([m["live_blocks"] for m in whole["markers"]], [100, 100, 200, 150])
        self.assertEqual([m.get("snapshot", False) for m in whole["markers"]], [True, False, True, True])
        times = [m["time"] for m in whole["markers"]]
        self.assertEqual(times, sorted(times))

        at_b = ledger.report(file + "@B")
        self.assertEqual(at_b["totals"]["live_bytes"], 32000)
        self.assertEqual(at_b["totals"]["peak_bytes"], 32000)
        self.assertEqual(at_b["totals"]["allocations"], 1200)
        self.assertEqual(at_b["totals"]["temporaries"], 1000)
        for key in ledger.STACK_KEYS + ("live_bytes", "peak_bytes"):
            self.assertEqual(ledger.total(at_b["stacks"], key), at_b["totals"][key])

        at_c = ledger.report(file + "@C")  # after the peak, of which some stacks have changed since and others not
        self.assertEqual([at_c["totals"][key] for key in ("live_bytes", "peak_bytes")], [19200, 32000])
        self.assertEqual(sorted(s["peak_bytes"] for s in at_c["stacks"] if s["live_bytes"]), [6400, 25600])

        grown = self.between(file, "--since", "A", "--until", "B")
        self.assertEqual((grown["since"]["name"], grown["until"]["name"]), ("A", "B"))
        self.assertEqual(grown["totals"]["live_bytes"], 25600)
        self.assertNotIn("peak_bytes", grown["totals"])
        self.assertEqual({name: s["live_bytes"] for name, s in sites(grown).items()},
                         {"cache_grows": 25600, "request_churns": 0})
        self.assertEqual(sites(grown)["request_churns"]["allocations"], 1000)
        shrunk = self.between(file, "--since", "B", "--until", "C")
        self.assertEqual(shrunk["totals"]["live_bytes"], -12800)
        self.assertEqual(self.between(file, "--since", "C")["totals"]["live_bytes"], 0)
        return whole

    def test_by_the_program(self):
        done = self.profile([MARKERS, "phases"])
        self.assertEqual(done.status, 0, done)
        self.check_phases(done.files[0])
        text = self.command("report", done.files[0]).out.decode()
        self.assertIn("Marks and snapshots", text)
        self.assertIn("report --since A", text)
        window = self.command("report", "--since", "A", "--until", "B", done.files[0]).out.decode()
        self.assertIn("What grew: 25.0 KiB", window)
        self.assertNotIn("peak", window.split("Next")[0])

    def test_without_the_tool(self):
        """A bare LD_PRELOAD: the segment is the profile."""
        file = self.path("bare.hlp")
        done = ledger.execute([MARKERS, "phases"], env={"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_OUTPUT": file})
        self.assertEqual(done.status, 0, done)
        self.check_phases(file)

    def test_by_growth(self):
        """From 1 MiB on, and whenever half as much again is live as at the last."""
        process, file = self.start("growth", "--interval", "10", "--snapshot-growth", "50%")
        pid = self.program_of(process)
        self.step(process)
        self.wait_for(pid, ["1.6MiB"])
        self.step(process)
        self.step(process)
        self.wait_for(pid, ["1.6MiB", "3.2MiB"])
        self.end(process)
        markers = ledger.report(file)["markers"]
        self.assertEqual([(m["name"], m["live_bytes"], m["snapshot"]) for m in markers],
                         [("1.6MiB", 1638400, True), ("3.2MiB", 3379200, True)])
        self.assertEqual(self.between(file, "--since", "1.6MiB", "--until", "3.2MiB")["totals"]["live_bytes"], 1740800)

    def wait_for(self, pid, wanted):
        for _ in range(1000):
            if names(ledger.report(str(pid))) == wanted:
                return
        self.fail(f"not {wanted}: {ledger.report(str(pid)).get('markers')}")

    def test_killed(self):
        process, file = self.start("scopes")
        os.kill(self.program_of(process), signal.SIGKILL)
        process.wait()
        r = ledger.report(file + "@in scope")
        self.assertEqual([(s["scope"], s["live_bytes"]) for s in r["stacks"] if s["live_bytes"]],
                         [(["request"], 6400)])
        self.assertEqual(ledger.report(file)["totals"]["live_bytes"], 32000)

    def test_without_the_probe(self):
        self.assertEqual(ledger.execute([MARKERS, "phases"]).out, b"absent\n")

    def test_threads(self):
        process, file = self.start("threads")
        self.end(process)
        r = ledger.report(file + "@joined")
        self.assertEqual(sorted(s["live_bytes"] for s in r["stacks"] if "cache_grows" in ledger.functions(s)),
                         [6400, 100000])
        self.assertEqual(ledger.report(file)["totals"]["live_bytes"], r["totals"]["live_bytes"])

    def test_in_handlers(self):
        r = self.profile([MARKERS, "handlers"]).report
        self.assertEqual(names(r), ["from a handler"] * 2)
        self.assertEqual([m["live_bytes"] for m in r["markers"]], [6400, 6400])

    def test_storm_of_signals(self):
        done = self.profile([MARKERS, "storm"])
        self.assertEqual(done.status, 0, done)
        r = done.report
        self.assert_sums(r)
        self.assertGreater(len(r["markers"]), 3)
        at_end = ledger.report(done.files[0] + "@end")
        self.assertEqual(at_end["totals"]["live_bytes"], 6400)
        for marker in r["markers"]:  # a handler interrupts at most one event, of 50 bytes
            self.assertIn(marker["live_bytes"], (0, 50) if marker["name"] != "end" else (6400,))

    def test_full(self):
        r = self.profile([MARKERS, "full"]).report
        self.assertEqual(len(r["markers"]), 4096)
        self.assertEqual(r["profiler"]["losses"], {"markers_full": 904})

    def test_names(self):
        done = self.profile([MARKERS, "names"])
        r = done.report
        self.assertRegex(names(r)[0], r"^at-\d+\.\d{3}s$")
        self.assertRegex(names(r)[1], r"^at-\d+\.\d{3}s$")
        self.assertEqual(names(r)[3], "x" * 79)
        text = self.command("report", done.files[0]).out
        self.assertNotIn(b"\x1b", text)
        self.assertIn(rb"\x1b[31mred\x1b]0;title\x07", text)

    def test_by_command(self):
        process, file = self.start("steps")
        pid = self.program_of(process)
        said = self.command("snapshot", pid, "before").err
        self.assertIn(b"snapshot 'before'", said)
        self.step(process)
        self.command("mark", pid, "grown")
        self.command("snapshot", pid)
        self.step(process)
        self.command("snapshot", "-q", pid, "af@ter")
        self.end(process)
        r = ledger.report(file)
        self.assertEqual(names(r)[:2] + names(r)[3:], ["before", "grown", "af@ter"])
        self.assertEqual([m["live_bytes"] for m in r["markers"]], [6400, 32000, 32000, 19200])
        grown = self.between(file, "--since", "before", "--until", names(r)[2])
        self.assertEqual({n: s["live_bytes"] for n, s in sites(grown).items()}, {"cache_grows": 25600})
        after = self.between(file, "--since", "before", "--until", "af@ter")
        self.assertEqual(sites(after)["request_churns"]["temporaries"], 1000)
        self.assertEqual(after["totals"]["live_bytes"], 12800)
        self.assertEqual(ledger.report(file + "@af@ter")["totals"]["live_bytes"], 19200)

    def test_by_command_without_the_tool(self):
        file = self.path("bare.hlp")
        with subprocess.Popen([MARKERS, "steps"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=ledger.plain_environment(
                                  {"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_OUTPUT": file})) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            self.command("snapshot", process.pid, "one")
            self.step(process)
            self.command("snapshot", process.pid, "at@home")
            self.step(process)
            process.stdin.close()
        self.assertEqual(ledger.report(file + "@one")["totals"]["live_bytes"], 6400)
        self.assertEqual(ledger.report(file + "@at@home")["totals"]["live_bytes"], 32000)
        done = self.command("export", "--format", "csv", "-f", "-o", file, file + "@at@home", status=125)
        self.assertIn(b"is the profile that is read", done.err)

    def test_by_signal(self):
        process, file = self.start("steps", "--snapshot-signal", "USR1")
        pid = self.program_of(process)
        os.kill(pid, signal.SIGUSR1)
        self.step(process)
        os.kill(pid, signal.SIGUSR1)
        self.step(process)
        self.end(process)
        self.assertEqual([m["live_bytes"] for m in ledger.report(file)["markers"]], [6400, 32000])

    def test_without_memory_for_a_snapshot(self):
        """It is a mark then, and what lives is known all the same."""
        process, file = self.start("steps", "--snapshot-signal", "USR1")
        pid = self.program_of(process)
        resource.prlimit(pid, resource.RLIMIT_AS, (1, 1))
        os.kill(pid, signal.SIGUSR1)
        self.end(process)
        r = ledger.report(file)
        marker, = r["markers"]
        self.assertEqual((marker["live_bytes"], marker["live_blocks"], marker.get("snapshot", False)), (6400, 100, False))
        self.assertEqual(r["profiler"]["losses"]["snapshots_full"], 1)

    def test_no_signal_handler_unless_asked_for(self):
        for options in ([], ["--snapshot-signal", "USR2"]):
            done = self.profile(["grep", "SigCgt", "/proc/self/status"], *options)
            caught = int(done.out.split()[1], 16)
            self.assertEqual(bool(caught & 1 << (signal.SIGUSR2 - 1)), bool(options), done)
            self.assertFalse(caught & 1 << (signal.SIGUSR1 - 1))

    def test_wrong_usage(self):
        done = self.profile([MARKERS, "phases"])
        file = done.files[0]
        for words, status, said in (
                (["mark", "1"], 2, b"heapledger mark PID NAME"),
                (["mark", "x", "y"], 2, b"PID"),
                (["snapshot"], 2, b"heapledger snapshot PID"),
                (["snapshot", "4194304"], 125, b"no process 4194304"),
                (["mark", str(os.getpid()), "x"], 125, b"heapledger ps"),
                (["mark", "1", "x" * 80], 2, b"79 bytes"),
                (["report", file + "@D"], 125, b"'A', 'B', 'C'"),
                (["report", "--until", "A", file], 2, b"--since"),
                (["report", "--since", "B", "--until", "A", file], 125, b"older"),
                (["run", "--snapshot-signal", "KILL", "--", "true"], 2, b"USR1")):
            with self.subTest(words=words):
                done = self.command(*words, status=status)
                self.assertIn(said, done.err)
                self.assertEqual(done.err.count(b"\n"), 1, done)


if __name__ == "__main__":
    ledger.main()
