"""What was measured, told as soon as it is: a workload's table when the workload is done, and the files with all that is
known by then. Who is stopped half-way keeps that half."""

import dataclasses
import json
import os

from . import table


@dataclasses.dataclass
class Result:
    workload: object
    rows: list


def replace(path, text):
    """The file is the old one or the new one, never half of it."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    os.replace(new, path)


class Report:
    def __init__(self, about, markdown=None, record=None):
        """`markdown` and `record` (JSON) are paths of files to keep up to date, or None."""
        self.about, self.markdown, self.record = about, markdown, record
        self.results, self.recorded = [], []
        print(table.part("Benchmark", "\n".join(about), table.PLAIN), flush=True)

    def add(self, result, recorded):
        self.results.append(result)
        self.recorded.append(recorded)
        self._write(hot_rows=[], finished=False)
        print(table.part(*table.workload(result, table.PLAIN), table.PLAIN), flush=True)

    def finish(self, hot_rows):
        self._write(hot_rows, finished=True)
        for part in (table.hot_path_part(hot_rows, table.PLAIN), table.overview(self.results, table.PLAIN)):
            if part:
                print(table.part(*part, table.PLAIN), flush=True)

    def _write(self, hot_rows, finished):
        hot = [{"profiler": row.profiler, "note": row.note,
                "nanoseconds": {f"{mode} {depth}": value for (mode, depth), value in row.nanoseconds.items()}}
               for row in hot_rows]
        record = {"machine": self.about, "workloads": self.recorded, "hot_path": hot}
        for path, text in ((self.markdown, table.document(self.about, self.results, hot_rows)),
                           (self.record, json.dumps(record, indent=1))):
            if path and path.exists() and not path.is_file():  # a pipe or device: once, when all is known
                if finished:
                    path.write_text(text)
            elif path:
                replace(path, text)
