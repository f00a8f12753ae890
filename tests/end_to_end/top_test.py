"""heapledger top and ps: what they say at known moments is what the program knows; the screen does what keys say."""

import json
import os
import shutil
import signal
import subprocess

import ledger
from stepping import MARKERS, Stepping
from terminal import Terminal


class Live(Stepping):
    def start(self, case, program=MARKERS, says=b"ready\n"):
        """The program, bare with the probe, up to its first wait. Its pid is its own."""
        file = self.path(f"{case}-{self.count}.hlp")
        self.count += 1
        process = subprocess.Popen([program, case], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=ledger.plain_environment(
                                       {"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_OUTPUT": file}))
        self.addCleanup(self.end, process)
        self.assertRegex(process.stdout.readline(), says)
        process.segment = file
        return process

    def setUp(self):
        super().setUp()
        self.count = 0

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def top(self, *options, status=0, env=None):
        done = ledger.execute([ledger.BIN, "top", *map(str, options)], env=env)
        self.assertEqual(done.status, status, done)
        return done

    def samples(self, *options):
        return [json.loads(line) for line in self.top("--json", *options).out.splitlines()]

    def screen(self, *options, lines=24, columns=110, **env):
        terminal = Terminal([ledger.BIN, "top", *map(str, options)], lines, columns,
                            ledger.plain_environment({"TERM": "linux", "LC_ALL": "C.UTF-8", **env}))
        self.addCleanup(terminal.close)
        return terminal

    # Text

    def test_numbers_at_known_moments(self):
        process = self.start("steps")
        first, = self.samples("--count", 1, process.pid)
        self.assertEqual((first["live_bytes"], first["live_blocks"], first["state"]), (6400, 100, "running"))
        self.assertNotIn("live_bytes_per_second", first)
        self.step(process)
        second, = self.samples("--count", 1, process.pid)
        self.assertEqual((second["live_bytes"], second["peak_bytes"]), (32000, 32000))
        self.assertEqual([(s["frames"][0]["function"], s["live_bytes"]) for s in second["stacks"]],
                         [("cache_grows", 25600), ("cache_grows", 6400)])
        self.step(process)
        third, = self.samples("--count", 1, "--by", "peak", process.pid)
        self.assertEqual(
            {key: third[key] for key in ("live_bytes", "live_blocks", "allocations", "frees", "peak_bytes")},
            {"live_bytes": 19200, "live_blocks": 150, "allocations": 1200, "frees": 1050, "peak_bytes": 32000})
        self.assertGreater(third["rss_bytes"], 0)
        text = self.top("--count", 1, process.pid).out.decode()
        self.assertRegex(text, r"live 18\.8 KiB in 150 blocks, peak 31\.2 KiB, RSS")
        self.assertRegex(text, r"12\.5 KiB +50 .*cache_grows < steps:[0-9]+ < main")

    def test_rates(self):
        """What happened between two samples, by the time between them."""
        process = self.start("steps")
        with subprocess.Popen([ledger.BIN, "top", "--json", "--interval", "300", "--by", "growth", str(process.pid)],
                              stdout=subprocess.PIPE, env=ledger.plain_environment()) as watcher:
            before = json.loads(watcher.stdout.readline())
            self.step(process)
            while True:
                now = json.loads(watcher.stdout.readline())
                if now["live_bytes"] == 32000:
                    break
                before = now
            self.end(process)
            rest = [json.loads(line) for line in watcher.stdout]
        seconds = now["time"] - before["time"]
        grown = now["live_bytes"] - before["live_bytes"]
        self.assertGreater(grown, 0)
        self.assertAlmostEqual(now["live_bytes_per_second"] * seconds, grown, delta=1)
        self.assertAlmostEqual(now["stacks"][0]["live_bytes_per_second"] * seconds, grown, delta=1)
        self.assertAlmostEqual(now["allocations_per_second"] * seconds, grown / 256, delta=1)
        self.assertEqual(watcher.returncode, 0)
        self.assertEqual((rest[-1]["state"], rest[-1]["live_bytes"]), ("ended", 32000))

    def last_sample(self, stopped):
        """Of a program under `run`, which removes the segment: the watcher still reads the last of it."""
        with subprocess.Popen([ledger.BIN, "run", "-q", "-f", "-o", self.path("p.hlp"), "--", MARKERS, "steps"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=ledger.plain_environment()) as run:
            self.assertEqual(run.stdout.readline(), b"ready\n")
            pid, = ledger.children_under_probe(run.pid)
            with subprocess.Popen([ledger.BIN, "top", "--json", "--interval", "3600000", str(pid)],
                                  stdout=subprocess.PIPE, env=ledger.plain_environment()) as watcher:
                self.assertEqual(json.loads(watcher.stdout.readline())["live_bytes"], 6400)
                if stopped:  # the program is gone before the watcher waits for its end
                    watcher.send_signal(signal.SIGSTOP)
                self.step(run)
                self.step(run)
                run.stdin.close()
                if stopped:
                    run.wait()
                    watcher.send_signal(signal.SIGCONT)
                last = [json.loads(line) for line in watcher.stdout][-1]
        self.assertEqual((last["state"], last["live_bytes"], last["allocations"]), ("ended", 19200, 1200))

    def test_last_sample_is_the_end(self):
        self.last_sample(stopped=False)
        for _ in range(8):
            self.last_sample(stopped=True)

    def test_a_program_that_goes_on_as_another(self):
        """exec: the books that are watched are at their end, and the next look finds the new program's."""
        script = f'echo ready; read -r _; exec "{MARKERS}" steps'
        with subprocess.Popen([ledger.BIN, "run", "-q", "-o", self.path("p.hlp"), "--", "sh", "-c", script],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ledger.plain_environment()) as run:
            self.assertEqual(run.stdout.readline(), b"ready\n")
            pid, = ledger.children_under_probe(run.pid)
            with subprocess.Popen([ledger.BIN, "top", "--json", "--interval", "50", str(pid)],
                                  stdout=subprocess.PIPE, env=ledger.plain_environment()) as watcher:
                self.assertEqual(json.loads(watcher.stdout.readline())["state"], "running")
                run.stdin.write(b"\n")
                run.stdin.flush()
                last = [json.loads(line) for line in watcher.stdout][-1]
            self.assertEqual((last["state"], watcher.returncode), ("replaced", 0))
            self.assertEqual(run.stdout.readline(), b"ready\n")
            now, = self.samples("--count", 1, pid)
            self.assertEqual((now["state"], now["live_bytes"]), ("running", 6400))
            run.stdin.close()

    def test_threads_and_scopes(self):
        threads = self.start("threads")
        sample, = self.samples("--count", 1, "--per", "thread", threads.pid)
        self.assertEqual(len(sample["threads"]), 2)
        self.assertEqual(sum(t["live_bytes"] for t in sample["threads"]), sample["live_bytes"])
        self.assertEqual(max(t["live_bytes"] for t in sample["threads"]), 100000)
        scopes = self.start("scopes")
        sample, = self.samples("--count", 1, "--per", "scope", scopes.pid)
        self.assertEqual([(s["name"], s["live_bytes"]) for s in sample["scopes"] if s["live_bytes"]],
                         [("request", 32000)])
        sample, = self.samples("--count", 1, "--per", "scope", "--by", "peak", scopes.pid)
        self.assertEqual(sample["scopes"][0]["name"], "request")
        self.assertEqual(sum(s["peak_bytes"] for s in sample["scopes"] if " / " not in s["name"]), sample["peak_bytes"])
        sample, = self.samples("--count", 1, scopes.pid)
        self.assertEqual(sample["stacks"][0]["scope"], ["request"])

    def test_what_the_program_maps(self):
        process = self.start("resident", ledger.program("mapped"), says=rb"\d+\n")
        for source in (process.pid, process.segment):
            sample, = self.samples("--count", 1, "--per", "mapping", source)
            sites = {ledger.functions(s)[0]: s for s in sample["mappings"] if s["live_bytes"]}
            self.assertEqual({name: (s["live_bytes"], s["resident_bytes"], s["calls"], s["ranges"], s["kind"])
                              for name, s in sites.items()},
                             {"map_a": (64 << 20, 20 << 20, 1, 1, "anonymous"), "map_b": (8 << 20, 0, 1, 1, "anonymous"),
                              "map_c": (32 << 20, 4 << 20, 1, 1, "anonymous")})
            self.assertEqual(sample["mapped_resident_bytes"], 24 << 20)
            self.assertEqual([ledger.functions(s)[0] for s in sample["mappings"]][:3], ["map_a", "map_c", "map_b"])
        text = self.top("--count", 1, "--per", "mapping", process.pid).out.decode()
        self.assertRegex(text, r"RSS [\d.]+ MiB \(24\.0 MiB mapped\)")
        self.assertRegex(text, r"64\.0 MiB +20\.0 MiB .*map_a < main")
        sample, = self.samples("--count", 1, process.pid)
        self.assertTrue(all("map_" not in ledger.functions(s)[0] for s in sample["stacks"] if s["frames"]))

    def test_what_a_profile_says_of_mappings(self):
        done = self.profile([ledger.program("mapped"), "kinds"])
        sample, = self.samples("--per", "mapping", "--top", 99, done.files[0])
        told = {(s["kind"], s["calls"], s["mapped_bytes"], s["unmapped_bytes"], s["live_bytes"], s["ranges"],
                 tuple(ledger.functions(s))) for s in done.report["mapped"]["stacks"]}
        self.assertEqual({(s["kind"], s["calls"], s["mapped_bytes"], s["unmapped_bytes"], s["live_bytes"], s["ranges"],
                           tuple(ledger.functions(s))) for s in sample["mappings"]}, told)
        text = self.top("--per", "mapping", done.files[0]).out.decode()
        for kind in ("file", "shared"):
            self.assertRegex(text, rf"  \({kind}\) \w+ < ")
        self.assertNotIn("(anonymous)", text)

    def test_profile(self):
        file = self.profile([MARKERS, "phases"]).files[0]
        sample, = self.samples(file)
        self.assertEqual((sample["state"], sample["live_bytes"], len(sample["stacks"])), ("ended", 19200, 2))
        sample, = self.samples(file + "@B")
        self.assertEqual(sample["live_bytes"], 32000)
        done = self.top("markers", status=125)
        self.assertIn(b"markers: there is no such file; a running program is named by its pid: ", done.err)
        for by, said in (("growth", b"is for a program that runs"), ("leaks", b"type: heapledger leaks ")):
            done = self.top("--by", by, file, status=2)
            self.assertIn(said, done.err)
            self.assertEqual(done.err.count(b"\n"), 1, done)

    def test_what_there_is_none_of(self):
        """No header above nothing: a line that says how to have some."""
        file = self.profile([ledger.program("nothing")]).files[0]
        for per, said in (("pool", "no pool of this program shows itself; docs/pools.md says how"),
                          ("scope", "this program has no scopes; docs/budgets.md says how"),
                          ("mapping", "this program has mapped nothing itself; docs/mappings.md says what counts")):
            lines = ledger.execute([ledger.BIN, "top", "--per", per, file]).out.decode().splitlines()
            self.assertRegex(lines[1], said)
            self.assertEqual(lines[2:], [""])

    def test_segment_by_name(self):
        process = self.start("steps")
        sample, = self.samples("--count", 1, process.segment)
        self.assertEqual((sample["state"], sample["live_bytes"]), ("running", 6400))

    def test_which_program(self):
        one, two = self.start("steps"), self.start("threads")
        done = self.top(status=2)
        self.assertRegex(done.err, rb"which of \d+ programs\? .* \d+ \(.*; heapledger ps ")
        self.assertLess(one.pid, two.pid)
        for word, status, said in (("4194304", 125, b"no process"), (str(os.getpid()), 125, b"heapledger ps"),
                                   (self.path("none.hlp"), 125, b"none.hlp"), ("--by=size", 2, b"growth")):
            done = self.top(word, status=status)
            self.assertIn(said, done.err)
            self.assertEqual(done.err.count(b"\n"), 1, done)

    def test_ps(self):
        one = self.start("steps")
        listed = json.loads(ledger.execute([ledger.BIN, "ps", "--json"]).out)["programs"]
        mine = next(p for p in listed if p["pid"] == one.pid)
        self.assertEqual((mine["command"], mine["live_bytes"], mine["segment"]), ([MARKERS, "steps"], 6400, one.segment))
        self.assertRegex(ledger.execute([ledger.BIN, "ps"]).out.decode(), rf"(?m)^ +{one.pid} .* 6\.2 KiB .* steps$")

    # The screen

    def test_screen(self):
        process = self.start("steps")
        terminal = self.screen("--interval", 100, process.pid)
        terminal.wait_for("cache_grows < steps < main")
        self.assertRegex(terminal.text, r"live +6\.2 KiB in 100 blocks")
        self.step(process)
        terminal.wait_for("31.2 KiB in 200 blocks")
        terminal.wait_for("6.2 KiB to 31.2 KiB")  # the trend
        self.assertIn("█", terminal.text)
        terminal.keys("\r")
        terminal.wait_for("markers.cpp:")
        terminal.keys("\r")
        terminal.wait_for(lambda text: "markers.cpp:" not in text)

        terminal.keys("g")
        terminal.wait_for("*GROWTH/s")
        terminal.keys("c")
        terminal.wait_for("*ALLOCS/s")
        terminal.keys("m")
        terminal.wait_for("*PEAK")
        terminal.keys("\t")
        terminal.wait_for("[threads]")
        terminal.keys("\t")
        terminal.wait_for("[scopes]")
        terminal.keys("1")
        terminal.wait_for("[stacks]")

        terminal.keys("?")
        terminal.wait_for("pays nothing")
        terminal.keys("x")
        terminal.wait_for("[stacks]")

        terminal.keys("/nowhere_at_all\r")
        terminal.wait_for("nothing here has that in a name")
        terminal.keys("/GROWS\r")
        terminal.wait_for("only 'GROWS'")
        terminal.wait_for("cache_grows < steps")
        terminal.keys("\x1b")
        terminal.wait_for(lambda text: "only 'GROWS'" not in text)

        terminal.keys("p")
        terminal.wait_for("paused")
        self.step(process)
        terminal.keys("\x1b[B")  # draws again: still the old numbers
        terminal.wait_for("31.2 KiB in 200 blocks")
        terminal.keys("p")
        terminal.wait_for("18.8 KiB in 150 blocks")
        terminal.keys("q")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assertIn(b"\x1b[?25h", terminal.raw[-60:])  # the cursor is back

    def test_program_ends(self):
        process = self.start("steps")
        terminal = self.screen("--interval", 50, process.pid)
        terminal.wait_for("100 blocks")
        os.kill(process.pid, signal.SIGKILL)
        terminal.wait_for("ended")
        self.assertIn("100 blocks", terminal.text)
        terminal.keys("\r")
        terminal.wait_for("markers.cpp:")
        terminal.keys("q")
        self.assertEqual(terminal.wait_for_end(), 0)

    def test_sizes(self):
        process = self.start("steps")
        terminal = self.screen("--interval", 50, process.pid)
        terminal.wait_for("cache_grows")
        for lines, columns in ((1, 1), (2, 10), (3, 5), (5, 20), (7, 40), (60, 300), (24, 110)):
            terminal.resize(lines, columns)
            terminal.keys("\x1b[B")
            if (lines, columns) == (60, 300):
                terminal.wait_for(lambda text: "cache_grows < steps < main" in text and "PEAK" in text)
            if columns == 40:
                terminal.wait_for(lambda text: "LIVE" in text and "BLOCKS" not in text)
        terminal.wait_for("cache_grows < steps < main")
        terminal.keys("q")
        self.assertEqual(terminal.wait_for_end(), 0)

    def test_many_rows(self):
        """More stacks than lines: the bar moves, and the table with it."""
        process = self.start("many_stacks")
        terminal = self.screen("--interval", 50, process.pid, lines=20)
        terminal.wait_for("place<63u>")
        self.assertNotIn("place<1u>", terminal.text)
        terminal.keys("\x1b[4~")  # End
        terminal.wait_for("place<1u>")
        terminal.keys("\x1b[1~")  # Home
        terminal.wait_for("place<63u>")
        terminal.keys("\x1b[6~")  # a page down
        terminal.wait_for(lambda text: "place<63u>" not in text)
        terminal.keys("q")
        self.assertEqual(terminal.wait_for_end(), 0)

    def test_hostile_names(self):
        """A program, a thread and an argument whose names are commands to a terminal."""
        hostile = self.path("evil\x1b]0;owned\x07\x1b[2J\n")
        shutil.copy(MARKERS, hostile)
        process = self.start("threads", program=hostile)
        for options in (["--text", "--count", "1"], ["--text", "--count", "1", "--per", "thread"]):
            out = self.top(*options, process.pid).out
            self.assertNotIn(b"\x1b", out)
            self.assertNotIn(b"\x07", out)
        self.assertNotIn(b"\x1b", ledger.execute([ledger.BIN, "ps"]).out)
        terminal = self.screen("--interval", 50, process.pid)
        terminal.wait_for(r"evil\x1b]0;owned\x07\x1b[2J\x0a")
        terminal.keys("2")
        terminal.wait_for("[threads]")
        self.assertNotIn(b"]0;owned\x07", terminal.raw)
        terminal.keys("/\xff\x1b[7mx\r")
        terminal.keys("q")
        self.assertEqual(terminal.wait_for_end(), 0)

    def test_unknown_terminal(self):
        process = self.start("steps")
        for name in ("dumb", "no-such-terminal"):
            terminal = self.screen("--count", 1, process.pid, TERM=name)
            self.assertEqual(terminal.wait_for_end(), 0, terminal.raw)
            self.assertIn(b"cache_grows < steps < main", terminal.raw)


if __name__ == "__main__":
    ledger.main()
