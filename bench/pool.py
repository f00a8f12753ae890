#!/usr/bin/env python3
"""Compares the pool with malloc of several libraries, boost::pool and std::pmr: nanoseconds for a pair of allocate and free, in
turn within each round, median over the rounds; or each as a ratio to glibc's malloc in the same round. Then which of the
targets are met."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
OURS = ["single", "single+checks", "single+fill", "thread_cached", "thread_cached+checks", "thread_cached+fill", "shared",
        "shared+checks", "shared+fill"]
# Name, subject, library to preload.
SUBJECTS = [(name, name, None) for name in OURS] + [
    ("glibc", "malloc", None),
    ("jemalloc", "malloc", "libjemalloc.so.2"),
    ("mimalloc", "malloc", "libmimalloc.so.[0-9]"),
    ("tcmalloc", "malloc", "libtcmalloc_minimal.so.4"),
    ("boost::pool", "boost_pool", None),
    ("boost::singleton_pool", "boost_singleton_pool", None),
    ("free list", "free_list", None),
    ("pmr unsynchronized", "pmr_unsynchronized", None),
    ("pmr synchronized", "pmr_synchronized", None),
]
PATTERNS = [("1", "local"), ("2", "local"), ("2", "near"), ("2", "far")]
WORDS = {"local": "local", "near": "remote, near", "far": "remote, far"}
ORDERS = ["lifo", "fifo", "random"]


def run(program, subject, library, rounds):
    """By (size, threads, frees, order), nanoseconds. None where it cannot run here."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    if library:
        found = sorted(LIBRARIES.glob(library))
        if not found:
            return None
        environment["LD_PRELOAD"] = str(found[0])
    done = subprocess.run([program, subject, str(rounds)], env=environment, capture_output=True, text=True)
    if done.returncode == 2:
        return None
    if done.returncode != 0:
        sys.exit(f"bench/pool.py: {subject} ended with {done.returncode}: {done.stderr.strip()}")
    lines = [line.split() for line in done.stdout.splitlines()]
    return {tuple(line[:4]): float(line[4]) for line in lines}


def ratios(ours, theirs, key):
    """Of the same round, where both have it. Far and near come and go on a virtual machine: there of any two rounds."""
    paired = [one[key] / other[key] for one, other in zip(ours, theirs) if key in one and key in other]
    if paired or key[2] == "local":
        return paired
    both = [[one[key] for one in runs if key in one] for runs in (ours, theirs)]
    return [statistics.median(both[0]) / statistics.median(both[1])] if all(both) else []


def table(results, size, ratio):
    """results: by subject, a list of what run() returned."""
    head = [f"{threads} thread{'s' if threads == '2' else ''}, {WORDS[frees]}, {order}" for threads, frees in PATTERNS for order in ORDERS]
    yield "| " + " | ".join([f"{size} bytes"] + head) + " |"
    yield "|---" * (len(head) + 1) + "|"
    for name, runs in results.items():
        cells = []
        for threads, frees in PATTERNS:
            for order in ORDERS:
                key = (size, threads, frees, order)
                found = ratios(runs, results["glibc"], key) if ratio else [one[key] for one in runs if key in one]
                cells.append(f"{statistics.median(found):.{2 if ratio else 1}f}" if found else "")
        yield "| " + " | ".join([name] + cells) + " |"


def summary(results, sizes):
    """What docs/pools.md shows: random order."""
    for title, patterns in (("local", [("1", "local"), ("2", "local")]), ("remote", [("2", "near"), ("2", "far")])):
        seen = [pattern for pattern in patterns
                if any((size, *pattern, "random") in one for size in sizes for runs in results.values() for one in runs)]
        if not seen:
            continue
        words = [f"{size} B, {threads + (' thread' if threads == '1' else ' threads') if title == 'local' else frees}"
                 for threads, frees in seen for size in sizes]
        yield from ["", "| " + " | ".join([f"ns a pair, {title} frees"] + words) + " |", "|---" * (len(words) + 1) + "|"]
        for name, runs in results.items():
            found = [[one[size, threads, frees, "random"] for one in runs if (size, threads, frees, "random") in one]
                     for threads, frees in seen for size in sizes]
            if any(found):
                yield "| " + " | ".join([name] + [f"{statistics.median(each):.1f}" if each else "" for each in found]) + " |"


GENERAL = ["glibc", "jemalloc", "mimalloc", "tcmalloc"]


def worst_ratio(results, ours, theirs, keys):
    """The largest over the keys of the median over the rounds of ours to the best of theirs, the best one's name and the key."""
    found = None
    for key in keys:
        peers = {}
        for name in theirs:
            if found_ratios := ratios(results[ours], results.get(name, []), key):
                peers[name] = statistics.median(found_ratios)
        if peers:
            name = max(peers, key=peers.get)
            if found is None or peers[name] > found[0]:
                found = peers[name], name, key
    return found


