"""What is compared: ways to run the same command, each with the settings that are kindest to it.

A profiler writes all its files into the directory it is given. `whole` marks those whose time is that of a command
that does more than run the program: it starts helpers, or writes the finished profile at the end.
"""

import dataclasses
import pathlib
from collections.abc import Callable

from .workloads import Absent, program

LIBRARY_PATHS = [pathlib.Path(path) for path in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                                 "/usr/lib64", "/usr/lib", "/usr/local/lib")]


@dataclasses.dataclass
class Profiler:
    name: str
    what: str
    environment: Callable = lambda build, out: {}
    prefix: Callable = lambda build, out: []
    whole: bool = False
    writes: bool = True  # files that a reader wants


def library(name, package):
    for directory in LIBRARY_PATHS:
        if (directory / name).exists():
            return str(directory / name)
    raise Absent(f"{name} is not installed (Debian: {package})")


def built(build, path):
    if not (build / path).exists():
        raise Absent(f"{path} is not built")
    return str(build / path)


JEMALLOC = ("libjemalloc.so.2", "libjemalloc2")
GPERFTOOLS = ("libtcmalloc.so.4", "libgoogle-perftools4")
MIMALLOC = ("libmimalloc.so.2", "libmimalloc2.0")


def preload(name, package, settings=lambda out: {}):
    return lambda _build, out: {"LD_PRELOAD": library(name, package), **settings(out)}


def wrapper(extra_bytes):
    return lambda build, _out: {"LD_PRELOAD": built(build, f"bench/passthrough_{extra_bytes}.so")}


def tracker(model, **settings):
    return lambda build, _out: {"LD_PRELOAD": built(build, f"bench/tracker_{model}.so"), **settings}


def probe(stacks, **settings):
    return lambda build, out: {"LD_PRELOAD": built(build, "lib/heapledger/libheapledger.so"),
                               "HEAPLEDGER_STACKS": stacks, "HEAPLEDGER_OUTPUT": f"{out}/profile.%p.hlp", **settings}


def probe_on(name, package):
    over = probe("dwarf")

    def environment(build, out):
        made = over(build, out)
        return {**made, "LD_PRELOAD": f"{made['LD_PRELOAD']}:{library(name, package)}"}
    return environment


def run(stacks):
    return lambda build, out: [built(build, "bin/heapledger"), "run", "-q", "--stacks", stacks, "-f", "-o",
                               f"{out}/profile.hlp", "--"]


def heaptrack_probe(_build, out):
    return {"LD_PRELOAD": library("heaptrack/libheaptrack_preload.so", "heaptrack"),
            "DUMP_HEAPTRACK_OUTPUT": f"{out}/heaptrack.raw"}


def heaptrack_command(_build, out):
    return [program("heaptrack"), "-o", f"{out}/heaptrack"]


# 2^19 bytes is jemalloc's own default between samples.
def jemalloc_profile(out):
    return {"MALLOC_CONF": f"prof:true,lg_prof_sample:19,prof_final:true,prof_prefix:{out}/jemalloc"}


# Roomier than the defaults: on list they halve the time.
def tcmalloc_caches(_out):
    return {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": str(256 << 20), "TCMALLOC_TRANSFER_NUM_OBJ": "4096"}


# No dumps in between: only the one at exit, which every other profiler writes too. Of its unwinders libgcc finds the
# same stacks as libunwind, its default, in a third of the time; generic_fp finds none in Debian's build.
def gperftools_profile(out):
    return {**tcmalloc_caches(out), "HEAPPROFILE": f"{out}/gperftools", "HEAP_PROFILE_ALLOCATION_INTERVAL": "0",
            "HEAP_PROFILE_INUSE_INTERVAL": "0", "TCMALLOC_STACKTRACE_METHOD": "libgcc"}


BARE = Profiler("bare", "the program alone", writes=False)
PROFILERS = [
    Profiler("bare-again", "the program alone, a second time: how much of a ratio is noise", writes=False),
    Profiler("wrapper", "a preloaded malloc wrapper that passes calls on", wrapper(0), writes=False),
    Profiler("wrapper+8", "the same, 8 bytes added to every block", wrapper(8), writes=False),
    Profiler("task-stats", "TaskStatsAlloc's model: a header and an atomic, a task a thread", tracker(1), writes=False),
    Profiler("task-stats-shared", "the same, all threads one task", tracker(1, TRACKER_SHARED="1"), writes=False),
    Profiler("batching", "a tracker in ClickHouse's manner, to within 4 MiB a thread", tracker(2), writes=False),
    Profiler("heapledger-off", "the probe, counters without stacks", probe("off")),
    Profiler("heapledger-fp", "the probe, stacks by frame pointer", probe("fp")),
    Profiler("heapledger", "the probe, full DWARF stacks (the default)", probe("dwarf")),
    Profiler("heapledger-lifetimes", "the same, every block timed", probe("dwarf", HEAPLEDGER_LIFETIMES="1")),
    Profiler("heapledger-jemalloc", "the probe on jemalloc, to be held against jemalloc", probe_on(*JEMALLOC)),
    Profiler("heapledger-run-off", "heapledger run --stacks off", prefix=run("off"), whole=True),
    Profiler("heapledger-run-fp", "heapledger run --stacks fp", prefix=run("fp"), whole=True),
    Profiler("heapledger-run", "heapledger run", prefix=run("dwarf"), whole=True),
    Profiler("heaptrack", "heaptrack's probe, raw trace to a file", heaptrack_probe),
    Profiler("heaptrack-run", "heaptrack", prefix=heaptrack_command, whole=True),
    Profiler("jemalloc", "jemalloc, no profiler", preload(*JEMALLOC), writes=False),
    Profiler("jemalloc-prof", "jemalloc, one sample in 512 KiB", preload(*JEMALLOC, jemalloc_profile)),
    Profiler("tcmalloc", "gperftools' tcmalloc, no profiler", preload(*GPERFTOOLS, tcmalloc_caches), writes=False),
    Profiler("gperftools", "gperftools' heap profiler", preload(*GPERFTOOLS, gperftools_profile)),
    Profiler("mimalloc", "mimalloc, no profiler", preload(*MIMALLOC), writes=False),
]
