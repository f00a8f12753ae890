"""The tables: as plain text for a terminal, as Markdown for a file, from the same cells."""

import dataclasses

from .hot_path import COLUMNS

MIB = 1024 * 1024


def ratio(value, at_least=False):
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{'>' if at_least else ''}{value:.{digits}f}"


def mebibytes(value, sign=""):
    if value is None:
        return ""
    return f"{value / MIB:{sign},.{0 if abs(value) >= 100 * MIB else 1}f}"


def size(value):
    if value is None:
        return ""
    return f"{value / MIB:,.1f} MiB" if value >= MIB else f"{value / 1024:,.0f} KiB"


def short(row):
    """A matrix cell."""
    if row.ratio is None:
        return "absent" if row.note.startswith("absent") else "failed" if row.note else ""
    return ratio(row.ratio, row.at_least)


def matrix(results):
    """Profilers down, workloads across: median ratios of wall time."""
    names = [row.profiler for row in results[0].rows]
    head = ["time, × bare", *(result.workload.name for result in results)]
    cells = {(row.profiler, result.workload.name): short(row) for result in results for row in result.rows}
    return [head, *([name, *(cells.get((name, result.workload.name), "") for result in results)] for name in names)]


def details(result):
    head = ["profiler", "seconds", "time ×", "min..max", "fastest ×", "cpu ×", "peak MiB", "peak ×", "more MiB", "file",
            ""]
    rows = []
    for row in result.rows:
        span = f"{ratio(min(row.ratios))}..{ratio(max(row.ratios))}" if row.ratios else ""
        note = row.note or ("whole command" if row.whole else "")
        rows.append([row.profiler, f"{row.seconds:.2f}" if row.seconds is not None else "",
                     ratio(row.ratio, row.at_least), span, ratio(row.fastest_ratio), ratio(row.cpu_ratio),
                     mebibytes(row.peak_bytes), ratio(row.peak_ratio), mebibytes(row.peak_more_bytes, "+"),
                     size(row.file_bytes), note])
    return [head, *rows]


def hot_path(rows):
    head = ["ns a pair", *(f"{mode} {depth}" for mode, depth in COLUMNS), ""]

    def cell(row, column):
        return f"{row.nanoseconds[column]:.1f}" if column in row.nanoseconds else ""

    return [head, *([row.profiler, *(cell(row, column) for column in COLUMNS), row.note] for row in rows)]


def without_empty_columns(cells):
    kept = [i for i in range(len(cells[0])) if any(row[i] for row in cells)]
    return [[row[i] for i in kept] for row in cells]


def text(cells):
    cells = without_empty_columns(cells)
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    titles = cells[0]

    def aligned(row):
        parts = [cell.ljust(width) if i == 0 or not titles[i] else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        return "  ".join(parts).rstrip()

    return "\n".join([aligned(cells[0]), "  ".join("-" * width for width in widths), *map(aligned, cells[1:])])


def markdown(cells):
    cells = without_empty_columns(cells)

    def line(row):
        return "| " + " | ".join(row) + " |"

    return "\n".join([line(cells[0]), line(["---"] + ["---:"] * (len(cells[0]) - 1)), *map(line, cells[1:])])


@dataclasses.dataclass
class Style:
    cells: object    # how a table is written
    heading: object  # how a title is


PLAIN = Style(text, lambda title: title)
MARKDOWN = Style(markdown, lambda title: f"## {title}")


def part(title, body, style):
    return f"{style.heading(title)}\n\n{body}\n"


def overview(results, style):
    return results and ("Time, as a ratio to the bare program of the same round", style.cells(matrix(results)))


def workload(result, style):
    return f"{result.workload.name}: {result.workload.what}", style.cells(details(result))


def hot_path_part(rows, style):
    return rows and ("Hot path: nanoseconds for one malloc and free, by frames above", style.cells(hot_path(rows)))


def document(machine, results, hot_rows):
    """All of it in Markdown."""
    parts = [("Benchmark", "\n".join(machine)), overview(results, MARKDOWN),
             *(workload(result, MARKDOWN) for result in results), hot_path_part(hot_rows, MARKDOWN)]
    return "\n".join(part(*one, MARKDOWN) for one in parts if one)
