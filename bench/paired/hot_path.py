"""Nanoseconds that one malloc and free take, under 1, 8 and 32 frames, bare and under each profiler."""

import dataclasses
import re
import statistics
import subprocess
import tempfile

from .rounds import clean_environment
from .workloads import Absent

DEPTHS = (1, 8, 32)
MODES = ("stay", "descend")
PAIRS = 1_000_000
COLUMNS = [(mode, depth) for mode in MODES for depth in DEPTHS]


@dataclasses.dataclass
class HotPathRow:
    profiler: str
    nanoseconds: dict = dataclasses.field(default_factory=dict)
    note: str = ""


def one(runner, profiler, mode, depth):
    """None when it failed or took longer than the limit."""
    with tempfile.TemporaryDirectory(prefix="run.", dir=runner.scratch) as out:
        environment = {**clean_environment(), **profiler.environment(runner.build, out)}
        command = [runner.build / "bench/pair", mode, str(depth), str(PAIRS)]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=out, check=False,
                                  timeout=runner.limit_seconds)
        except subprocess.TimeoutExpired:
            return None
        number = re.match(r"\d+\.\d+$", done.stdout.strip())
        return float(number.group()) if done.returncode == 0 and number else None


def measure(runner, profilers, count, progress):
    rows = {profiler.name: HotPathRow(profiler.name) for profiler in profilers}
    found = {(profiler.name, column): [] for profiler in profilers for column in COLUMNS}
    for number in range(count):
        for column in COLUMNS:
            for profiler in profilers:
                row = rows[profiler.name]
                if row.note:
                    continue
                progress(f"hot path {number + 1}/{count} {profiler.name} {column[0]} {column[1]}")
                try:
                    value = one(runner, profiler, *column)
                except Absent as reason:
                    row.note = f"absent: {reason}"
                    continue
                if value is None:
                    row.note = f"stopped after {runner.limit_seconds} s, or failed"
                else:
                    found[profiler.name, column].append(value)
    for (name, column), values in found.items():
        if values:
            rows[name].nanoseconds[column] = statistics.median(values)
    return list(rows.values())
