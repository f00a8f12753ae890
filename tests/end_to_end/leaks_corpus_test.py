"""Programs that know what they lose, under the leak watch: what leaks is found, first, with its bytes inside the interval;
nothing else is accused. Prints precision and recall.

The watch's times are scaled to the few seconds that each program runs. A program that is judged wrongly gets a second
chance with twice the time: a machine that did not let it run for half a second says nothing about the watch.
"""

import concurrent.futures
import json
import os
import unittest

import ledger

SECONDS = 7
AT_A_TIME = 5
WATCH = ("--interval", "20", "--leaks", "--leaks-suspicious", "0.4", "--leaks-access", "0.8", "--leaks-rest", "0.2",
         "--leaks-stop", "0")

PROGRAMS = ("steady_small", "some_of_many", "three_ways", "growing_cache", "bounded_cache", "slow", "kernel_only", "in_child",
            "in_pool", "late_library", "growth_stops", "large", "reachable_list", "growing_buffer", "long_lived",
            "pool_chunks", "without_main_thread")


class Verdict:
    """What the program lost, by place, and whom the watch accused."""

    def __init__(self, name, done, reports):
        self.name = name
        self.done = done
        self.lost = {}
        for line in done.out.decode().splitlines():
            word, place, count = line.split()
            if word == "lost":
                self.lost[place] = int(count)
        self.accused = [leak for r in reports for leak in r["leaks"] if leak["verdict"] == "leak"]

    def place_of(self, leak):
        names = ledger.functions(leak)
        return next((place for place in self.lost if place in names), None)

    def found(self):
        return {self.place_of(leak) for leak in self.accused} - {None}

    def troubles(self):
        troubles = []
        if self.done.status != 0:
            troubles.append(f"status {self.done.status}")
        for place in sorted(set(self.lost) - self.found()):
            troubles.append(f"{place} was not found")
        for i, leak in enumerate(self.accused):
            place = self.place_of(leak)
            if place is None:
                troubles.append(f"accused {ledger.functions(leak)[:4]} of {leak['bytes']} bytes")
            elif i >= len(self.lost):
                troubles.append(f"{place} is ranked {i + 1}")
            elif not leak["bytes_low"] <= self.lost[place] <= leak["bytes_high"]:
                troubles.append(f"{place} lost {self.lost[place]} bytes, said to be {leak['bytes']} "
                                f"({leak['bytes_low']} to {leak['bytes_high']}), {leak['untouched']} of {leak['sampled']}")
        return troubles


class Corpus(ledger.Case):
    def watch(self, name, seconds=SECONDS, options=()):
        folder = self.path(f"{name}.{seconds}")
        os.mkdir(folder)
        command = [ledger.BIN, "run", "-q", "-o", os.path.join(folder, "%e.%p.hlp"), *WATCH, *options, "--",
                   ledger.program("leaks_" + name), str(seconds)]
        profiled = ledger.Profiled(ledger.execute(command), folder)
        reports = []
        for file in profiled.files:
            done = ledger.execute([ledger.BIN, "leaks", "--json", file])
            self.assertEqual(done.status, 0, done)
            reports.append(json.loads(done.out))
        return Verdict(name, profiled, reports)

    def test_corpus(self):
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            verdicts = list(pool.map(self.watch, PROGRAMS))
        for i, verdict in enumerate(verdicts):
            if verdict.troubles():
                print(f"again: {verdict.name}: {'; '.join(verdict.troubles())}", flush=True)
                verdicts[i] = self.watch(verdict.name, 2 * SECONDS)
        places = sum(len(v.lost) for v in verdicts)
        found = sum(len(v.found()) for v in verdicts)
        accused = sum(len(v.accused) for v in verdicts)
        right = sum(1 for v in verdicts for leak in v.accused if v.place_of(leak))
        print(f"{len(verdicts)} programs, {places} leaks; recall {found}/{places}, precision {right}/{accused}", flush=True)
        for verdict in verdicts:
            for place, count in verdict.lost.items():
                leak = next((x for x in verdict.accused if verdict.place_of(x) == place), None)
                said = f"{leak['bytes']} ({leak['bytes_low']} to {leak['bytes_high']})" if leak else "not found"
                print(f"  {verdict.name:15} {place:15} lost {count:9}  said {said}", flush=True)
        self.assertEqual([f"{v.name}: {t}" for v in verdicts for t in v.troubles()], [])
        self.assertGreaterEqual(places, 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
