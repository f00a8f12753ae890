#!/usr/bin/env python3
"""What `heapledger leaks PID` costs the program that it watches: its processor time, over that of the profile alone, on
redis and nginx with a leak, so that there is something to watch, and on a compiler. Two servers of a kind get the same load
in turn, a slice of a tenth of a second each; first one is watched, then the other, so that neither the machine's pace nor
what tells the two processes apart is in the ratio. Two compilers run at the same time, and then with their processors
changed. The same with nobody watched stands beside it. Prints, and asserts nothing. Takes two to three minutes on two
processors that do nothing else."""

import argparse
import math
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WATCH = ("--report", "0", "--suspicious", "0.5", "--access", "1", "--rest", "0.25")
PROCESSORS = sorted(os.sched_getaffinity(0))


def environment(probe, segment, preload=""):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEAPLEDGER", "LD_"))}
    return {**kept, "LD_PRELOAD": f"{probe} {preload}".strip(), "HEAPLEDGER_OUTPUT": str(segment)}


def on(processor):
    """For a child to begin with; the last one is the server's or a compiler's own."""
    return lambda: os.sched_setaffinity(0, {PROCESSORS[processor % len(PROCESSORS)]})


def used_s(pid):
    """Processor time of all its threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def ask(path, request, end=1):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(request)
        got = 0
        while got < end:
            got += len(client.recv(1 << 16)) or end


class Server:
    def __init__(self, folder, options, preload=""):
        self.folder, self.segment = folder, folder / "profile.hlp"
        self.process = subprocess.Popen(self.command(), env=environment(options.probe, self.segment, preload), preexec_fn=on(-1),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                with socket.socket(socket.AF_UNIX) as client:
                    return client.connect(self.path())
            except OSError:
                time.sleep(0.01)
        raise SystemExit(f"bench/leaks.py: {self.process.args} did not start")

    def path(self):
        return f"{self.folder}/socket"

    def slice_s(self, requests):
        before = used_s(self.process.pid)
        self.load(requests)
        return used_s(self.process.pid) - before

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.segment.unlink(missing_ok=True)


class Redis(Server):
    needs = ("redis-server", "redis-benchmark")
    slices = 0

    def command(self):
        return ["redis-server", "--port", "0", "--unixsocket", self.path(), "--save", "", "--appendonly", "no", "--dir",
                str(self.folder), "--daemonize", "no"]

    def load(self, requests):
        """What a client does, and keys that nobody will ask for."""
        self.slices += 1  # redis-benchmark's random numbers come again each second
        common = ["redis-benchmark", "-q", "-s", self.path(), "-P", "8", "-c", "20"]
        for words in (["-n", str(requests // 5), "-r", "3000", "-t", "set,get,lpush,lpop"],
                      ["-n", str(requests // 5), "-r", "1000000000", "SET", f"audit:{self.slices}:__rand_int__", "y" * 40]):
            subprocess.run(common + words, stdout=subprocess.DEVNULL, check=True)

    def restore(self):
        ask(self.path(), b"FLUSHALL\r\n")


class Nginx(Server):
    needs = ("nginx",)

    def command(self):
        (self.folder / "index.html").write_text("<p>hello</p>" * 100)
        (self.folder / "nginx.conf").write_text(f"""
            daemon off; master_process off; pid {self.folder}/nginx.pid; error_log stderr crit;
            events {{ worker_connections 64; }}
            http {{
              access_log off; client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy;
              fastcgi_temp_path {self.folder}/fastcgi; uwsgi_temp_path {self.folder}/uwsgi; scgi_temp_path {self.folder}/scgi;
              keepalive_requests 1000000;
              server {{ listen unix:{self.path()}; root {self.folder}; }}
            }}""")
        os.chmod(self.folder, 0o755)
        return ["nginx", "-p", str(self.folder), "-c", f"{self.folder}/nginx.conf"]

    def load(self, requests):
        """Connections of 20 requests each; leaky_accept.c forgets something for each."""
        one = b"GET /index.html HTTP/1.1\r\nHost: here\r\n\r\n"
        last = b"GET /index.html HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
        for _ in range(requests // 160):  # an eighth: they take longer than redis's
            ask(self.path(), one * 19 + last, 1 << 40)

    def restore(self):
        pass


def watch(pid, options):
    return subprocess.Popen([options.build / "bin/heapledger", "leaks", *WATCH, str(pid)], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, preexec_fn=lambda: os.sched_setaffinity(0, PROCESSORS))


def finish(tool):
    if tool is None:
        return ""
    tool.terminate()
    out, _ = tool.communicate()
    words = ("blocks watched", "block watched", "LEAKS", "No leak")
    return "; ".join(line.strip() for line in out.splitlines() if any(word in line for word in words))


def in_slices(pair, watched, options):
    """Processor time of both under the same load, and what the watch of one of them found; `watched`: 0, 1 or None."""
    for server in pair:
        server.restore()
    tool = None if watched is None else watch(pair[watched].process.pid, options)
    times, found = [0, 0], ""
    try:
        for turn in range(options.settling + options.slices):
            for which in random.sample((0, 1), 2):
                used = pair[which].slice_s(options.requests)
                times[which] += used if turn >= options.settling else 0  # until there are suspects
    finally:
        found = finish(tool)
    return times, found


def serve(kind, options, folder):
    """Of each round the ratio of watched to not watched, and of not watched to not watched; and what was found last."""
    places = [folder / "a", folder / "b"]
    for place in places:
        place.mkdir()
    pair = []
    try:
        for place in places:
            pair.append(kind(place, options, options.leaky if kind is Nginx else ""))
        return serve_in_rounds(pair, options)
    finally:
        for server in pair:
            server.end()
        for place in places:
            shutil.rmtree(place)


def in_rounds(rounds, measure):
    """measure(which): times of a pair of which that one is watched, and what the watch found; None: neither is."""
    watched, again, seconds, found = [], [], [], ""
    for _ in range(rounds):
        measured = {}
        for what in random.sample(("first", "second", "neither", "nor"), 4):
            measured[what], said = measure({"first": 0, "second": 1}.get(what))
            found = said or found
        over = lambda one, other: math.sqrt(one[0] / one[1] * other[1] / other[0])
        watched.append(over(measured["first"], measured["second"]))
        again.append(over(measured["neither"], measured["nor"]))
        seconds.append(sum(measured["neither"]) / 2)
    return watched, again, seconds, found


def serve_in_rounds(pair, options):
    in_slices(pair, None, options)
    return in_rounds(options.rounds, lambda which: in_slices(pair, which, options))


def compile_both(command, watched, options, folder):
    """Processor times of two at once, the first of them on the processor `watched` and watched; None: neither."""
    begun = []
    for which in (0, 1):
        segment = folder / f"compiler{which}.hlp"
        process = subprocess.Popen(command, env=environment(options.probe, segment), stdout=subprocess.DEVNULL, preexec_fn=on(which))
        begun.append((process, segment))
    tool = None
    if watched is not None:
        time.sleep(0.15)  # the tool wants a segment
        tool = watch(begun[watched][0].pid, options)
    times = []
    for process, segment in begun:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        times.append(used.ru_utime + used.ru_stime)
        segment.unlink(missing_ok=True)
    return times, finish(tool)


def compiler(folder):
    source = pathlib.Path(__file__).parent / "programs/regex_file.cpp"
    preprocessed = folder / "regex_file.ii"
    subprocess.run(["g++", "-std=c++20", "-E", "-o", preprocessed, source], check=True)
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    return [cc1plus.stdout.strip(), "-quiet", "-fpreprocessed", preprocessed, "-std=c++20", "-O0", "-o", "/dev/null"]


def compile_in_pairs(options, folder):
    command = compiler(folder)
    return in_rounds(options.compiles, lambda which: compile_both(command, which, options, folder))


def tell(name, watched, again, seconds, found):
    spread = lambda ratios: f"{statistics.median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f})"
    print(f"{name:8} watched {spread(watched)}; not watched {spread(again)}; {statistics.median(seconds):.2f} s; {found}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench/leaks.py", description=__doc__)
    parser.add_argument("build", type=pathlib.Path, nargs="?", default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=3, help="of each server (%(default)s)")
    parser.add_argument("--compiles", type=int, default=2, help="rounds of the compiler (%(default)s)")
    parser.add_argument("--requests", type=int, default=36_000, help="in a slice (%(default)s)")
    parser.add_argument("--slices", type=int, default=6, help="measured, of each server each time (%(default)s)")
    parser.add_argument("--settling", type=int, default=4, help="slices before, in which the watch finds what to watch (%(default)s)")
    parser.add_argument("--only", default="redis,nginx,cc1plus")
    options = parser.parse_args()
    options.build = options.build.resolve()
    probe = options.build / "lib/heapledger/libheapledger.so"
    options.leaky = options.build / "tests/programs/leaky_accept.so"
    if not probe.exists() or not options.leaky.exists():
        print(f"bench/leaks.py: {probe} or {options.leaky} is not there: build with the release preset", file=sys.stderr)
        return 2
    os.sched_setaffinity(0, {PROCESSORS[0]})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the servers end too
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        folder = pathlib.Path(folder)
        options.probe = shutil.copy(probe, folder)  # a build meanwhile must not change it
        print(f"processor time of the program under `heapledger leaks PID` over that of the profile, "
              "median (lowest..highest)", flush=True)
        for name in options.only.split(","):
            if name == "cc1plus":
                tell(name, *compile_in_pairs(options, folder))
                continue
            kind = {"redis": Redis, "nginx": Nginx}[name]
            if any(shutil.which(program) is None for program in kind.needs):
                print(f"{name:8} is not installed")
                continue
            tell(name, *serve(kind, options, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
