"""Runs commands in turn, round by round, and keeps what each run took.

A ratio is only ever made of two runs of the same round: what slows the machine down for a while slows both.
"""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile

LIMIT_REACHED = -1
FOREIGN = ("LD_PRELOAD", "LD_LIBRARY_PATH", "MALLOC_", "GLIBC_TUNABLES", "HEAPPROFILE", "HEAP_PROFILE_", "TCMALLOC_",
           "MIMALLOC_", "DUMP_HEAPTRACK", "HEAPLEDGER_", "PYTHON", "PERL", "GIT_")


@dataclasses.dataclass
class Run:
    seconds: float
    user_seconds: float
    system_seconds: float
    peak_bytes: int
    status: int
    file_bytes: int

    @property
    def cpu_seconds(self):
        return self.user_seconds + self.system_seconds


@dataclasses.dataclass
class Series:
    """The runs of one profiler over one workload, one a round; a failure ends the series and says why."""
    profiler: object
    runs: list = dataclasses.field(default_factory=list)
    failure: str = ""
    timed_out: bool = False


def clean_environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**kept, "LC_ALL": "C"}


def stored_bytes(directory):
    """What the files take: the holes of a sparse file are free, and so is the rest of a file's last page."""
    total = 0
    for path in pathlib.Path(directory).rglob("*"):
        if path.is_file():
            status = path.stat()
            total += min(status.st_size, status.st_blocks * 512) if status.st_blocks else status.st_size
    return total


class Runner:
    def __init__(self, build, scratch, limit_seconds):
        self.build = build
        self.scratch = scratch
        self.limit_seconds = limit_seconds

    def run(self, profiler, command, environment):
        """One run in a directory of its own, which is gone afterwards. Returns the run and what it said."""
        out = tempfile.mkdtemp(prefix="run.", dir=self.scratch)
        try:
            settings = {**environment, **profiler.environment(self.build, out)}
            line = [self.build / "bench/measure", str(self.limit_seconds),
                    *(f"{name}={value}" for name, value in settings.items()), "--",
                    *profiler.prefix(self.build, out), *command]
            done = subprocess.run(line, capture_output=True, text=True, errors="replace", env=clean_environment(),
                                  cwd=out, check=False)
            fields = done.stdout.split()
            if done.returncode or len(fields) != 5:
                raise RuntimeError(f"bench/measure failed: {done.stderr.strip()}")
            return Run(*map(float, fields[:3]), int(fields[3]) * 1024, int(fields[4]), stored_bytes(out)), done.stderr
        finally:
            shutil.rmtree(out, ignore_errors=True)

    def rounds(self, profilers, workload, command, count, progress):
        """A warm-up round, then `count` rounds that are kept, each of all profilers in turn."""
        series = [Series(profiler) for profiler in profilers]
        for number in range(count + 1):
            for one in series:
                if one.failure or one.timed_out:
                    continue
                progress(f"{workload.name} {number}/{count} {one.profiler.name}")
                run, said = self.run(one.profiler, command, workload.environment)
                one.timed_out = run.status == LIMIT_REACHED
                if run.status > 0:
                    last = said.strip().splitlines()[-1:] or ["it said nothing"]
                    one.failure = f"exit status {run.status}: {last[0][:100]}"
                elif number or one.timed_out:
                    one.runs.append(run)
        return series
