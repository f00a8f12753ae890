#!/usr/bin/env python3
"""Runs every workload under every profiler, in turn, and prints what each costs as a ratio to the bare program."""

import argparse
import dataclasses
import json
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True

from paired import hot_path, machine, numbers, table  # noqa: E402
from paired.profilers import BARE, PROFILERS  # noqa: E402
from paired.rounds import Runner  # noqa: E402
from paired.workloads import MAKERS, Absent  # noqa: E402


@dataclasses.dataclass
class Result:
    workload: object
    rows: list


def fail(message, status=2):
    print(f"bench/run.py: {message}", file=sys.stderr)
    sys.exit(status)


def choose(text, known, what):
    """Names, or the beginnings of names, separated by commas."""
    chosen = []
    for part in text.split(","):
        matches = [name for name in known if name == part] or [name for name in known if name.startswith(part)]
        if not part or not matches:
            fail(f"no {what} is called '{part}'; there are: {', '.join(known)}")
        chosen += matches
    return [name for name in known if name in chosen]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("build", metavar="BUILD_DIR", type=pathlib.Path, help="e.g. build/release")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds that count, after a warm-up (5)")
    parser.add_argument("--workloads", metavar="NAMES", help=f"some of: {', '.join(MAKERS)}; none: only the hot path")
    parser.add_argument("--peers", metavar="NAMES", help="some of the profilers, or beginnings of their names; none: bare only")
    parser.add_argument("--list", action="store_true", help="name workloads and profilers, and what each is")
    parser.add_argument("--timeout", type=int, default=60, metavar="S", help="seconds that a run may take (60)")
    parser.add_argument("--no-hot-path", action="store_true", help="leave out the malloc and free loop")
    parser.add_argument("--scratch", type=pathlib.Path, help="where profilers write (/dev/shm, so that no disk is measured)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="every single run")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="the tables, for a document")
    return parser.parse_args()


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def present(profilers, build):
    """Splits the profilers into those that can run and, by name, the reason why another cannot."""
    usable, missing = [], {}
    for profiler in profilers:
        try:
            profiler.environment(build, "")
            profiler.prefix(build, "")
            usable.append(profiler)
        except Absent as reason:
            missing[profiler.name] = str(reason)
    return usable, missing


def measure(options, workload_names, profilers, runner, missing):
    made = options.build / "bench/made"
    made.mkdir(exist_ok=True)
    usable = [BARE] + [profiler for profiler in profilers if profiler.name not in missing]
    results, recorded = [], []
    for name in workload_names:
        try:
            workload = MAKERS[name](options.build, made)
        except Absent as reason:
            print(f"bench/run.py: workload {name} is left out: {reason}", file=sys.stderr)
            continue
        series = {one.profiler.name: one for one in runner.rounds(usable, workload, options.runs, progress)}
        bare = series[BARE.name]
        if bare.failure or bare.timed_out:
            fail(f"workload {name} does not run by itself: {bare.failure or 'it takes longer than --timeout'}", 125)
        rows = [numbers.absent(profiler, missing[profiler.name]) if profiler.name in missing else
                numbers.row(series[profiler.name], bare, options.timeout) for profiler in [BARE, *profilers]]
        results.append(Result(workload, rows))
        recorded.append({"workload": name, "command": workload.command[:1],
                         "profilers": {one.profiler.name: {"failure": one.failure, "timed_out": one.timed_out,
                                                           "runs": [dataclasses.asdict(run) for run in one.runs]}
                                       for one in series.values()}})
    return results, recorded


def main():
    options = arguments()
    if options.list:
        for name, maker in MAKERS.items():
            print(f"{name:20} {(maker.__doc__ or 'workload').splitlines()[0]}")
        for profiler in PROFILERS:
            print(f"{profiler.name:20} {profiler.what}")
        return
    if options.runs < 1 or options.timeout < 1:
        fail("--runs and --timeout take a number of at least 1")
    options.build = options.build.resolve()
    if not (options.build / "bench/measure").exists():
        fail(f"{options.build}/bench/measure is not there: build with -DHEAPLEDGER_BENCH=ON (the release preset has it)")
    by_name = {profiler.name: profiler for profiler in PROFILERS}
    workload_names = list(MAKERS) if options.workloads is None else \
        [] if options.workloads == "none" else choose(options.workloads, MAKERS, "workload")
    peer_names = list(by_name) if options.peers is None else \
        [] if options.peers == "none" else choose(options.peers, by_name, "profiler")
    profilers = [by_name[name] for name in peer_names]
    for path in (options.json, options.markdown):
        if path and not path.absolute().parent.is_dir():
            fail(f"{path}: there is no directory {path.absolute().parent}")

    shared_memory = pathlib.Path("/dev/shm")
    parent = options.scratch or (shared_memory if shared_memory.is_dir() else None)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="heapledger-bench.", dir=parent))
    try:
        runner = Runner(options.build, scratch, options.timeout)
        about = machine.describe(options.runs, options.timeout)
        _, missing = present(profilers, options.build)
        results, recorded = measure(options, workload_names, profilers, runner, missing)
        loop = [profiler for profiler in profilers if not profiler.whole]
        hot_rows = [] if options.no_hot_path else hot_path.measure(runner, [BARE, *loop], options.runs, progress)
        progress("")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

    print(table.document(about, results, hot_rows, table.text, lambda title: title), end="")
    if options.markdown:
        options.markdown.write_text(table.document(about, results, hot_rows, table.markdown, lambda title: f"## {title}"))
    if options.json:
        hot = [{"profiler": row.profiler, "note": row.note,
                "nanoseconds": {f"{mode} {depth}": value for (mode, depth), value in row.nanoseconds.items()}}
               for row in hot_rows]
        options.json.write_text(json.dumps({"machine": about, "workloads": recorded, "hot_path": hot}, indent=1))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
