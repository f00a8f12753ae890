#!/usr/bin/env python3
"""Runs every workload under every profiler, in turn, and prints what each costs as a ratio to the bare program: a table
as each workload is done."""

import argparse
import dataclasses
import fnmatch
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True

from paired import hot_path, machine, numbers  # noqa: E402
from paired.profilers import BARE, PROFILERS  # noqa: E402
from paired.report import Report, Result  # noqa: E402
from paired.rounds import Runner  # noqa: E402
from paired.workloads import WORKLOADS, Absent  # noqa: E402


def fail(message, status=2):
    print(f"bench/run.py: {message}", file=sys.stderr)
    sys.exit(status)


def choose(text, known, what):
    """All, none, or those whose names fit one of the patterns separated by commas; in the order that is known."""
    if text in (None, "none"):
        return [] if text else known
    patterns = text.split(",")
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(one.name, pattern) for one in known):
            fail(f"no {what} is called '{pattern}'; there are: {', '.join(one.name for one in known)}")
    return [one for one in known if any(fnmatch.fnmatchcase(one.name, pattern) for pattern in patterns)]


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("build", metavar="BUILD_DIR", type=pathlib.Path, nargs="?",
                        default=pathlib.Path("build/release"), help="default: build/release")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="rounds that count, after a warm-up (5)")
    parser.add_argument("--workloads", metavar="NAMES", help="which, by name or pattern, as in list,c*; or none")
    parser.add_argument("--peers", metavar="NAMES", help="which profilers, by name or pattern, as in heap*; or none")
    parser.add_argument("--list", action="store_true", help="name workloads and profilers, and what each is")
    parser.add_argument("--timeout", type=int, default=60, metavar="S", help="seconds that a run may take (60)")
    parser.add_argument("--no-hot-path", action="store_true", help="leave out the malloc and free loop")
    parser.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path("/dev/shm"), metavar="DIR",
                        help="where profilers write (/dev/shm: no disk is measured)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="every single run")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="the tables, for a document")
    return parser.parse_args()


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def absent(profilers, build):
    """By the name of each profiler that cannot run here, the reason."""
    missing = {}
    for profiler in profilers:
        try:
            profiler.environment(build, "")
            profiler.prefix(build, "")
        except Absent as reason:
            missing[profiler.name] = str(reason)
    return missing


def measure(options, workloads, profilers, runner, missing, report):
    made = options.build / "bench/made"
    made.mkdir(exist_ok=True)
    usable = [BARE] + [profiler for profiler in profilers if profiler.name not in missing]
    for workload in workloads:
        try:
            command = workload.command(options.build, made)
        except Absent as reason:
            print(f"bench/run.py: workload {workload.name} is left out: {reason}", file=sys.stderr)
            continue
        rounds = runner.rounds(usable, workload, command, options.runs, progress)
        series = {one.profiler.name: one for one in rounds}
        bare = series[BARE.name]
        if bare.failure or bare.timed_out:
            reason = bare.failure or "it takes longer than --timeout"
            fail(f"workload {workload.name} does not run by itself: {reason}", 125)
        rows = [numbers.absent(profiler, missing[profiler.name]) if profiler.name in missing else
                numbers.row(series[profiler.name], bare, options.timeout) for profiler in [BARE, *profilers]]
        progress("")
        report.add(Result(workload, rows),
                   {"workload": workload.name, "program": command[0],
                    "profilers": {one.profiler.name: {"failure": one.failure, "timed_out": one.timed_out,
                                                      "runs": [dataclasses.asdict(run) for run in one.runs]}
                                  for one in series.values()}})


def main():
    options = arguments()
    if options.list:
        for one in [*WORKLOADS, BARE, *PROFILERS]:
            print(f"{one.name:20} {one.what}")
        return
    if options.runs < 1 or options.timeout < 1:
        fail("--runs and --timeout take a number of at least 1")
    options.build = options.build.resolve()
    if not (options.build / "bench/measure").exists():
        fail(f"{options.build}/bench/measure is not there: build with the release preset, or -DHEAPLEDGER_BENCH=ON")
    workloads = choose(options.workloads, WORKLOADS, "workload")
    profilers = choose(options.peers, PROFILERS, "profiler")
    for path in (options.json, options.markdown):
        if path and not path.absolute().parent.is_dir():
            fail(f"{path}: there is no directory {path.absolute().parent}")

    if not options.scratch.is_dir():
        fail(f"{options.scratch} is not a directory: name another with --scratch")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="heapledger-bench.", dir=options.scratch.resolve()))
    try:
        runner = Runner(options.build, scratch, options.timeout)
        report = Report(machine.describe(options.runs, options.timeout), options.markdown, options.json)
        measure(options, workloads, profilers, runner, absent(profilers, options.build), report)
        loop = [profiler for profiler in profilers if not profiler.whole]
        hot_rows = [] if options.no_hot_path else hot_path.measure(runner, [BARE, *loop], options.runs, progress)
        progress("")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

    report.finish(hot_rows)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
