"""A benchmark that is stopped half-way has told and written what it knew by then."""

import json
import os
import signal
import subprocess
import sys

import ledger

BUILD = os.path.normpath(os.path.join(os.path.dirname(ledger.BIN), ".."))
RUN = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/run.py"))


class Bench(ledger.Case):
    def test_stopped_half_way(self):
        if not os.path.exists(os.path.join(BUILD, "bench/measure")):
            self.skipTest("a build without the benchmark")
        record, markdown = self.path("runs.json"), self.path("table.md")
        # The first one takes a fraction of a second, the second many: what is seen is not the end's work.
        command = [sys.executable, RUN, "--runs", "1", "--workloads", "list,sqlite", "--peers", "none", "--no-hot-path",
                   "--json", record, "--markdown", markdown, "--scratch", self.dir, BUILD]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                              env=ledger.plain_environment()) as bench:
            title = ""
            for line in bench.stdout:
                title = title or (line if line.startswith("list: ") else "")
                if title and line.startswith("bare "):
                    break
            os.killpg(bench.pid, signal.SIGINT)
            said = bench.stderr.read()
        self.assertTrue(title, said)
        with open(record, encoding="utf-8") as file:
            workloads = json.load(file)["workloads"]
        self.assertEqual([workload["workload"] for workload in workloads], ["list"])
        self.assertEqual(len(workloads[0]["profilers"]["bare"]["runs"]), 1)
        with open(markdown, encoding="utf-8") as file:
            self.assertIn(f"## {title}", file.read())


if __name__ == "__main__":
    ledger.main()
