#!/usr/bin/env python3
"""What the leak watch costs: placing, arming, asking, freeing; and a compiler under it, paired with one that is only
profiled. Prints; asserts nothing."""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BLOCKS = 50_000


class Talker:
    def __init__(self, command, **keywords):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                        **keywords)

    def __call__(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        return json.loads(self.process.stdout.readline())


def environment(probe, segment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEAPLEDGER", "LD_"))}
    return {**kept, "LD_PRELOAD": str(probe), "HEAPLEDGER_OUTPUT": str(segment)}


def timed(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def operations(programs, probe, folder):
    segment = folder / "operations.hlp"
    app = Talker([programs / "watched"], env=environment(probe, segment))
    app("beat")
    tool = Talker([programs / "watcher", segment])
    tool.process.stdout.readline()
    tool("start")

    def settle():
        while not tool("heeded"):
            app("beat")

    settle()
    plain = timed(lambda: app("alloc", "m", 0, BLOCKS, 40))
    account = [a[0] for a in tool("accounts") if a[1] == BLOCKS][0]
    pairs = 40 * BLOCKS
    app("churn", 1, 777, 100)
    churner = [a[0] for a in tool("accounts") if a[1] == 777][0]
    usual = min(timed(lambda: app("churn", 1, pairs, 100)) for _ in range(5))
    tool("suspect", churner, 1e-9, 1)
    settle()
    offered = min(timed(lambda: app("churn", 1, pairs, 100)) for _ in range(5))
    tool("suspect", account, 1, BLOCKS)
    settle()
    placed = timed(lambda: app("alloc", "m", 0, BLOCKS, 40))
    tool("arm")
    armed = timed(settle)
    asked_none = statistics.median(tool("time", BLOCKS)[0] for _ in range(9))
    scans = tool("scans")
    for block in range(BLOCKS, 2 * BLOCKS):
        app("read", block)
    asked_all = statistics.median(tool("time", BLOCKS)[0] for _ in range(9))
    print(f"{BLOCKS} watched blocks of 40 bytes, {'PAGEMAP_SCAN' if scans else 'read of pagemap'}")
    print(f"  malloc and free             {usual / pairs * 1e9:8.0f} ns a pair")
    print(f"  of a suspect, not chosen    {offered / pairs * 1e9:8.0f} ns a pair")
    print(f"  allocate, not watched       {plain / BLOCKS * 1e9:8.0f} ns each")
    print(f"  allocate into a slot        {placed / BLOCKS * 1e9:8.0f} ns each")
    print(f"  arm all (with the asking)   {armed * 1e3:8.1f} ms")
    print(f"  ask about all, none touched {asked_none * 1e3:8.2f} ms")
    print(f"  ask about all, all touched  {asked_all * 1e3:8.2f} ms")
    app.process.stdin.close()
    tool.process.stdin.close()


def compile_once(command, programs, probe, segment, suspects):
    """Processor seconds of the compiler; with `suspects`, under a watch that suspects the accounts of so many blocks."""
    begin = os.times()
    with subprocess.Popen(command, env=environment(probe, segment), stdout=subprocess.DEVNULL) as compiler:
        tool = None
        if suspects is not None:
            while not segment.exists() or segment.stat().st_size == 0:
                time.sleep(0.001)
            time.sleep(0.02)
            tool = Talker([programs / "watcher", segment])
            tool.process.stdout.readline()
            tool("start")
            time.sleep(0.3)  # for as long as accounts come up
            live = sorted((a for a in tool("accounts") if a[1] > a[3]), key=lambda a: a[3] - a[1])
            for account in live[:suspects]:
                tool("suspect", account[0], 0.01, 30)
            while compiler.poll() is None:
                tool("arm")
                time.sleep(0.1)
                tool("slots")
        _, _, used = os.wait4(compiler.pid, 0) if compiler.returncode is None else (0, 0, None)
        compiler.returncode = 0
    end = os.times()
    placed = tool("answer")["placed"] if tool else 0
    if tool:
        tool.process.stdin.close()
        tool.process.wait()
    if used is not None:
        return used.ru_utime + used.ru_stime, placed
    return end.children_user + end.children_system - begin.children_user - begin.children_system, placed


def compiler(programs, probe, folder, rounds):
    source = pathlib.Path(__file__).parent / "programs/regex_file.cpp"
    options = ["-std=c++20", "-O0"]  # most of it is allocation
    preprocessed = folder / "regex_file.ii"
    subprocess.run(["g++", *options, "-E", "-o", preprocessed, source], check=True)
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    command = [cc1plus.stdout.strip(), "-quiet", "-fpreprocessed", preprocessed, *options, "-o", "/dev/null"]
    kinds = [("profile", None), ("profile again", None), ("watch, no suspect", 0), ("watch, 20 suspects", 20)]
    times = {name: [] for name, _ in kinds}
    placed = {}
    for turn in range(rounds):
        for name, suspects in random.sample(kinds, len(kinds)):
            segment = folder / f"{turn}-{name.replace(' ', '')}.hlp"
            seconds, placed[name] = compile_once(command, programs, probe, segment, suspects)
            times[name].append(seconds)
            segment.unlink()
        print(f"  round {turn + 1}: " + ", ".join(f"{name} {times[name][-1]:.2f} s" for name, _ in kinds), flush=True)
    print(f"cc1plus -O0 on {source.name}, processor time over that of the profile in the same round, {rounds} rounds")
    for name, _ in kinds[1:]:
        ratios = [a / b for a, b in zip(times[name], times["profile"])]
        print(f"  {name:20} {statistics.median(ratios):6.3f}  ({min(ratios):.3f}..{max(ratios):.3f})"
              f"  placed {placed[name]}")


def main():
    parser = argparse.ArgumentParser(prog="bench/watch.py", description=__doc__)
    parser.add_argument("build", type=pathlib.Path, nargs="?", default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=5, help="of the compiler (5); 0: leave it out")
    options = parser.parse_args()
    programs = (options.build / "tests/programs").resolve()
    probe = (options.build / "lib/heapledger/libheapledger.so").resolve()
    for needed in (programs / "watched", programs / "watcher", probe):
        if not needed.exists():
            print(f"bench/watch.py: {needed} is not there: build with the release preset", file=sys.stderr)
            return 2
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        probe = pathlib.Path(shutil.copy(probe, folder))  # a build meanwhile must not change it
        operations(programs, probe, pathlib.Path(folder))
        if options.rounds != 0:
            compiler(programs, probe, pathlib.Path(folder), options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
