"""A report without names says what to do for them, and doing it helps."""

import http.server
import os
import shutil
import subprocess
import threading

import ledger

MISSING = "functions without a name"


class DebugServer(http.server.ThreadingHTTPServer):
    """Has one debug file, by its build-id, as a server of debuginfod does."""

    def __init__(self, build_id, file):
        super().__init__(("127.0.0.1", 0), Answer)
        self.wanted, self.asked = f"/buildid/{build_id}/debuginfo", []
        with open(file, "rb") as opened:
            self.content = opened.read()

    def environment(self, cache):
        return {"DEBUGINFOD_URLS": f"http://127.0.0.1:{self.server_port}", "DEBUGINFOD_CACHE_PATH": cache, "no_proxy": "127.0.0.1"}


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        found = self.path == self.server.wanted
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(self.server.content) if found else 0))
        self.end_headers()
        if found:
            self.wfile.write(self.server.content)

    def log_message(self, *_):
        pass


class Symbols(ledger.Case):
    def text(self, profile, *options, env=None):
        done = ledger.execute([ledger.BIN, "report", *options, profile], env=env)
        self.assertEqual((done.status, done.err), (0, b""), done)
        return done.out.decode()

    def setUp(self):
        super().setUp()
        if not shutil.which("objcopy"):
            self.skipTest("needs objcopy")
        self.stripped, self.debug = self.path("stripped"), self.path("debug", "stripped.debug")
        os.mkdir(self.path("debug"))
        ledger.execute(["objcopy", "--only-keep-debug", ledger.program("nothing"), self.debug])
        ledger.execute(["objcopy", "--strip-all", f"--add-gnu-debuglink={self.debug}", ledger.program("nothing"), self.stripped])

    def test_what_to_do(self):
        """In the profile of one process, and in those of many, whose symbols are looked up together."""
        for command, count in (([self.stripped, "1000"], 1), (["sh", "-c", f"{self.stripped} 1000; {self.stripped} 2000; true"], 2)):
            profiles = [file for file in self.profile(command).files if "/stripped." in file]
            self.assertEqual(len(profiles), count)
            for file in profiles:
                text = " ".join(self.text(file).split())
                self.assertIn(f"100 % of the bytes at the peak belong to {MISSING}, most of them in stripped: ", text)
                self.assertIn("without a function name; no symbols: build it with -g", text)

    def test_doing_it(self):
        profile = self.profile([self.stripped, "1000"]).files[0]
        text = self.text(profile, "--debug-path", os.path.dirname(self.debug))
        self.assertNotIn(MISSING, text)
        self.assertIn(" main ", text)

    def test_fetching_it(self):
        """From a server, when that is wanted and not otherwise, and once."""
        notes = subprocess.run(["readelf", "-n", self.debug], check=True, capture_output=True, text=True).stdout
        build_id = notes.split("Build ID: ")[1].split()[0]
        # Where no debug file is found: another place, and no link.
        alone = self.path("alone")
        ledger.execute(["objcopy", "--strip-all", "--remove-section=.gnu_debuglink", self.stripped, alone])
        profile = self.profile([alone, "1000"]).files[0]
        with DebugServer(build_id, self.debug) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            env = server.environment(self.path("cache"))
            self.assertIn(MISSING, self.text(profile, env=env))
            self.assertEqual(server.asked, [])
            self.assertNotIn(MISSING, self.text(profile, "--debuginfod", env=env))
            self.assertEqual(server.asked.count(server.wanted), 1)
            self.assertNotIn(MISSING, self.text(profile, "--debuginfod", env=env))
            self.assertEqual(server.asked.count(server.wanted), 1)
            server.shutdown()
            thread.join()
        done = ledger.execute([ledger.BIN, "report", "--debuginfod", profile], env=server.environment(self.path("empty")))
        self.assertEqual(done.status, 0)
        self.assertIn(MISSING, done.out.decode())
        self.assertIn(b"--debuginfod: the servers cannot be asked: Connection refused", done.err)
        done = ledger.execute([ledger.BIN, "report", "--debuginfod", profile], env={"DEBUGINFOD_URLS": ""})
        self.assertEqual((done.status, done.out), (125, b""))
        self.assertIn(b"--debuginfod: no server is named; set DEBUGINFOD_URLS", done.err)

    def test_nothing_to_say(self):
        self.assertNotIn(MISSING, self.text(self.profile([ledger.program("nothing"), "1000"]).files[0]))

    def test_of_a_program_that_the_loader_is_told_to_start(self):
        """As bundles do that bring their own C library: the file that was executed is the loader's."""
        program = os.path.realpath(ledger.program("nothing"))
        loader = "/lib64/ld-linux-x86-64.so.2"
        for start in ([loader, program], ["env", loader, "--argv0", "other", os.path.relpath(program)]):
            with self.subTest(start=start):
                done = self.profile([*start, "1000"], "--only", "nothing")
                self.assertEqual(done.report["process"]["exe"], program)
                text = self.text(done.files[0])
                self.assertNotIn(MISSING, text)
                self.assertIn(" main ", text)

    def test_of_a_program_in_a_deep_folder(self):
        """Whose path is as long as paths may be: it has its name and those of its functions."""
        deep = self.path(*["x" * 200] * 19)
        deep += "/" + "y" * (4095 - len(f"{deep}//nothing"))
        os.makedirs(deep)
        program = shutil.copy(ledger.program("nothing"), deep)
        self.assertEqual(len(program), 4095)
        done = self.profile([program, "1000"], "--only", "nothing")
        self.assertEqual(done.report["process"]["exe"], program)
        self.assertNotIn(MISSING, self.text(done.files[0]))


if __name__ == "__main__":
    ledger.main()
