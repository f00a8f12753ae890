"""What is run: real programs that allocate in different ways, and what each needs made ready before.

A workload is a command whose output nobody reads and whose run is the same every time.
"""

import dataclasses
import pathlib
import shutil
import subprocess

from . import repository

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "programs"


class Absent(Exception):
    """A program that the workload or profiler needs is not on this machine; the message names it."""


@dataclasses.dataclass
class Workload:
    name: str
    what: str
    command: list
    environment: dict = dataclasses.field(default_factory=dict)


def program(name, where=None):
    found = shutil.which(name, path=where)
    if not found:
        raise Absent(f"{name} is not installed")
    return found


def list_plain(build, _scratch):
    return Workload("list", "2 threads fill and drain a std::list<int> of 1,000,000, four times",
                    [str(build / "bench/list"), "0"])


def list_deep(build, _scratch):
    return Workload("deep", "the same under 32 more frames", [str(build / "bench/list"), "32"])


def compiler(_build, scratch):
    """Only the compiler proper is run: the file is preprocessed once, here."""
    driver = program("g++")
    cc1plus = subprocess.run([driver, "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    options = ["-std=c++20", "-O2"]
    preprocessed = scratch / "regex_file.ii"
    subprocess.run([driver, *options, "-E", "-o", preprocessed, SCRIPTS / "regex_file.cpp"], check=True)
    return Workload("cc1plus", "g++'s compiler on a C++20 file with <regex>, -O2",
                    [program(cc1plus.stdout.strip()), "-quiet", "-fpreprocessed", str(preprocessed), *options, "-o",
                     "/dev/null"])


def python(_build, _scratch):
    """-s -S -P and not -I, which would ignore PYTHONMALLOC."""
    return Workload("python", "json.dumps and json.loads with PYTHONMALLOC=malloc",
                    [program("python3", "/usr/bin"), "-s", "-S", "-P", "-B", str(SCRIPTS / "json_round_trip.py")],
                    {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})


def perl(_build, _scratch):
    return Workload("perl", "a hash of 500,000 words that grows, is read and shrinks",
                    [program("perl"), str(SCRIPTS / "hash.pl")], {"PERL_HASH_SEED": "0"})


def git(_build, scratch):
    executable = program("git")
    directory = scratch / "repository.git"
    repository.make(executable, directory)
    return Workload("git", "git log --stat over a repository of 400 commits",
                    [executable, "--no-pager", f"--git-dir={directory}", "log", "--stat"], repository.ENVIRONMENT)


def sqlite(_build, _scratch):
    return Workload("sqlite", "sqlite3 fills a table of 1,000,000 rows and builds an index over it, in memory",
                    [program("sqlite3"), "-batch", "-init", "/dev/null", ":memory:",
                     (SCRIPTS / "index.sql").read_text()])


MAKERS = {"list": list_plain, "deep": list_deep, "cc1plus": compiler, "python": python, "perl": perl, "git": git,
          "sqlite": sqlite}
