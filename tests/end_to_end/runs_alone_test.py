"""Programs that the probe cannot be in run as they do alone, whoever starts them and however: the program alone is the
oracle, its standard error included. The probe stays out of them; what started them is profiled."""

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
    def left_alone(self, way, program, *arguments, status):
        with self.subTest(way=way, program=program):
            done = self.assert_same([*WAYS[way], program, *arguments], processes=1)
            self.assertEqual(done.status, status, done)
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

    def test_32_bit(self):
        if not self.is_executable(BITS_32):
            self.skipTest("this kernel does not execute 32-bit programs")
        for way in WAYS:
            self.left_alone(way, BITS_32, status=7)

    def test_interpreter_of_a_script(self):
        program = self.write("on_musl", f"#! \t{MUSL}\t5\n")
        for level in range(3):
            os.chmod(program, 0o755)
            for way in WAYS:
                if way != "fexecve of a path" and way != "fexecve":  # by then Python has closed the file
                    self.left_alone(way, program, status=0)
            program = self.write(f"script-{level}", f"#!{program}\nwhatever\n")

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
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", "/bin/true; exit 4"]
        tool = os.path.join(hidden, os.path.relpath(ledger.BIN, os.path.dirname(os.path.dirname(ledger.BIN))))
        done = ledger.execute([tool, "run", "-q", "-o", self.path("%e.hlp"), "--", *as_nobody])
        self.assertEqual((done.status, done.out, done.err), (4, b"", b""), done)
        self.assertTrue(os.path.exists(self.path("setpriv.hlp")))


if __name__ == "__main__":
    ledger.main()
