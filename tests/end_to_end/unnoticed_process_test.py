"""What a process is made of (descriptors, environment, signals, limits, streams) is what it is without heapledger, and
a place that is full, read-only or missing costs the profile at most, never the program."""

import contextlib
import os
import re
import shutil
import subprocess

import ledger
from terminal import Terminal

STEADY = [ledger.program("steady"), "stacks", "50000"]


def unshared(mounts, command):
    """The command with its own mounts: a shell line for each."""
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh", *command]


class Process(ledger.Case):
    def test_descriptors_environment_signals_limits(self):
        self.assert_same([ledger.program("descriptors")], processes=1)
        self.assert_same(["sh", "-c", f"trap '' INT HUP PIPE; exec 9>file; {ledger.program('descriptors')}; ls /proc/self/fd"],
                         processes=2)
        self.assert_same([ledger.program("descriptors")], env={"ODD": "a=b\nc", "EMPTY": ""}, processes=1)

    def test_heap_and_mappings_of_malloc(self):
        """The probe has left no block in the heap, nor freed one at hand, to learn how blocks look; nor one with a mapping of
        its own, for whose size glibc would make none any more."""
        self.assert_same([ledger.program("mappings_of_malloc")], processes=1)

    def test_no_memory_for_a_plugin(self):
        """Who throws is the C++ library that it brought with it, which may be in it."""
        for kind in ("shared", "static"):
            command = [ledger.program("opens_plugin"), ledger.program(f"cxx_plugin_{kind}.so")]
            with self.subTest(kind=kind):
                done = self.assert_same(command, processes=1)
                self.assertEqual(done.status, 0, done)
                refused = self.profile(command, env=ledger.plain_environment({"SAY_REFUSED": "1"}))
                self.assertEqual((refused.status, refused.out), (0, done.out + b"refused: bad_alloc, 3 handled\n"), refused)

    def test_a_child_that_says_what_it_is(self):
        """In the place of its command line, as servers do. It is seen when the tool looks."""
        for rounds in (1, 10, 100):
            done = self.profile([ledger.program("retitled"), str(rounds)], "--interval", "10")
            self.assertEqual(done.status, 0, done)
            commands = sorted(r["process"]["command"] for r in done.reports)
            if ["retitled: worker 7"] in commands:
                break
        self.assertEqual(commands, [[ledger.program("retitled"), str(rounds)], ["retitled: worker 7"]])

    def test_locked_memory(self):
        """The segment's address space is neither memory then, nor counted where locked memory is limited."""
        for mebibytes in (0, 1, 7):
            with self.subTest(mebibytes=mebibytes):
                self.assert_same([ledger.program("locks_memory"), str(mebibytes), "0" if os.getuid() else "65534"], processes=2)
        self.assert_same([ledger.program("locks_memory")], processes=2)

    def test_system_calls_that_are_refused(self):
        """By death, or with an answer of the program's; and all is counted that comes later."""
        for how in ("trap", "kill", "child"):
            command = [ledger.program("sandboxed"), how]
            if ledger.execute(command).status == 77:
                self.skipTest("this kernel, or its sandbox, installs no filters")
            for options in ((), ("--leaks",)):
                with self.subTest(how=how, options=options):
                    done = self.assert_same(command, *options, processes=2 if how == "child" else 1)
                    self.assertEqual(done.status, 0, done)
                    inside = [s for r in done.reports for s in r["stacks"] if "site_inside" in ledger.functions(s)]
                    self.assertEqual(ledger.total(inside, "allocations"), 5 * 2001)
                    self.assertEqual(ledger.total(inside, "live_bytes"), 0)
                    deeper = [s for r in done.reports for s in r["stacks"] if "site_deeper" in ledger.functions(s)]
                    self.assertEqual(len(deeper), 300)

    def test_end_where_nothing_else_is_allowed(self):
        for how in ("exit", "_exit"):
            command = [ledger.program("sandboxed"), how]
            if ledger.execute(command).status == 77:
                self.skipTest("this kernel, or its sandbox, installs no filters")
            for wrapper in ((), ("sh", "-c", '"$0" "$@"; exit $?')):
                with self.subTest(how=how, wrapper=wrapper):
                    self.assertEqual(self.assert_same([*wrapper, *command]).status, 3)

    def test_environment_that_the_kernel_keeps(self):
        """What /proc/PID/environ shows, to the last byte: with our privileges and without, and in children too."""
        show = ["cat", "/proc/self/environ"]
        for command in (show, ["sh", "-c", "cat /proc/$$/environ; exec 9>&1; cat /proc/self/environ"], ["env", "-i", "A=1", *show],
                        ["env", "-i", *show]):
            with self.subTest(command=command):
                self.assert_same(command, env={"ODD": "a=b\nc", "EMPTY": ""}, processes=1)
        if os.getuid() == 0:
            self.assert_same(["setpriv", "--reuid=65534", "--clear-groups", *show])

    def test_own_preload_in_the_environment_that_the_kernel_keeps(self):
        """A library that the program preloads itself stays; only its place among the entries may change."""
        library = ledger.program("plugin_a.so")
        for entries in ([f"LD_PRELOAD={library}"], ["A=1", f"LD_PRELOAD={library}", "B=" + "x" * 5000]):
            command = ["env", "-i", *entries, "/bin/cat", "/proc/self/environ"]
            done = self.profile(command)
            self.assertEqual(sorted(done.out.split(b"\0")), sorted(ledger.execute(command).out.split(b"\0")))
            self.assertEqual(done.of("cat")[0]["process"]["ended"], "exited")

    def test_environment_while_commands_run(self):
        """system and popen have their children followed; no thread may notice, whatever it does with the environment."""
        for mode, commands in (("reading", 80), ("changing", 40), ("waiting", 2), ("forking", 80), ("cleared", 5), ("cancelled", 2)):
            with self.subTest(mode=mode):
                done = self.assert_same([ledger.program("environment"), mode], processes=1 + commands)
                self.assertTrue(done.out.endswith(f"{mode}: 0 failed\n".encode()), done)

    def test_inherited_descriptor(self):
        """A descriptor that the tool was started with reaches the program."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        run = [ledger.BIN, "run", "-q", "-o", self.path("%e.%p.hlp"), "--", "sh", "-c", f"echo through >&{writer}"]
        subprocess.run(run, pass_fds=[writer], check=True, env=ledger.plain_environment())
        os.close(writer)
        self.assertEqual(os.read(reader, 100), b"through\n")

    def test_closed_streams_of_the_program(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                line = f"exec 9>seen; sh -c 'ls /proc/self/fd >&9; cat; echo out; echo err >&2' {closed}; echo $? >&9"
                self.assert_same(["sh", "-c", line], processes=2)

    def test_closed_streams_of_the_tool(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                folder = self.path("closed" + closed.replace(" ", ""))
                os.mkdir(folder)
                command = ["sh", "-c", f'exec "$@" {closed}', "sh"]
                program = ["sh", "-c", "ls /proc/self/fd > \"$0\"; echo out; echo err >&2; exit 5"]
                seen = os.path.join(folder, "seen")
                alone = ledger.execute([*command, *program, seen])
                with open(seen, "rb") as file:
                    descriptors = file.read()
                run = [ledger.BIN, "run", "-q", "-o", os.path.join(folder, "%e.%p.hlp"), "--"]
                done = ledger.execute([*command, *run, *program, seen])
                self.assertEqual((done.status, done.out, done.err), (alone.status, alone.out, alone.err))
                with open(seen, "rb") as file:
                    self.assertEqual(file.read(), descriptors)
                for r in ledger.Profiled(done, folder).reports:
                    self.assert_sums(r)

    def test_small_limits(self):
        perl = "perl -e 'my @a = map { \"x\" x 100 } 1 .. 10000; print scalar(@a), \"\\n\"'"
        for limit in ("-v 300000", "-v 60000", "-d 30000", "-f 8", "-f 0", "-n 5", "-n 4", "-s 256", "-l 0", "-c 0", "-i 0"):
            with self.subTest(ulimit=limit):
                self.assert_same(["bash", "-c", f"ulimit {limit}; {perl}; echo $?"])
                self.assert_same(["bash", "-c", f"ulimit {limit}; exec {STEADY[0]} 1000"])

    def test_descriptors_exhausted(self):
        script = """import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
