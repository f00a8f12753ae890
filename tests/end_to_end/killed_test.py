"""A program that dies in any way leaves books that balance: between what it had started and what it had done."""

import os
import random
import signal
import subprocess

import ledger
import record

ROUNDS = 25


class Killed(ledger.Case):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        self.random = random.Random(self.seed)

    def assert_within(self, r, book, where, complete=False):
        """Each number lies in [done, started]; what is the loader's (blocks of threads) is not in the record."""
        sites = [s for s in r["stacks"] if any(f.startswith("site_") for f in ledger.functions(s))]
        others = [s for s in r["stacks"] if s not in sites]
        for key in record.KEYS:
            booked = ledger.total(sites, key)
            self.assertLessEqual(book.done[key], booked, f"{key} lost {where}")
            self.assertLessEqual(booked, book.started[key], f"{key} invented {where}")
            self.assertEqual(ledger.total(r["stacks"], key), r["totals"][key], f"sum of {key} over stacks {where}")
            if complete:
                self.assertEqual(book.done[key], book.started[key])
        self.assertLessEqual(ledger.total(others, "allocations"), book.threads + 1, f"{others} {where}")
        # The totals of a thread are written one store later: a kill may come in between, once in each thread.
        for key in ("allocations", "frees"):
            self.assertLessEqual(abs(ledger.total(r["threads"], key) - r["totals"][key]), book.threads, where)
        losses = {name: count for name, count in r["profiler"].get("losses", {}).items() if count}
        self.assertEqual(losses, {}, where)
        self.assertEqual(r.get("errors", []), [], where)

    def test_sigkill_at_a_random_moment(self):
        print(f"seed {self.seed}", flush=True)
        for i in range(ROUNDS):
            threads = self.random.choice((1, 1, 2, 4, 16))
            moment = self.random.randrange(1, 30000)
            where = f"(seed {self.seed}, round {i}, {threads} threads, after {moment} operations)"
            folder, file = self.path(f"{i}"), self.path(f"{i}.record")
            os.mkdir(folder)
            command = [ledger.program("recorded"), file, str(threads), "0", "never"]
            with subprocess.Popen([ledger.BIN, "run", "-q", "-o", os.path.join(folder, "%e.%p.hlp"), "--", *command],
                                  env=ledger.plain_environment(), stderr=subprocess.PIPE) as tool:
                victim = record.wait_for(file, moment, lambda: tool.poll() is None)
                os.kill(victim.pid, signal.SIGKILL)
                _, err = tool.communicate(timeout=ledger.TIMEOUT)
            self.assertEqual((tool.returncode, err), (128 + signal.SIGKILL, b""), where)
            r = ledger.Profiled(ledger.Outcome(tool.returncode, b"", err), folder).report
            self.assertEqual((r["process"]["ended"], r["process"].get("signal")), ("signaled", signal.SIGKILL), where)
            self.assertEqual(r["process"]["pid"], victim.pid, where)
            self.assert_within(r, record.Record(file), where)

    def ends(self, how, threads, status, **process):
        file = self.path(f"{how}.{threads}.record")
        done = self.profile([ledger.program("recorded"), file, str(threads), "20000", how])
        self.assertEqual(done.status, status, done)
        r = done.report
        for key, value in process.items():
            self.assertEqual(r["process"].get(key), value, f"{key} when the program ends by {how}")
        # One thread is between no two steps when it ends the program, so that its books are complete.
        self.assert_within(r, record.Record(file), f"({how})", complete=threads == 1)

    def test_segv(self):
        for threads in (1, 4):
            self.ends("segv", threads, 128 + signal.SIGSEGV, ended="signaled", signal=signal.SIGSEGV)

    def test_abort(self):
        for threads in (1, 4):
            self.ends("abort", threads, 128 + signal.SIGABRT, ended="signaled", signal=signal.SIGABRT)

    def test_kill_itself(self):
        self.ends("kill", 4, 128 + signal.SIGKILL, ended="signaled", signal=signal.SIGKILL)

    def test_exits(self):
        for how in ("_exit", "quick_exit", "exit", "return"):
            for threads in (1, 4):
                with self.subTest(how=how, threads=threads):
                    self.ends(how, threads, 7, ended="exited", exit_code=7)

    def test_children_that_exit_at_once(self):
        """Nobody need see them end to know how."""
        reports = self.profile([ledger.program("short_children")]).reports
        children = [r for r in reports if r["process"].get("forked")]
        self.assertEqual(len(children), 40)
        for r in children:
            self.assertEqual((r["process"]["ended"], r["process"].get("exit_code")), ("exited", r["totals"]["live_blocks"]))

    def test_a_child_that_frees_only_when_its_destructors_have_run(self):
        """Its books begin later than ours end, in a library's destructor. Nobody watches."""
        preloaded = f"{ledger.PROBE}:{ledger.program('libbooks_library.so')}"
        done = ledger.execute([ledger.program("short_children"), "exit"],
                              env={"LD_PRELOAD": preloaded, "HEAPLEDGER_OUTPUT": self.path("exits.%p")})
        self.assertEqual(done.status, 0, done)
        reports = [ledger.report(self.path(name)) for name in os.listdir(self.dir)]
        self.assertEqual(sorted(r["process"].get("forked", False) for r in reports), [False, True])
        for r in reports:
            self.assertEqual(r["process"]["ended"], "exited")

    def test_a_child_of_vfork_does_not_speak_for_its_parent(self):
        """Nobody watches, so that there is only the segment to ask."""
        file = self.path("killed")
        done = ledger.execute([ledger.program("short_children"), "vfork"],
                              env={"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_OUTPUT": file})
        self.assertEqual(done.status, -signal.SIGKILL)
        r = ledger.report(file)
        self.assertEqual((r["process"]["ended"], r["process"].get("exit_code")), ("lost", None))
        self.assertEqual(r["totals"]["live_bytes"], 7)

    def test_exit_in_a_thread(self):
        self.ends("thread", 8, 7, ended="exited", exit_code=7)


if __name__ == "__main__":
    ledger.main()
