"""What is run: real programs that allocate in different ways, and what each needs made ready before.

A workload is a command whose output nobody reads and whose run is the same every time.
"""

import dataclasses
import pathlib
import shutil
import subprocess
from collections.abc import Callable

from . import repository

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "programs"


class Absent(Exception):
    """A program that the workload or profiler needs is not on this machine; the message names it."""


@dataclasses.dataclass
class Workload:
    name: str
    what: str
    command: Callable  # of the build directory and one for what must be made first
    environment: dict = dataclasses.field(default_factory=dict)


def program(name, where=None):
    found = shutil.which(name, path=where)
    if not found:
        raise Absent(f"{name} is not installed")
    return found


def list_under(frames, name="list"):
    return lambda build, _made: [str(build / "bench" / name), str(frames)]


def documents(built=""):
    return lambda build, _made: [str(build / "bench" / f"documents{built}"), "1000"]


def compiler(_build, made):
    """The file is preprocessed once, here, so that the compiler proper is all that runs."""
    driver = program("g++")
    cc1plus = subprocess.run([driver, "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    options = ["-std=c++20", "-O2"]
    preprocessed = str(made / "regex_file.ii")
    subprocess.run([driver, *options, "-E", "-o", preprocessed, PROGRAMS / "regex_file.cpp"], check=True)
    return [program(cc1plus.stdout.strip()), "-quiet", "-fpreprocessed", preprocessed, *options, "-o", "/dev/null"]


def python(_build, _made):
    """-s -S -P and not -I, which would ignore PYTHONMALLOC."""
    return [program("python3", "/usr/bin"), "-s", "-S", "-P", "-B", str(PROGRAMS / "json_round_trip.py")]


def perl(_build, _made):
    return [program("perl"), str(PROGRAMS / "hash.pl")]


def git(_build, made):
    executable = program("git")
    repository.make(executable, made / "repository.git")
    return [executable, "--no-pager", f"--git-dir={made / 'repository.git'}", "log", "--stat"]


def sqlite(_build, _made):
    return [program("sqlite3"), "-batch", "-init", "/dev/null", ":memory:", (PROGRAMS / "index.sql").read_text()]


WORKLOADS = [
    Workload("list", "2 threads fill and drain a std::list<int> of 1,000,000, four times", list_under(0)),
    Workload("deep", "the same under 32 more frames", list_under(32)),
    Workload("list-scope", "list, each thread in a scope of its own", list_under(0, "list_scoped_1")),
    Workload("list-budget", "the same with budgets that are not met", list_under(0, "list_scoped_2")),
    Workload("documents", "nested lists read into trees, changed, copied and written", documents()),
    Workload("documents-scope", "the same, a scope for each document", documents("_scoped")),
    Workload("documents-fp", "the same compiled with frame pointers", documents("_frame_pointers")),
    Workload("cc1plus", "GCC's C++ compiler on a C++20 file with <regex>, -O2", compiler),
    Workload("python", "json.dumps and json.loads with PYTHONMALLOC=malloc", python,
             {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    Workload("perl", "a hash of 500,000 words grows, is read and shrinks", perl, {"PERL_HASH_SEED": "0"}),
    Workload("git", "git log --stat over a repository of 400 commits", git, repository.ENVIRONMENT),
    Workload("sqlite", "sqlite3 fills a table of 1,000,000 rows in memory and builds two indexes over it", sqlite),
]
