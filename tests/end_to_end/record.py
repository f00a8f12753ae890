"""Reads what the program `recorded` wrote down, while it runs or after it died."""

import struct
import time

KEYS = ("allocations", "frees", "allocated_bytes", "freed_bytes")
RECORD_BYTES = 128  # started, done: four sums each; operations; padded
HEAD_BYTES = 64


class Record:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.pid, self.threads, self.finished = struct.unpack_from("<3Q", data) if data else (0, 0, 0)
        self.started = dict.fromkeys(KEYS, 0)
        self.done = dict.fromkeys(KEYS, 0)
        self.operations = 0
        for i in range(self.threads):
            values = struct.unpack_from("<9Q", data, HEAD_BYTES + i * RECORD_BYTES)
            for j, key in enumerate(KEYS):
                self.started[key] += values[j]
                self.done[key] += values[4 + j]
            self.operations += values[8]


def wait_for(path, operations, alive, deadline_s=120):
    """Returns the record once the program has done that many operations. `alive` tells whether it can still come."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        try:
            record = Record(path)
            if record.pid and record.operations >= operations:
                return record
        except FileNotFoundError:
            pass
        if not alive():
            raise AssertionError("the program ended before it did what was awaited")
        time.sleep(0.0005)  # only spares the processor: what is awaited is the record
    raise AssertionError(f"not {operations} operations within {deadline_s} s")
