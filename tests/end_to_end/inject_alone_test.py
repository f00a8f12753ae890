"""Who calls functions in a running program is killed while it does: at each moment, one after the other. The thread that was
held then finds its way back alone, and the program goes on as if nothing had been."""

import contextlib
import glob
import os
import signal
import time

import inject_test
import ledger
from inject_test import Injected

RESTART_SYSCALL = "219"  # what the kernel makes of a wait that it goes on with
FIRST_LOOK = 9  # moments until a wait that signal(7) says is ended by a stop is made to begin again
KEEPS = """import sys
kept = []
print('on', flush=True)
for line in sys.stdin:
    kept += [bytearray(100_000) for _ in range(5)]
    print('done', flush=True)
"""


class Alone(Injected):
    def dies_at(self, process, moment, library=inject_test.LIBRARY):
        """Whether it came to that moment; there are some 200, and more where the library is to be loaded."""
        told = f"HEAPLEDGER_SESSION={self.path('told')}\n"
        done = ledger.execute([ledger.program("injector"), str(process.pid), library, "heapledger_attach", told, "60000", str(moment)])
        if done.status == 1 and process.poll() is not None:
            return False
        if done.status == 0:
            self.assertEqual(done.out.split()[0], b"0")
            self.assertGreater(moment, 100)
            return False
        self.assertEqual((done.status, done.err), (-signal.SIGKILL, b""), moment)
        self.threads_seized = int(done.out)
        return True

    def call_of(self, process):
        with open(f"/proc/{process.pid}/syscall", encoding="ascii") as file:
            return file.read().split()[0]

    def await_call(self, process, calls):
        """Until it waits again where it did, and nothing of ours is under way in it; or has ended."""
        deadline = time.monotonic() + ledger.TIMEOUT
        while process.poll() is None:
            try:
                if self.call_of(process) in calls:
                    return
            except (OSError, IndexError):
                pass  # it is ending
            self.assertLess(time.monotonic(), deadline, "it waits for something else")
            os.sched_yield()

    def assert_alive(self, process, moment):
        if process.poll() is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # a child of its may have its output
            self.fail(f"ended with {process.returncode} at moment {moment}: {process.stdout.read()}")

    def at_each_moment(self, process, waits, first=0, step=1):
        calls = {self.call_of(process), RESTART_SYSCALL} if waits else None
        moment = first
        while self.dies_at(process, moment):
            if waits:
                self.await_call(process, calls)
            self.assert_alive(process, moment)
            moment += step


class Waits(Alone):
    def test_registers(self):
        process = self.waiting("registers_in_read")
        self.await_wait(process)
        self.at_each_moment(process, waits=True)
        self.assert_goes_on(process)

    def test_while_it_is_loaded(self):
        moment = 0
        while True:
            process = self.waiting("registers_in_read")
            self.await_wait(process)
            has_died = self.dies_at(process, moment)
            self.assert_goes_on(process)
            if not has_died:
                break
            moment += 5

    def test_what_goes_on(self):
        for mode in ("read", "fgets", "waitpid", "flock", "futex_untimed", "all_blocked", "ignored_faults", "fiber"):
            with self.subTest(mode=mode):
                process = self.waiting(mode)
                self.await_wait(process)
                self.at_each_moment(process, waits=True, step=13)
                self.assert_goes_on(process)

    def test_what_a_stop_ends(self):
        for mode in ("epoll", "epoll_pwait", "accept", "recv", "semop", "sigwait"):
            with self.subTest(mode=mode):
                process = self.waiting(mode)
                self.await_wait(process)
                # In accept, recv and the like another thread reads: it is the one that is found first, or not.
                self.at_each_moment(process, waits=True, first=FIRST_LOOK, step=13)
                self.assert_goes_on(process)

    def test_what_ends_by_itself(self):
        """It may take as long once more, and is not over before its time."""
        modes = ("nanosleep", "clock_nanosleep", "poll", "ppoll", "select", "futex", "cond", "sem")
        processes = [(mode, moment, self.waiting(mode, "3000")) for mode in modes for moment in (20, 100)]
        died = [self.dies_in_each_state(process, mode, moment) for mode, moment, process in processes]
        for mode, moment, process in processes:
            with self.subTest(mode=mode, moment=moment):
                self.assert_goes_on(process)
        self.assertIn(True, died)  # on a machine that is busy some are over before

    def dies_in_each_state(self, process, mode, moment):
        """In its first, in that which the kernel leaves, and in that in which it comes back alone. Whether it was still there."""
        self.await_wait(process)
        calls = {self.call_of(process), RESTART_SYSCALL}
        self.dies_at(process, moment)
        self.await_call(process, calls)
        if mode != "futex":  # of which nobody can tell then that it was one: syscall() has its number in no register
            self.inject(process, patience_ms=100)
        for _ in range(2):
            self.dies_at(process, moment)
            self.await_call(process, calls)
        return process.poll() is None

    def test_a_signal_ends_what_it_ends_without_us(self):
        for mode in ("handled_epoll", "sigsuspend"):
            with self.subTest(mode=mode):
                process = self.waiting(mode)
                self.await_wait(process)
                self.at_each_moment(process, waits=True, first=FIRST_LOOK, step=17)
                process.send_signal(signal.SIGUSR1)
                self.assert_goes_on(process)


