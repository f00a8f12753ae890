"""Calls of functions in running programs, with a library that stands for the probe: whatever a program waits for or does, it
goes on as if nothing had been; and where no moment is safe, it is left alone."""

import os
import signal
import subprocess

import ledger

LIBRARY = ledger.program("injected.so")


class Injected(ledger.Case):
    def start(self, *command):
        process = subprocess.Popen(command, env=ledger.plain_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def waiting(self, mode, *arguments):
        process = self.start(ledger.program("waits"), mode, *arguments)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def inject(self, process, function="heapledger_attach", argument=None, patience_ms=60_000):
        argument = f"HEAPLEDGER_SESSION={self.path('told')}\n" if argument is None else argument
        return ledger.execute([ledger.program("injector"), str(process.pid), LIBRARY, function, argument, str(patience_ms)])

    def assert_injected(self, process, result=0, **how):
        done = self.inject(process, **how)
        self.assertEqual((done.status, done.err, done.out.split()[:1]), (0, b"", [str(result).encode()]), done)

    def assert_refused(self, words, process, **how):
        done = self.inject(process, **how)
        self.assertEqual((done.status, done.out), (1, b""), done)
        self.assertRegex(done.err, rb"^process \d+: [^\n]*" + words + rb"[^\n]*\n$")

    def assert_goes_on(self, process):
        out, _ = process.communicate(b"x\n", ledger.TIMEOUT)
        self.assertEqual((out, process.returncode), (b"as it should be\n", 0))

    def await_wait(self, process):
        """Until every thread waits in the kernel."""
        def states():
            for tid in os.listdir(f"/proc/{process.pid}/task"):
                with open(f"/proc/{process.pid}/task/{tid}/syscall", encoding="ascii") as file:
                    yield file.read()
        while any(state.startswith("running") for state in states()):
            os.sched_yield()


class Waits(Injected):
    def test_what_ends_by_itself(self):
        """Called into all the time: a wait that began anew each time would never end."""
        for mode in ("nanosleep", "clock_nanosleep", "poll", "ppoll", "select", "futex", "cond", "sem"):
            with self.subTest(mode=mode):
                # On a machine that is busy it may be over before anybody came.
                self.assertTrue(any(self.calls_while_it_waits(mode, ms) for ms in (500, 5000, 50_000)))

    def calls_while_it_waits(self, mode, ms):
        """How many came through."""
        process = self.waiting(mode, str(ms))
        self.await_wait(process)
        done_in_time = 0
        for _ in range(6 * ms):
            if process.poll() is not None:
                break
            done = self.inject(process, patience_ms=100)
            done_in_time += done.status == 0
            if done.status != 0:
                self.assertRegex(done.err, b"has ended|no moment")
        self.assertIsNotNone(process.poll(), "it ends in time")
        self.assert_goes_on(process)
        return done_in_time

    def test_what_ends_by_something(self):
        for mode in ("read", "fgets", "getline", "epoll", "epoll_pwait", "accept", "recv", "waitpid", "flock", "semop", "futex_untimed", "sigwait",
                     "all_blocked", "ignored_faults", "small_stack", "fiber", "registers_in_read"):
            with self.subTest(mode=mode):
                process = self.waiting(mode)
                self.await_wait(process)
                for _ in range(5):
                    self.assert_injected(process)
                self.assert_goes_on(process)

    def test_a_write_is_not_cut_short(self):
        process = self.waiting("write")
        self.await_wait(process)
        for _ in range(5):
            self.assert_injected(process)  # in the other thread
        self.assert_goes_on(process)

    def test_a_signal_ends_what_it_ends_without_us(self):
        for mode in ("handled_epoll", "sigsuspend"):
            with self.subTest(mode=mode):
                process = self.waiting(mode)
                self.await_wait(process)
                for _ in range(5):
                    self.assert_injected(process)
                process.send_signal(signal.SIGUSR1)
                self.assert_goes_on(process)


class Runs(Injected):
    def test_again_and_again(self):
        for mode in ("compute", "allocate", "new_threads", "signals", "registers"):
            with self.subTest(mode=mode):
                process = self.waiting(mode)
                for _ in range(40):
                    self.assert_injected(process)
                self.assert_goes_on(process)

    def test_what_it_is_told(self):
        process = self.waiting("read")
        text = f"HEAPLEDGER_SESSION={self.path('told')}\nHEAPLEDGER_ONLY={'x' * 100_000}\n"
        self.assert_injected(process, argument=text)
        with open(self.path("told"), encoding="ascii") as file:
            self.assertEqual(file.read(), text)
        self.assert_injected(process, function="injected_large", argument="y" * 120_000, result=120_000)
        self.assert_goes_on(process)

    def test_nothing_of_ours_stays(self):
        process = self.waiting("read")
        self.assert_injected(process)
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            before = len(file.read().splitlines())
        for _ in range(5):
            self.assert_injected(process)
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            self.assertLessEqual(len(file.read().splitlines()), before + 1)
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            self.assertIn("TracerPid:\t0\n", file.read())
        self.assert_goes_on(process)

    def test_other_programs(self):
        programs = {"python": (["python3", "-c", "import sys, threading\nthreading.Thread(target=sys.stdin.read).start()\n"
                                "t = threading.Event()\nprint('on', flush=True)\n"], b"on\n", b"")}
        node = os.environ.get("HEAPLEDGER_NODE")
        if node:
            programs["node"] = ([node, "-e", "console.log('on'); process.stdin.on('data', () => {}).on('end', () => console.log('off'))"],
                                b"on\n", b"off\n")
        programs["shell"] = (["sh", "-c", "echo on; read x; echo off"], b"on\n", b"off\n")
        for name, (command, first, last) in programs.items():
            with self.subTest(program=name):
                process = self.start(*command)
                self.assertEqual(process.stdout.readline(), first)
                for _ in range(5):
                    self.assert_injected(process)
                out, _ = process.communicate(b"x\n", ledger.TIMEOUT)
                self.assertEqual((out, process.returncode), (last, 0))


class Refusals(Injected):
    def test_no_safe_moment(self):
        for mode, words in (("in_handler", b"in a signal's handler"), ("at_exit", b"libc has called the program back")):
            with self.subTest(mode=mode):
                process = self.waiting(mode)
                self.assert_refused(words, process, patience_ms=50)
                process.communicate(b"x\n", ledger.TIMEOUT)
                self.assertEqual(process.returncode, 0)

    def test_loader_refuses(self):
        process = self.waiting("read")
        self.assert_refused(rb"undefined symbol: no_such_function; it goes on", process, function="no_such_function")
        self.assert_injected(process)
        self.assert_goes_on(process)

    def test_a_call_that_faults(self):
        process = self.waiting("read")
        self.assert_refused(rb"ended in Segmentation fault; it goes on", process, function="injected_fault")
        self.assert_injected(process)
        self.assert_goes_on(process)

    def test_stopped(self):
        process = self.waiting("read")
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        self.assert_refused(rb"is stopped; let it go on first: kill -CONT \d+", process)
        process.send_signal(signal.SIGCONT)
        self.assert_injected(process)
        self.assert_goes_on(process)

    def test_ended(self):
        process = self.waiting("read")
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.assert_refused(b"has ended already", process)

    def test_traced(self):
        process = self.waiting("read")
        tracer = self.start("python3", "-c", f"import ctypes, sys\nprint(ctypes.CDLL(None).ptrace(0x4206, {process.pid}, 0, 0), flush=True)\n"
                            "sys.stdin.read()")
        self.assertEqual(tracer.stdout.readline(), b"0\n")
        self.assert_refused(rb"is being traced by process \d+ \(python3[^)]*\); only one can be at it", process)
        tracer.communicate(b"")
        self.assert_injected(process)
        self.assert_goes_on(process)

    def test_programs_that_nothing_can_be_loaded_into(self):
        for name, words in (("waits_static", b"is statically linked"), ("waits_asan", b"AddressSanitizer, which owns malloc")):
            with self.subTest(program=name):
                process = self.start(ledger.program(name), "read")
                self.assertEqual(process.stdout.readline(), b"ready\n")
                self.assert_refused(words, process)
                self.assert_goes_on(process)


if __name__ == "__main__":
    ledger.main()
