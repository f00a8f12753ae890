#!/usr/bin/env python3
"""What `heapledger leaks PID` costs the program that it watches: its processor time, over that of the profile alone, on
redis, nginx and a compiler; healthy servers, and such that leak, so that there is something to watch. A server is watched and
left alone in turn, the same process all the time; each time is compared with those before and after it. Prints, and asserts
nothing."""

import argparse
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WATCH = ("--report", "0", "--suspicious", "0.5", "--access", "1", "--rest", "0.25")
SETTLE_S = 0.3
PARTS = 12  # of a load: what leaks comes along with the rest


def environment(probe, segment, preload=""):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEAPLEDGER", "LD_"))}
    return {**kept, "LD_PRELOAD": f"{probe} {preload}".strip(), "HEAPLEDGER_OUTPUT": str(segment)}


def used_s(pid):
    """Processor time of all its threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def answer(path, request, end):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(request)
        got = 0
        while got < end:
            got += len(client.recv(1 << 16)) or end


def ready(path, process):
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                return
        except OSError:
            if process.poll() is not None:
                raise SystemExit(f"bench/leaks.py: {process.args} did not start")
            time.sleep(0.01)


class Redis:
    needs = ("redis-server", "redis-benchmark")

    def __init__(self, folder, leak):
        self.path, self.leak = f"{folder}/redis.sock", leak
        self.command = ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly", "no", "--dir",
                        str(folder), "--daemonize", "no"]
        self.preload = ""

    def load(self, requests):
        common = ["redis-benchmark", "-q", "-s", self.path, "-P", "8", "-c", "20"]
        for _ in range(PARTS):
            self.run(*common, "-n", str(requests // PARTS), "-r", "3000", "-t", "set,get,lpush,lpop")
            if self.leak:
                self.run(*common, "-n", str(requests // PARTS // 4), "-r", "1000000000", "SET", "audit:__rand_int__", "y" * 40)

    def run(self, *command):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


class Nginx:
    needs = ("nginx",)

    def __init__(self, folder, leak):
        self.path = f"{folder}/nginx.sock"
        body = "<p>hello</p>" * 100
        (folder / "index.html").write_text(body)
        (folder / "nginx.conf").write_text(f"""
            daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr crit;
            events {{ worker_connections 64; }}
            http {{
              access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
              fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
              keepalive_requests 1000000;
              server {{ listen unix:{self.path}; root {folder}; }}
            }}""")
        os.chmod(folder, 0o755)
        self.command = ["nginx", "-p", str(folder), "-c", f"{folder}/nginx.conf"]
        self.preload = leak

    def load(self, requests):
        """Connections of 20 requests each."""
        one = b"GET /index.html HTTP/1.1\r\nHost: here\r\n\r\n"
        last = b"GET /index.html HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
        for _ in range(requests // 20):
            answer(self.path, one * 19 + last, 1 << 40)


def serve(kind, leak, options, folder):
    """Ratios of watched to not watched, of not watched to not watched, and what the watch found at last."""
    server = kind(folder, leak)
    segment = folder / "profile.hlp"
    process = subprocess.Popen(server.command, env=environment(options.probe, segment, server.preload),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ready(server.path, process)
    server.load(options.requests // 2)
    times, found = [], ""
    for turn in range(2 * options.rounds + 1):
        tool = watch(process.pid, options) if turn % 2 == 1 else None
        time.sleep(SETTLE_S)
        server.load(options.requests // 2)  # until there are suspects
        begin = used_s(process.pid)
        server.load(options.requests)
        times.append(used_s(process.pid) - begin)
        found = finish(tool) or found
    process.terminate()
    process.wait()
    segment.unlink(missing_ok=True)
    plain, watched = times[::2], times[1::2]
    return ([w / ((a + b) / 2) for w, a, b in zip(watched, plain, plain[1:])],
            [b / ((a + c) / 2) for a, b, c in zip(plain, plain[1:], plain[2:])], min(watched) / min(plain), min(plain), found)


def watch(pid, options):
    return subprocess.Popen([options.build / "bin/heapledger", "leaks", *WATCH, str(pid)], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)


def finish(tool):
    if tool is None:
        return ""
    tool.terminate()
    out, _ = tool.communicate()
    return "; ".join(line.strip() for line in out.splitlines() if "blocks watched" in line or "block watched" in line or "LEAKS" in line
                     or "No leak" in line)


def compile_file(command, watched, options, folder):
    segment = folder / "compiler.hlp"
    process = subprocess.Popen(command, env=environment(options.probe, segment), stdout=subprocess.DEVNULL)
    tool = None
    if watched:
        time.sleep(0.15)  # the tool wants a segment
        tool = watch(process.pid, options)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    found = finish(tool)
    segment.unlink(missing_ok=True)
    return used.ru_utime + used.ru_stime, found


def compiler(folder):
    source = pathlib.Path(__file__).parent / "programs/regex_file.cpp"
    preprocessed = folder / "regex_file.ii"
    subprocess.run(["g++", "-std=c++20", "-E", "-o", preprocessed, source], check=True)
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    return [cc1plus.stdout.strip(), "-quiet", "-fpreprocessed", preprocessed, "-std=c++20", "-O0", "-o", "/dev/null"]


def compile_in_turn(options, folder):
    command = compiler(folder)
    times, found = {"profile": [], "again": [], "watch": []}, ""
    for _ in range(options.rounds):
        for kind in random.sample(tuple(times), len(times)):
            seconds, said = compile_file(command, kind == "watch", options, folder)
            times[kind].append(seconds)
            found = said or found
    over = lambda kind: [a / b for a, b in zip(times[kind], times["profile"])]
    return over("watch"), over("again"), min(times["watch"]) / min(times["profile"]), min(times["profile"]), found


def tell(name, watched, again, fastest, seconds, found):
    spread = lambda ratios: f"{statistics.median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f})"
    print(f"{name:11} watched {spread(watched)}, fastest {fastest:.3f}; not watched {spread(again)}; {seconds:.2f} s; {found}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench/leaks.py", description=__doc__)
    parser.add_argument("build", type=pathlib.Path, nargs="?", default=pathlib.Path("build/release"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=300_000)
    parser.add_argument("--only", default="redis,redis-leak,nginx,nginx-leak,cc1plus")
    options = parser.parse_args()
    options.build = options.build.resolve()
    probe = options.build / "lib/heapledger/libheapledger.so"
    leaky = options.build / "tests/programs/leaky_accept.so"
    if not probe.exists() or not leaky.exists():
        print(f"bench/leaks.py: {probe} or {leaky} is not there: build with the release preset", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        folder = pathlib.Path(folder)
        options.probe = shutil.copy(probe, folder)  # a build meanwhile must not change it
        print(f"processor time of the program under `heapledger leaks PID` over that of the profile, median of {options.rounds} "
              "(lowest..highest), and the fastest over the fastest", flush=True)
        for name in options.only.split(","):
            if name == "cc1plus":
                tell(name, *compile_in_turn(options, folder))
                continue
            kind = Redis if name.startswith("redis") else Nginx
            if any(shutil.which(program) is None for program in kind.needs):
                print(f"{name:11} is not installed")
                continue
            leak = (str(leaky) if kind is Nginx else "yes") if name.endswith("-leak") else ""
            tell(name, *serve(kind, leak, options, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
