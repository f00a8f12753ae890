"""Where the numbers come from: what a reader needs to judge them."""

import os
import pathlib
import platform

BUSY_LOAD = 0.5


def model():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def describe(rounds, limit_seconds):
    libc, version = platform.libc_ver()
    load = os.getloadavg()[0]
    lines = [f"{os.cpu_count()} × {model()}, Linux {platform.release()}, {libc} {version}",
             f"rounds: {rounds} after a warm-up; a run takes {limit_seconds} s at most"]
    if load > BUSY_LOAD:
        lines.append(f"The machine was busy (load average {load:.1f} at the start): ratios of wall time are uncertain")
    return lines