files = []
try:
    while True: files.append(os.dup(0))
except OSError as error: print(len(files), error)
pid = os.fork()
if not pid: print([len(str(i)) for i in range(3)], flush=True); os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
for f in files: os.close(f)
print(os.dup(0))
"""
        self.assert_same(["/usr/bin/python3", "-c", script])

    def test_file_size_signal(self):
        """A limit on file sizes must not come back as SIGXFSZ for a file that is not the program's."""
        done = self.assert_same(["bash", "-c", "ulimit -f 1; trap 'echo xfsz' XFSZ; for i in 1 2 3; do /bin/true; done; echo $?"])
        self.assertEqual(done.out, b"0\n")

    def test_interrupt_from_the_terminal(self):
        """SIGINT goes to the whole group: the program decides, and the tool waits for it and writes the profile. The tool
        does not send it once more, as it does with a signal from a process."""
        script = "trap 'echo handled; exit 3' INT; echo ready; while :; do sleep 0.01; done"
        folder = self.path("interrupt")
        os.mkdir(folder)
        run = [ledger.BIN, "run", "-q", "-o", os.path.join(folder, "%e.%p.hlp"), "--", "bash", "-c", script]
        with contextlib.closing(Terminal(run, env=ledger.plain_environment())) as terminal:
            terminal.wait_for("ready")
            terminal.keys("\x03")
            self.assertEqual(terminal.wait_for_end(), 3)
            self.assertEqual(terminal.text.count("handled"), 1, terminal.text)
        # A child that the signal caught between fork and exec is a bash too.
        endings = [r["process"].get("exit_code") for r in ledger.Profiled(ledger.Outcome(3, b"", b""), folder).of("bash")]
        self.assertIn(3, endings)

    def assert_program_as_alone(self, mounts, command):
        """Under these mounts the program runs as it does alone; what we have to say is on lines of our own."""
        if os.getuid() != 0 or ledger.execute(unshared(mounts, ["true"])).status != 0:
            self.skipTest("needs root and its own mounts")
        alone = ledger.execute(unshared(mounts, command))
        run = [ledger.BIN, "run", "-q", "-o", self.path("%e.%p.hlp"), "--", *command]
        done = ledger.execute(unshared(mounts, run))
        self.assertEqual(done.out, alone.out, done)
        self.assertEqual(done.status, ledger.shell_status(alone.status), done)
        for line in done.err.decode().splitlines():
            self.assertTrue(line.startswith("heapledger"), f"a line that is not ours: {line!r}")
        return ledger.Profiled(done, self.dir)

    def test_full_shared_memory(self):
        for size in ("4k", "64k", "1m", "8m"):
            with self.subTest(size=size):
                mounts = [f"mount -t tmpfs -o size={size} none {folder}" for folder in ("/dev/shm", "/run", "/var/tmp")]
                done = self.assert_program_as_alone(mounts, [*STEADY])
                for r in done.reports:
                    self.assert_sums(r)
                for file in done.files:
                    os.remove(file)

    def test_without_proc(self):
        """The program needs none; the tool says what it needs."""
        hide = ["mount -t tmpfs none /proc"]
        if os.getuid() != 0 or ledger.execute(unshared(hide, ["true"])).status != 0:
            self.skipTest("needs root and its own mounts")
        refused = ledger.execute(unshared(hide, [ledger.BIN, "run", "--", "true"]))
        self.assertEqual((refused.status, refused.out), (125, b""), refused)
        self.assertIn(b"heapledger needs /proc", refused.err)
        self.assert_same(unshared(hide, ["sh", "-c", "seq 5; exit 4"]), processes=3)

    def test_read_only_shared_memory(self):
        done = self.assert_program_as_alone(["mount -t tmpfs -o ro none /dev/shm"], ["sh", "-c", "seq 5; exit 4"])
        for r in done.reports:
            self.assert_sums(r)

    def test_too_few_files_for_the_session(self):
        """Where a process can make none for its books, it is missing: the next place is taken."""
        mounts = ["mount -t tmpfs -o nr_inodes=6 none /dev/shm"]
        done = self.assert_program_as_alone(mounts, ["sh", "-c", "seq 1; seq 2; seq 3; exit 4"])
        self.assertEqual(len(done.files), 4, done)

    def test_path_too_long_for_the_session(self):
        """The probe would have no room for it: the next place is taken."""
        folder = self.path(*["x" * 200] * 8)
        os.makedirs(folder)
        done = self.assert_program_as_alone(["mount -t tmpfs -o ro none /dev/shm", f"export TMPDIR={folder}"], ["seq", "5"])
        self.assertEqual(len(done.files), 1, done)

    def test_processes_that_find_no_room(self):
        """They run as they do alone, and are told of at the end, however quiet we are to be."""
        mounts = ["mount -t tmpfs -o size=32m none /dev/shm"]
        if os.getuid() != 0 or ledger.execute(unshared(mounts, ["true"])).status != 0:
            self.skipTest("needs root and its own mounts")
        head, seq, rm = (shutil.which(name) for name in ("head", "seq", "rm"))
        script = (f"{seq} 1; {head} -c 64M /dev/zero 2>&- >/dev/shm/fill; {seq} 2; {seq} 3; "
                  f"{rm} /dev/shm/fill; {seq} 4; exit 5")
        run = [ledger.BIN, "run", "-q", "-o", self.path("%e.%p.hlp"), "--", "sh", "-c", script]
        done = ledger.execute(unshared(mounts, run))
        self.assertEqual((done.status, done.out), (5, b"1\n1\n2\n1\n2\n3\n1\n2\n3\n4\n"), done)
        profiled = ledger.Profiled(done, self.dir)
        self.assertEqual(len(profiled.of("seq")), 2, done)
        # rm makes its books while there is none.
        self.assertIn(b"not counted: 3 processes, for want of room in /dev/shm; give it more", done.err)

    def test_many_processes_in_little_room(self):
        """What ended makes room for what comes while the program runs: it waits for that, and nobody is missing."""
        mounts = ["mount -t tmpfs -o size=17m none /dev/shm"]
        if os.getuid() != 0 or ledger.execute(unshared(mounts, ["true"])).status != 0:
            self.skipTest("needs root and its own mounts")
        count = 200
        room = '[ "$(stat -f -c %a /dev/shm)" -gt 750 ]'  # blocks of 4 KiB
        script = (f"for i in $(eval echo {{1..{count}}}); do {shutil.which('seq')} 1; "
                  f"for try in {{1..2000}}; do {room} && break; sleep 0.01; done; {room} || exit 1; done")
        run = [ledger.BIN, "run", "-q", "--only", "seq", "-o", self.path("%e.%p.hlp"), "--", "bash", "-c", script]
        done = ledger.execute(unshared(mounts, run))
        self.assertEqual((done.status, done.out, done.err), (0, b"1\n" * count, b""), done)
        self.assertEqual(len(ledger.Profiled(done, self.dir).files), count, done)

    def test_many_programs_of_one_process(self):
        """Each has books of its own; also where they are written early, and there is no thread for that."""
        chain = self.write("chain", "[ $1 = 0 ] && exit 3\nexec sh $0 $(($1 - 1))\n")
        os.chmod(self.dir, 0o777)
        run = [ledger.BIN, "run", "-q", "-o", self.path("%e.%p.hlp"), "--", "sh", chain, "130"]
        little = unshared(["mount -t tmpfs -o size=17m none /dev/shm"],
                          ["setpriv", "--reuid=65533", "--clear-groups", "bash", "-c", 'ulimit -u 2; exec "$@"', "bash", *run])
        is_possible = os.getuid() == 0 and ledger.execute([*little[:-len(run)], "true"]).status == 0
        for command in (run, little) if is_possible else (run,):
            done = ledger.execute(command)
            self.assertEqual((done.status, done.out, done.err), (3, b"", b""), done)
            files = ledger.Profiled(done, self.dir).files
            self.assertEqual(len(files), 131)
            for file in files:
                os.remove(file)

    def test_file_system_that_becomes_full(self):
        """Whatever the probe wants at that moment: its tables grow by elements that no page is a multiple of."""
        folder = self.path("shm")
        os.mkdir(folder)
        mounts = [f"mount -t tmpfs -o size=16m none {folder}"]
        if os.getuid() != 0 or ledger.execute(unshared(mounts, ["true"])).status != 0:
            self.skipTest("needs root and its own mounts")
        for at in (20, 200, 260, 300, 330, 341, 400, 700, 1100, 1400):
            run = ["env", f"LD_PRELOAD={ledger.PROBE}", f"HEAPLEDGER_OUTPUT={folder}/%e.%p.hls",
                   ledger.program("full_file_system"), f"{folder}/fill", str(at), "3000", "100"]
            done = ledger.execute(unshared(mounts, run))
            self.assertEqual((done.status, done.out, done.err), (0, b"done\n", b""), at)

    def test_full_output_folder(self):
        """Full from the start, or with room for a small profile only."""
        folder = self.path("full")
        os.mkdir(folder)
        mounts = [f"mount -t tmpfs -o size=64k none {folder}"]
        if os.getuid() != 0 or ledger.execute(unshared(mounts, ["true"])).status != 0:
            self.skipTest("needs root and its own mounts")
        output = os.path.join(folder, "x.hlp")
        for more in (f"head -c 65536 /dev/zero > {folder}/fill", "true"):
            run = [ledger.BIN, "run", "-q", "--no-follow", "-o", output, "--", ledger.program("steady"), "stacks", "100000"]
            done = ledger.execute(unshared([*mounts, f"{{ {more} || true; }}"], run))
            kept = re.search(r"/\S*heapledger-\d+-\d+-[^/\s]+", done.err.decode())
            if kept:  # what was counted stays where it was; the test needs it no more
                shutil.rmtree(kept[0], ignore_errors=True)
            lines = done.err.decode().splitlines()
            self.assertEqual(len(lines), 1, f"one line that says that the profile could not be written: {done}")
            self.assertTrue(lines[0].startswith("heapledger") and folder in lines[0], lines[0])
            # What is full at once may be refused before the program starts.
            refused = [(125, b"")] if "head" in more else []
            self.assertIn((done.status, done.out), [(0, b"done\n"), *refused], done)

    def test_impossible_output_folder(self):
        command = ["sh", "-c", "seq 5; exit 4"]
        for output in (self.path("missing", "x.hlp"), "/proc/x.hlp", "/dev/null/x.hlp"):
            with self.subTest(output=output):
                done = ledger.execute([ledger.BIN, "run", "-q", "--no-follow", "-o", output, "--", *command])
                lines = done.err.decode().splitlines()
                self.assertEqual(len(lines), 1, done)
                # Refused before the program starts, or said after it ran: never anything in between.
                self.assertIn((done.status, done.out), ((125, b""), (4, b"1\n2\n3\n4\n5\n")), done)
                self.assertTrue(lines[0].startswith("heapledger") and os.path.dirname(output) in lines[0], lines[0])


if __name__ == "__main__":
    ledger.main()
