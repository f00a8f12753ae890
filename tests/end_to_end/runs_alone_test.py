"""Programs that the probe cannot be in run as they do alone, whoever starts them and however: the program alone is the
oracle, its standard error included. The probe stays out of them; what started them is profiled."""

import collections
import os
import shutil
import subprocess

import ledger

MUSL = ledger.program("nothing_musl")
BITS_32 = ledger.program("environment_32")
STATUS = "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
EXECVP = "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
SPAWN = f"import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); {STATUS}"
OPENED = "import os, sys; os.execve(os.open(sys.argv[1], os.O_{flags}), sys.argv[1:], dict(A='b'))"
WAYS = {"execve": ["/usr/bin/env"], "execvp": ["/usr/bin/python3", "-c", EXECVP],
        "posix_spawn": ["/usr/bin/python3", "-c", SPAWN],
        "fexecve": ["/usr/bin/python3", "-c", OPENED.format(flags="RDONLY")],
        "fexecve of a path": ["/usr/bin/python3", "-c", OPENED.format(flags="PATH")]}


class RunsAlone(ledger.Case):
    def uncounted(self, done):
        times = collections.Counter()
        for program in (u for r in done.reports for u in r.get("uncounted", [])):
            times[program["path"], program["reason"]] += program["times"]
        return times

    def left_alone(self, way, program, *arguments, status, reason="other-libc"):
        with self.subTest(way=way, program=program):
            done = self.assert_same([*WAYS[way], program, *arguments], processes=1)
            self.assertEqual(done.status, status, done)
            self.assertEqual(self.uncounted(done), {(program, reason): 1})
            exes = {os.path.basename(r["process"]["exe"]) for r in done.reports}
            self.assertEqual({name for name in exes if name != "env" and not name.startswith("python")}, set())

    def is_executable(self, program):
        try:
            return subprocess.run([program], stdout=subprocess.DEVNULL).returncode >= 0
        except OSError:
            return False

    def test_on_musl(self):
        for way in WAYS:
            self.left_alone(way, MUSL, "3", "7", status=7)

    def test_loader_of_another_library(self):
        """Which is told to start a program, and would preload us: musl's is a shared object without an interpreter."""
        if not shutil.which("gcc"):
            self.skipTest("needs gcc")
        loader = self.path("loader.so")
        source = self.write("loader.c", 'void begin(void) { __asm__("mov $60, %eax; mov $7, %edi; syscall"); }')
        subprocess.run(["gcc", "-shared", "-nostdlib", "-fPIC", "-Wl,-e,begin", "-o", loader, source], check=True)
        for way in WAYS:
            self.left_alone(way, loader, "program", status=7)

    def test_32_bit(self):
        if not self.is_executable(BITS_32):
            self.skipTest("this kernel does not execute 32-bit programs")
        for way in WAYS:
            self.left_alone(way, BITS_32, status=7, reason="other-machine")

    def test_interpreter_of_a_script(self):
        program = self.write("on_musl", f"#! \t{MUSL}\t5\n")
        for level in range(3):
            os.chmod(program, 0o755)
            for way in WAYS:
                if way != "fexecve of a path" and way != "fexecve":  # by then Python has closed the file
                    self.left_alone(way, program, status=0)
            program = self.write(f"script-{level}", f"#!{program}\nwhatever\n")

    def test_static_programs_are_named(self):
        """And what fails to start is not, nor is a program that the loader is told to start."""
        static = ledger.program("nothing_static")
        for way in WAYS:
            self.left_alone(way, static, status=0, reason="static")
        script = self.write("several", f"{static}; {static} & wait; {static} x | cat; exec {static}")
        done = self.assert_same(["/bin/sh", script])
        self.assertEqual(self.uncounted(done), {(static, "static"): 4}, done)
        spawn = f"import subprocess; [subprocess.run([{static!r}]) for i in range(3)]"
        self.assertEqual(self.uncounted(self.assert_same(["/usr/bin/python3", "-c", spawn])), {(static, "static"): 3})
        copy = self.path("copy")
        shutil.copy(static, copy)
        os.chmod(copy, 0o644)
        failing = f"import os\ntry: os.execv({copy!r}, ['x'])\nexcept OSError as e: print(e.errno)"
        self.assertEqual(self.uncounted(self.assert_same(["/usr/bin/python3", "-c", failing])), {})
        self.assertEqual(self.uncounted(self.assert_same(["/usr/bin/env", "/lib64/ld-linux-x86-64.so.2", "/bin/true"])), {})

    def test_libraries_that_the_loader_lists(self):
        """For ldd, or for who asks it as ldd does: those of the program. Nothing is executed."""
        script = "{ ldd /bin/ls; env LD_TRACE_LOADED_OBJECTS=1 /bin/ls; } | sed 's/ (0x.*//'"
        done = self.assert_same(["bash", "-c", script], processes=2)
        self.assertIn(b"libc.so.6", done.out)

    def test_run_and_report_name_them(self):
        static = ledger.program("nothing_static")
        said = f"not counted: {static} (2 times; statically linked)"
        profile = self.path("p.hlp")
        done = ledger.execute([ledger.BIN, "run", "-o", profile, "--", "/bin/sh", "-c", f"{static}; {static}; :"])
        self.assertIn("heapledger: " + said, done.err.decode())
        text = " ".join(ledger.execute([ledger.BIN, "report", profile]).out.decode().split())
        self.assertIn("Programs that it started are " + said, text)
        done = ledger.execute([ledger.BIN, "run", "--only", "sh", "-o", self.path("q.hlp"), "--", "/bin/sh", "-c",
                               f"{static}; :"])
        self.assertNotIn("not counted", done.err.decode())

    def test_more_programs_than_the_list_has(self):
        programs = [self.path(f"static{i}") for i in range(20)]
        for each in programs:
            os.symlink(ledger.program("nothing_static"), each)
        spawn = f"import subprocess; [subprocess.run([p]) for p in {programs!r}]"
        found = self.uncounted(self.assert_same(["/usr/bin/python3", "-c", spawn]))
        self.assertEqual(found, {("", ""): 4} | {(p, "static"): 1 for p in programs[:16]})

    def test_privileged(self):
        if os.getuid() != 0:
            self.skipTest("needs root to become somebody else")
        folder = self.path("open")
        os.makedirs(folder)
        privileged = os.path.join(folder, "privileged")
        shutil.copy(ledger.program("nothing"), privileged)
        os.chmod(privileged, 0o4755)
        become = f"import os; os.setgid(65534); os.setuid(65534); os.execv({privileged!r}, ['x'])"
        as_root = f"import os; os.execv({privileged!r}, ['x'])"
        os.chmod(self.dir, 0o755)
        done = self.assert_same(["/usr/bin/python3", "-c", as_root])
        self.assertEqual(self.uncounted(done), {})
        done = self.assert_same(["/usr/bin/python3", "-c", become])
        self.assertEqual(self.uncounted(done), {(privileged, "privileged"): 1})

    def test_executed_while_effective_and_real_ids_differ(self):
        """As squid's master executes its worker. What the kernel and the loader make of it is the same as for a file
        with the bits."""
        self.needs_another_user()
        spawn = f"pid = os.posix_spawn('/bin/true', ['true'], os.environ, resetids={{}}); {STATUS}"
        execute = "os.execv('/bin/true', ['true'])"
        missed = {("/bin/true", "privileged"): 1}
        os.chmod(self.dir, 0o755)
        for become in ("os.seteuid(65534)", "os.setegid(65534)"):
            for start, uncounted in ((execute, missed), (spawn.format(False), missed), (spawn.format(True), {})):
                with self.subTest(become=become, start=start):
                    done = self.assert_same(["/usr/bin/python3", "-c", f"import os, sys; {become}; {start}"])
                    self.assertEqual(self.uncounted(done), uncounted)
                    exes = {os.path.basename(r["process"]["exe"]) for r in done.reports}
                    self.assertEqual("true" in exes, not uncounted, done)

    def test_the_shell_of_a_command(self):
        if os.getuid() != 0:
            self.skipTest("needs root to become somebody else")
        os.chmod(self.dir, 0o755)
        piped = "libc.popen.restype = stream = ctypes.c_void_p; print(libc.pclose(stream(libc.popen(b'exit 3', b'r'))))"
        for start in ("print(libc.system(b'exit 3'))", piped):
            for become, uncounted in (("0", {}), ("os.seteuid(65534)", {("/bin/sh", "privileged"): 1})):
                with self.subTest(start=start, become=become):
                    program = f"import ctypes, os; libc = ctypes.CDLL(None); {become}; {start}"
                    done = self.assert_same(["/usr/bin/python3", "-c", program])
                    self.assertEqual(self.uncounted(done), uncounted)

    def test_a_script_of_a_profiled_interpreter(self):
        script = self.write("script", "#!/bin/sh\nexit 3\n")
        os.chmod(script, 0o755)
        done = self.assert_same(["/usr/bin/env", script], processes=2)
        self.assertEqual(done.status, 3)

    def test_in_another_root(self):
        if os.getuid() != 0:
            self.skipTest("needs root to change it")
        root = self.path("root")
        for file in ("/bin/sh", "/bin/true", *self.libraries("/bin/sh", "/bin/true")):
            os.makedirs(root + os.path.dirname(file), exist_ok=True)
            shutil.copy(file, root + file)
        done = self.assert_same(["/usr/sbin/chroot", root, "/bin/sh", "-c", "/bin/true; exit 4"], processes=1)
        self.assertEqual((done.status, len(done.files)), (4, 1), done)

    def test_forked_in_another_root(self):
        if os.getuid() != 0:
            self.skipTest("needs root to change it")
        root = self.path("root")
        os.mkdir(root)
        forks = (f"import os; os.chroot({root!r}); pid = os.fork(); blocks = [bytes(5000) for i in range(9)]; "
                 "print(os.waitpid(pid, 0)[1] if pid else 'a child', flush=True); os._exit(0)")
        python = os.path.realpath("/usr/bin/python3")
        done = self.assert_same([python, "-c", forks], processes=1)
        self.assertEqual(self.uncounted(done), {(python, "out-of-reach"): 1})

    def test_in_a_sandbox_without_the_folder_of_segments(self):
        """As bubblewrap's with a /dev of its own."""
        if os.getuid() != 0:
            self.skipTest("needs root to mount")
        inside = "mount -t tmpfs none /dev/shm && exec /usr/bin/env /bin/true"
        if subprocess.run(["unshare", "-m", "sh", "-c", inside], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("this kernel, or its sandbox, makes no such namespaces")
        done = self.assert_same(["/usr/bin/unshare", "-m", "sh", "-c", inside])
        self.assertEqual(self.uncounted(done), {("/usr/bin/env", "out-of-reach"): 1})

    def test_in_a_sandbox_of_files_without_the_probe(self):
        """Landlock: access says that the probe may be read, and open does not."""
        shutil.copy("/bin/true", self.path("true"))
        sandbox = f"""import ctypes, os, struct
libc = ctypes.CDLL(None)
rules = libc.syscall(444, struct.pack("Q", 4), ctypes.c_size_t(8), 0)  # for reading files
if rules < 0:
    os._exit(77)
for folder in ("/usr", "/lib", "/lib64", "/etc", {self.dir!r}):
    assert libc.syscall(445, rules, 1, struct.pack("=Qi", 4, os.open(folder, os.O_PATH)), 0) == 0
libc.prctl(38, 1, 0, 0, 0)
assert libc.syscall(446, rules, 0) == 0
os.execv({self.path("true")!r}, ["true"])
"""
        python = os.path.realpath("/usr/bin/python3")
        if subprocess.run([python, "-c", sandbox]).returncode == 77:
            self.skipTest("this kernel knows no such sandbox")
        if ledger.PROBE.startswith(("/usr/", "/lib")):
            self.skipTest("the probe is among the files that the sandbox grants")
        done = self.assert_same([python, "-c", sandbox])
        self.assertEqual(self.uncounted(done), {(self.path("true"), "out-of-reach"): 1})

    def libraries(self, *programs):
        listed = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout.split()
        return {word for word in listed if word.startswith("/") and not word.endswith(":")}

    def test_as_a_user_who_cannot_read_the_probe(self):
        if os.getuid() != 0:
            self.skipTest("needs root to become somebody else")
        hidden = self.path("hidden")
        for file in (ledger.BIN, ledger.PROBE):
            copy = os.path.join(hidden, os.path.relpath(file, os.path.dirname(os.path.dirname(ledger.BIN))))
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(file, copy)
        os.chmod(hidden, 0o700)
        as_nobody = [*ledger.AS_NOBODY, "sh", "-c", "/bin/true; exit 4"]
        tool = os.path.join(hidden, os.path.relpath(ledger.BIN, os.path.dirname(os.path.dirname(ledger.BIN))))
        done = ledger.execute([tool, "run", "-q", "-o", self.path("%e.hlp"), "--", *as_nobody])
        self.assertEqual((done.status, done.out, done.err), (4, b"", b""), done)
        self.assertTrue(os.path.exists(self.path("setpriv.hlp")))


if __name__ == "__main__":
    ledger.main()