class Runs(Alone):
    def test_registers(self):
        process = self.waiting("registers")
        self.at_each_moment(process, waits=False)
        self.assert_goes_on(process)

    def test_whatever_it_does(self):
        for mode, step in (("compute", 13), ("signals", 1), ("allocate", 13), ("new_threads", 13), ("small_stack", 13)):
            with self.subTest(mode=mode):
                process = self.waiting(mode)
                self.at_each_moment(process, waits=False, step=step)
                self.assert_goes_on(process)

    def test_one_comes_while_another_is_on_its_way(self):
        for _ in range(5):
            process = self.waiting("new_threads")
            for i in range(60):
                self.dies_at(process, FIRST_LOOK + i * 7 % 30)
                self.assert_alive(process, i)
            self.assert_goes_on(process)

    def test_at_any_time(self):
        process = self.waiting("registers")
        for us in range(0, 20_000, 500):
            tool = self.start(ledger.program("injector"), str(process.pid), inject_test.LIBRARY, "heapledger_attach",
                              f"HEAPLEDGER_SESSION={self.path('told')}\n", "60000")
            time.sleep(us / 1e6)
            tool.kill()
            tool.communicate()
            self.assert_alive(process, us)
        self.assert_goes_on(process)


class Probe(Alone):
    def test_books(self):
        """Either it did not begin to count, or it counts all that comes later."""
        counted = []
        seen = []  # for whom it fails
        moment = 0
        while True:
            os.mkdir(self.path("told"))
            process = self.start("python3", "-c", KEEPS)
            self.assertEqual(process.stdout.readline(), b"on\n")
            self.await_reading(process)
            has_died = self.dies_at(process, moment, ledger.PROBE)
            self.await_reading(process)
            out, _ = process.communicate(b"x\nx\n", ledger.TIMEOUT)
            self.assertEqual((out, process.returncode), (b"done\n" * 2, 0), moment)
            reports = [ledger.report(file) for file in glob.glob(self.path("told/*.hls"))]
            counted.append(sum(s["allocations"] for report in reports for s in report["stacks"]
                               if s["allocated_bytes"] // s["allocations"] >= 100_000))
            seen.append((moment, self.threads_seized, [(r["totals"], r["profiler"]["losses"], len(r["stacks"])) for r in reports]))
            for file in glob.glob(self.path("told/*")):
                os.remove(file)
            os.rmdir(self.path("told"))
            if not has_died:
                break
            moment += 20
        self.assertEqual(set(counted), {0, 10}, (counted, seen))
        self.assertEqual(counted, sorted(counted), seen)

    def await_reading(self, process):
        """What it is told: the loader reads too, but not from there."""
        while True:
            with open(f"/proc/{process.pid}/syscall", encoding="ascii") as file:
                if file.read().startswith("0 0x0 "):
                    return
            os.sched_yield()


del Injected

if __name__ == "__main__":
    ledger.main()