def targets(results, sizes):
    """What was promised, and whether it holds in this run: a line for each."""
    def all_keys(threads, frees):
        return [(size, threads, frees, order) for size in sizes for order in ORDERS]

    def median_of(name, key):
        return statistics.median(one[key] for one in results[name] if key in one)

    def line(is_met, text):
        return f"- {'met' if is_met else '**missed**'}: {text}"

    def place(key):
        return f"{key[0]} bytes, {key[1]} thread{'s' if key[1] == '2' else ''}, {WORDS[key[2]]}, {key[3]}"

    if results.get("single") and results.get("glibc"):
        slow = [key for key in all_keys("1", "local") if median_of("glibc", key) >= 10]
        if slow:
            key = max(slow, key=lambda one: median_of("single", one))
            yield line(median_of("single", key) < 2, f"single takes less than 2 ns where glibc takes 10 or more ({len(slow)} of "
                       f"{len(sizes) * len(ORDERS)} rows): at most {median_of('single', key):.2f} ns, glibc {median_of('glibc', key):.1f} ({place(key)})")
    if results.get("thread_cached"):
        keys = all_keys("1", "local") + all_keys("2", "local")
        if worst := worst_ratio(results, "thread_cached", GENERAL, keys):
            ratio, name, key = worst
            yield line(ratio < 1, f"thread_cached is ahead of every general allocator on local frees: closest is {name}, "
                       f"{1 / ratio:.1f} times as long ({place(key)})")
        if worst := worst_ratio(results, "thread_cached", ["glibc"], keys):
            yield line(worst[0] <= 1 / 3, f"and 3 times as fast as glibc or more: at least {1 / worst[0]:.1f} times ({place(worst[2])})")
        for frees in ("near", "far"):
            worst = worst_ratio(results, "thread_cached", GENERAL, all_keys("2", frees))
            if worst is None:
                yield f"- not measured: remote frees while the other processor is {frees}"
                continue
            ratio, name, key = worst
            yield line(ratio <= 1.05, f"thread_cached is not behind the best on remote frees, {frees} (within 1.05): {ratio:.2f} of {name} at worst "
                       f"({place(key)})")
    for threading in ("single", "thread_cached", "shared"):
        for checks in ("checks", "fill"):
            ours = f"{threading}+{checks}"
            if results.get(ours) and results.get(threading):
                found = [ratios(results[ours], results[threading], key) for key in all_keys("1", "local") + all_keys("2", "local")]
                found = sorted(statistics.median(each) for each in found if each)
                if checks == "fill":  # writes and reads whole chunks: shown, not promised
                    yield f"- {ours}: {found[0]:.2f} to {found[-1]:.2f} of {threading}"
                    continue
                yield line(found[-1] <= 1.3, f"{ours} within 1.3 of {threading}: {found[0]:.2f} to {found[-1]:.2f}, "
                           f"{sum(each <= 1.3 for each in found)} of {len(found)} rows within")


def main():
    parser = argparse.ArgumentParser(prog="bench/pool.py", description=__doc__)
    parser.add_argument("build", metavar="BUILD_DIR", nargs="?", default="build/release", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds (5)")
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="times 256 pairs in each repetition (200)")
    parser.add_argument("--ratio", action="store_true", help="ratios to glibc instead of nanoseconds")
    parser.add_argument("--only", metavar="NAMES", help="subjects, separated by commas; glibc always runs")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE",
                        help="go on from what is in FILE, and append each subject's round to it: a long run in several goes")
    parser.add_argument("--seconds", type=float, metavar="N", help="begin nothing new after so long; with --results, call again")
    options = parser.parse_args()
    program = options.build / "bench/pool_pairs"
    if not program.exists():
        sys.exit(f"bench/pool.py: {program} is not there: build with the release preset, or -DHEAPLEDGER_BENCH=ON")
    chosen = options.only.split(",") + ["glibc"] if options.only else [name for name, _, _ in SUBJECTS]
    results = {name: [] for name, _, _ in SUBJECTS if name in chosen}
    if options.results and options.results.exists():
        for line in options.results.read_text().splitlines():
            name, measured = json.loads(line)
            if name in results:
                results[name].append({tuple(key.split()): ns for key, ns in measured.items()})
    end = time.monotonic() + options.seconds if options.seconds else float("inf")
    for turn in range(options.runs):
        for name, subject, library in SUBJECTS:
            if name not in results or len(results[name]) > turn or time.monotonic() > end:
                continue
            if sys.stderr.isatty():
                print(f"\r\033[Kround {turn + 1}: {name}", end="", file=sys.stderr, flush=True)
            measured = run(program, subject, library, options.rounds)
            if measured is not None:
                results[name].append(measured)
                if options.results:
                    with options.results.open("a") as file:
                        file.write(json.dumps([name, {" ".join(key): ns for key, ns in measured.items()}]) + "\n")
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    for name, runs in results.items():
        if not runs:
            print(f"bench/pool.py: {name} {'has not had its turn' if time.monotonic() > end else 'is not installed here'}", file=sys.stderr)
    rounds = [len(runs) for runs in results.values() if runs]
    if not rounds:
        sys.exit("bench/pool.py: nothing is measured yet")
    sizes = sorted({key[0] for runs in results.values() for one in runs for key in one}, key=int)
    what = "times glibc" if options.ratio else "nanoseconds"
    lines = [f"A pair of allocate and free, {what}, median of {min(rounds)}{f' to {max(rounds)}' if min(rounds) != max(rounds) else ''} rounds; "
             "256 chunks live."]
    for size in sizes:
        lines += ["", *table(results, size, options.ratio)]
    if not options.ratio:
        lines += ["", "In random order:", *summary(results, sizes)]
    lines += ["", *targets(results, sizes)]
    print("\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
