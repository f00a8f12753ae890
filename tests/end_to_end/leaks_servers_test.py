"""Two real servers under an hour's worth of load and under the leak watch: nothing breaks, nothing is accused, and a leak
that is planted from outside is found. Both listen in a folder of the test's own, on Unix sockets.

redis-server gets a client that stores what nobody ever asks for again; nginx a preloaded library that forgets a block for
each connection.

An hour of a server that has something to do: redis as the session store of a site, 100 commands a second, that is 360,000;
nginx 10 requests a second (864,000 a day), that is 36,000, three on a connection. They come as fast as the machine lets them, but
take ten seconds at least, as the watch's times are scaled less than the load is. HEAPLEDGER_SERVER_HOURS=24 makes it a day's.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

import ledger

HOURS = float(os.environ.get("HEAPLEDGER_SERVER_HOURS", "1"))
REDIS_COMMANDS = int(HOURS * 3600 * 100)
NGINX_REQUESTS = int(HOURS * 3600 * 10)
SECONDS = 10 * HOURS  # at least
WATCH = ("--interval", "50", "--leaks", "--leaks-after", "1.5", "--leaks-suspicious", "0.5", "--leaks-access", "1.2",
         "--leaks-rest", "0.2")


def spread(total, step):
    """Counts 0, step, 2 * step ... below `total`, spread over SECONDS."""
    begin = time.monotonic()
    for done in range(0, total, step):
        ahead = begin + SECONDS * done / total - time.monotonic()
        if ahead > 0.001:
            time.sleep(ahead)  # only paces; a late one is not waited for
        yield done


class Redis:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.replies = self.socket.makefile("rb")

    def send(self, *commands):
        """Several commands at once; returns how many of the replies were errors."""
        request = b""
        for words in commands:
            request += b"*%d\r\n" % len(words)
            for word in words:
                word = word if isinstance(word, bytes) else str(word).encode()
                request += b"$%d\r\n%s\r\n" % (len(word), word)
        self.socket.sendall(request)
        return sum(self.read_reply() for _ in commands)

    def close(self):
        self.replies.close()
        self.socket.close()

    def read_reply(self):
        line = self.replies.readline()
        if not line:
            raise AssertionError("redis went away")
        if line[:1] == b"$" and line[1:2] != b"-":
            self.replies.read(int(line[1:]) + 2)
        return 1 if line[:1] == b"-" else 0


class Server:
    """A server under the watch. Leaving the block ends it by a signal, as an administrator would, and reads its report."""

    def __init__(self, case, command, ready):
        self.case = case
        self.folder = case.path(f"profiles-{len(os.listdir(case.dir))}")
        os.mkdir(self.folder)
        self.command = [ledger.BIN, "run", "-q", "-o", os.path.join(self.folder, "%e.hlp"), *WATCH, "--", *command]
        self.ready = ready

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=ledger.plain_environment(), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise AssertionError(f"{self.command} did not start: {self.process.communicate()[0]!r}")
            time.sleep(0.01)  # only spares the processor
        return self

    def __exit__(self, *failure):
        self.process.send_signal(signal.SIGTERM)
        self.out, _ = self.process.communicate(timeout=ledger.TIMEOUT)
        if failure[0] is None:
            name = next(n for n in sorted(os.listdir(self.folder)) if n.startswith(("redis", "nginx")))
            done = ledger.execute([ledger.BIN, "leaks", "--json", os.path.join(self.folder, name)])
            self.case.assertEqual(done.status, 0, done)
            self.report = json.loads(done.out)
            print(self.summary(), flush=True)

    def leaks(self):
        return [leak for leak in self.report["leaks"] if leak["verdict"] == "leak"]

    def summary(self):
        lines = [f"{os.path.basename(self.report['exe'])}: watched for {self.report['duration']} s, {len(self.leaks())} leaks"]
        for leak in self.report["leaks"]:
            lines.append(f"  {leak['verdict']}: {leak['bytes']} bytes, {leak['untouched']} of {leak['sampled']} untouched: "
                         f"{ledger.functions(leak)[:6]}")
        return "\n".join(lines)


def connects(path):
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(path)
        return True
    except OSError:
        return False


@unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
class RedisServer(ledger.Case):
    def serve(self, leak):
        path = self.path(f"redis-{leak}.sock")
        command = ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", self.dir,
                   "--daemonize", "no", "--slowlog-log-slower-than", "-1"]  # a slow machine's log is kept, and not looked at
        with Server(self, command, lambda: connects(path)) as server:
            client = Redis(path)
            errors = stored = 0
            for done in spread(REDIS_COMMANDS, 200):
                batch = []
                for request in range(done // 4, done // 4 + 50):  # sessions and a queue, all of it bounded
                    batch += [("SET", f"session:{request * 7919 % 300}", b"x" * (20 + request % 60)),
                              ("GET", f"session:{request * 31 % 300}"), ("LPUSH", "queue", request), ("RPOP", "queue")]
                if leak:
                    for _ in range(4):
                        stored += 1
                        batch.append(("SET", f"audit:{stored}", b"y" * 40))
                errors += client.send(*batch)
            client.close()
            self.assertEqual(errors, 0)
        self.assertEqual(server.process.returncode, 0, server.out)
        return server

    def test_healthy(self):
        self.assertEqual(self.serve(leak=False).leaks(), [])

    def test_what_nobody_asks_for_again_is_found(self):
        server = self.serve(leak=True)
        self.assertTrue(server.leaks(), server.report)
        for leak in server.leaks():
            self.assertTrue(any("setCommand" in f or "setGeneric" in f or "dictAdd" in f or "processInputBuffer" in f
                                for f in ledger.functions(leak)), leak)


@unittest.skipUnless(shutil.which("nginx"), "nginx is not installed")
class Nginx(ledger.Case):
    def serve(self, *preload):
        path = self.path(f"nginx-{len(preload)}.sock")
        self.write("index.html", "<p>hello</p>" * 100)
        config = self.write("nginx.conf", f"""
            daemon off; master_process off; pid {self.path("nginx.pid")}; error_log stderr crit;
            events {{ worker_connections 64; }}
            http {{
              access_log off; client_body_temp_path {self.dir}/body; proxy_temp_path {self.dir}/proxy;
              fastcgi_temp_path {self.dir}/fastcgi; uwsgi_temp_path {self.dir}/uwsgi; scgi_temp_path {self.dir}/scgi;
              server {{ listen unix:{path}; root {self.dir}; }}
            }}""")
        os.chmod(self.dir, 0o755)
        command = [*preload, "nginx", "-p", self.dir, "-c", config]
        with Server(self, command, lambda: connects(path)) as server:
            failures = []
            one = b"GET /index.html HTTP/1.1\r\nHost: here\r\n\r\n"
            last = one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
            body = b"<p>hello</p>" * 100

            def load():
                for _ in spread(NGINX_REQUESTS // 3, 3):
                    with socket.socket(socket.AF_UNIX) as client:
                        client.connect(path)
                        client.sendall(one + one + last)
                        reply = b""
                        while piece := client.recv(65536):
                            reply += piece
                    if reply.count(b"HTTP/1.1 200 OK") != 3 or reply.count(body) != 3:
                        failures.append(reply)

            threads = [threading.Thread(target=load) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
        self.assertEqual(server.process.returncode, 0, server.out)
        return server

    def test_healthy(self):
        self.assertEqual(self.serve().leaks(), [])

    def test_a_leak_in_a_preloaded_library_is_found(self):
        server = self.serve("env", "LD_PRELOAD=" + ledger.program("leaky_accept.so"))
        self.assertEqual(["leak_peer_name" in ledger.functions(leak) for leak in server.leaks()], [True], server.report)


if __name__ == "__main__":
    ledger.main()
