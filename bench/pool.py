#!/usr/bin/env python3
"""Compares the pool with malloc of several libraries, boost::pool and std::pmr: nanoseconds for a pair of allocate and free, in
turn within each round, median over the rounds; or each as a ratio to
glibc's malloc in the same round."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
OURS = ["single", "single+checks", "single+fill", "thread_cached", "thread_cached+checks", "thread_cached+fill", "shared",
        "shared+checks"]
# Name, subject, library to preload.
SUBJECTS = [(name, name, None) for name in OURS] + [
    ("glibc", "malloc", None),
    ("jemalloc", "malloc", "libjemalloc.so.2"),
    ("mimalloc", "malloc", "libmimalloc.so.2.0"),
    ("tcmalloc", "malloc", "libtcmalloc_minimal.so.4"),
    ("boost::pool", "boost_pool", None),
    ("boost::singleton_pool", "boost_singleton_pool", None),
    ("pmr unsynchronized", "pmr_unsynchronized", None),
    ("pmr synchronized", "pmr_synchronized", None),
]
PATTERNS = [("1", "local"), ("2", "local"), ("2", "remote")]
ORDERS = ["lifo", "fifo", "random"]


def run(program, subject, library, rounds):
    """By (size, threads, frees, order), nanoseconds. None where it cannot run here."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    if library:
        if not (LIBRARIES / library).exists():
            return None
        environment["LD_PRELOAD"] = str(LIBRARIES / library)
    done = subprocess.run([program, subject, str(rounds)], env=environment, capture_output=True, text=True)
    if done.returncode == 2:
        return None
    if done.returncode != 0:
        sys.exit(f"bench/pool.py: {subject} ended with {done.returncode}: {done.stderr.strip()}")
    lines = [line.split() for line in done.stdout.splitlines()]
    return {tuple(line[:4]): float(line[4]) for line in lines}


def table(results, size, ratio):
    """results: by subject, a list of what run() returned."""
    head = [f"{threads} thread{'s' if threads == '2' else ''}, {frees}, {order}" for threads, frees in PATTERNS for order in ORDERS]
    yield "| " + " | ".join([f"{size} bytes"] + head) + " |"
    yield "|---" * (len(head) + 1) + "|"
    for name, runs in results.items():
        cells = []
        for threads, frees in PATTERNS:
            for order in ORDERS:
                key = (size, threads, frees, order)
                if not runs or key not in runs[0]:
                    cells.append("")
                elif ratio:
                    cells.append(f"{statistics.median(one[key] / bare[key] for one, bare in zip(runs, results['glibc'])):.2f}")
                else:
                    cells.append(f"{statistics.median(one[key] for one in runs):.1f}")
        yield "| " + " | ".join([name] + cells) + " |"


def main():
    parser = argparse.ArgumentParser(prog="bench/pool.py", description=__doc__)
    parser.add_argument("build", metavar="BUILD_DIR", nargs="?", default="build/release", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds (5)")
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="times 256 pairs in each repetition (200)")
    parser.add_argument("--ratio", action="store_true", help="ratios to glibc instead of nanoseconds")
    parser.add_argument("--only", metavar="NAMES", help="subjects, separated by commas; glibc always runs")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    program = options.build / "bench/pool_pairs"
    if not program.exists():
        sys.exit(f"bench/pool.py: {program} is not there: build with the release preset, or -DHEAPLEDGER_BENCH=ON")
    chosen = options.only.split(",") + ["glibc"] if options.only else [name for name, _, _ in SUBJECTS]
    results = {name: [] for name, _, _ in SUBJECTS if name in chosen}
    for turn in range(options.runs):
        for name, subject, library in SUBJECTS:
            if name not in results:
                continue
            if sys.stderr.isatty():
                print(f"\r\033[Kround {turn + 1}: {name}", end="", file=sys.stderr, flush=True)
            measured = run(program, subject, library, options.rounds)
            if measured is not None:
                results[name].append(measured)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    for name, runs in results.items():
        if not runs:
            print(f"bench/pool.py: {name} is not installed here", file=sys.stderr)
    sizes = sorted({key[0] for runs in results.values() for one in runs for key in one}, key=int)
    what = "times glibc" if options.ratio else "nanoseconds"
    lines = [f"A pair of allocate and free, {what}, median of {options.runs} rounds; 256 chunks live."]
    for size in sizes:
        lines += ["", *table(results, size, options.ratio)]
    print("\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
