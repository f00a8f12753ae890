"""From runs to rows: ratios pair by pair, their median and range."""

import dataclasses
import statistics


@dataclasses.dataclass
class Row:
    """One profiler on one workload. Ratios are None where nothing could be measured; `note` says why."""
    profiler: str
    what: str
    whole: bool
    seconds: float | None = None
    ratios: list = dataclasses.field(default_factory=list)
    ratio: float | None = None
    fastest_ratio: float | None = None
    cpu_ratio: float | None = None
    peak_bytes: int | None = None
    peak_ratio: float | None = None
    peak_more_bytes: int | None = None
    file_bytes: int | None = None
    at_least: bool = False
    note: str = ""


def row(series, bare, limit_seconds):
    profiler = series.profiler
    result = Row(profiler.name, profiler.what, profiler.whole, note=series.failure)
    if series.failure or not bare.runs:
        return result
    if series.timed_out:
        result.at_least = True
        result.ratio = limit_seconds / statistics.median(run.seconds for run in bare.runs)
        result.note = f"stopped after {limit_seconds} s"
        return result
    pairs = list(zip(series.runs, bare.runs))
    result.ratios = [run.seconds / alone.seconds for run, alone in pairs]
    result.ratio = statistics.median(result.ratios)
    result.fastest_ratio = min(run.seconds for run in series.runs) / min(run.seconds for run in bare.runs)
    result.cpu_ratio = statistics.median(run.cpu_seconds / alone.cpu_seconds for run, alone in pairs)
    result.seconds = statistics.median(run.seconds for run in series.runs)
    result.peak_bytes = int(statistics.median(run.peak_bytes for run in series.runs))
    result.peak_ratio = statistics.median(run.peak_bytes / alone.peak_bytes for run, alone in pairs)
    result.peak_more_bytes = int(statistics.median(run.peak_bytes - alone.peak_bytes for run, alone in pairs))
    result.file_bytes = int(statistics.median(run.file_bytes for run in series.runs)) if profiler.writes else None
    return result


def absent(profiler, reason):
    return Row(profiler.name, profiler.what, profiler.whole, note=f"absent: {reason}")
