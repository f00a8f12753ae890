"""What cannot be done is said in one line, with the right status, and nothing is overwritten."""

import os
import shutil
import stat

import ledger


class Clear(ledger.Case):
    def fails(self, status, *arguments, says=(), **keywords):
        done = ledger.execute([ledger.BIN, *arguments], **keywords)
        lines = done.err.decode().splitlines()
        self.assertEqual(done.status, status, done)
        self.assertEqual(done.out, b"", done)
        self.assertEqual(len(lines), 1, f"one line: {lines}")
        self.assertTrue(lines[0].startswith("heapledger"), lines[0])
        for word in says:
            self.assertIn(word.lower(), lines[0].lower())
        return lines[0]

    def run_fails(self, status, *command, says=(), **keywords):
        before = sorted(os.listdir(self.dir))
        line = self.fails(status, "run", "-q", "-o", self.path("x.hlp"), "--", *command, says=says, **keywords)
        self.assertEqual(sorted(os.listdir(self.dir)), before, "no profile is left")
        return line

    def test_not_found(self):
        self.run_fails(127, "no-such-program", says=["no-such-program"])
        self.run_fails(127, self.path("missing"), says=["missing"])
        self.run_fails(127, "no-such-program", says=["no-such-program"], env={"PATH": ""})
        os.chmod(self.write("here", "#!/bin/sh\n"), 0o755)
        self.run_fails(127, "here", says=["give its path, ./here"], cwd=self.dir)

    def test_not_executable(self):
        self.run_fails(126, self.write("plain", "text"), says=["plain"])
        self.run_fails(126, self.dir, says=[self.dir])
        broken = self.write("broken", b"\x7fELF and nothing more")
        os.chmod(broken, 0o755)
        self.run_fails(126, broken, says=["broken"])
        script = self.write("script", "#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        self.run_fails(126, script, says=["script"])

    def test_script_without_a_first_line(self):
        """What a shell would run, we run."""
        script = self.write("script", "echo ran\n")
        os.chmod(script, 0o755)
        done = self.profile([script])
        self.assertEqual((done.status, done.out, done.err), (0, b"ran\n", b""))

    def runs_unprofiled(self, *command, says, **keywords):
        """The program runs as it is, or is refused with 125: either way one line says why there is no profile."""
        done = self.profile(list(command), **keywords)
        lines = done.err.decode().splitlines()
        self.assertEqual(len(lines), 1, done)
        self.assertTrue(lines[0].startswith("heapledger"), lines[0])
        for word in says:
            self.assertIn(word.lower(), lines[0].lower())
        self.assertIn(done.status, (125, 4), done)
        self.assertEqual(done.files, [])

    def test_static(self):
        self.runs_unprofiled(ledger.program("nothing_static"), "1", "4", says=["static", "nothing_static"])

    def test_address_sanitizer(self):
        self.runs_unprofiled(ledger.program("nothing_asan"), "1", "4", says=["AddressSanitizer", "nothing_asan"])

    def test_setuid(self):
        self.needs_another_user()
        folder = "/var/tmp/" + os.path.basename(self.dir)
        os.mkdir(folder)
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o777)
        program = os.path.join(folder, "setuid_program")
        shutil.copy(ledger.program("nothing"), program)
        os.chmod(program, 0o755 | stat.S_ISUID)
        run = [ledger.BIN, "run", "-q", "-o", os.path.join(folder, "x.hlp"), "--", program, "1", "4"]
        done = ledger.execute([*ledger.AS_NOBODY, *run])
        lines = done.err.decode().splitlines()
        self.assertEqual(len(lines), 1, done)
        self.assertIn("setuid", lines[0])
        self.assertIn(done.status, (125, 4), done)

    def test_unprofiled_child(self):
        """A static child among others: its parent is profiled, it runs as it does alone."""
        line = f"{ledger.program('nothing_static')} 1 4; echo $?; {ledger.program('nothing_asan')} 1 5; echo $?; exit 6"
        done = self.profile(["sh", "-c", line])
        self.assertEqual((done.status, done.out), (6, b"4\n5\n"), done)
        self.assertEqual([os.path.basename(r["process"]["exe"]) for r in done.reports], [os.path.basename(os.path.realpath("/bin/sh"))])

    def test_own_allocator(self):
        """Its allocations cannot be seen: said before it runs or, of a child, at the end; and where nothing is to be read."""
        program = ledger.program("own_malloc")
        for command in ([program], ["sh", "-c", f"{program}; {program}; exit 0"]):
            with self.subTest(command=command):
                folder = self.path(f"own-{len(command)}")
                os.mkdir(folder)
                done = ledger.execute([ledger.BIN, "run", "-o", os.path.join(folder, "%e.%p.hlp"), "--", *command])
                said = [line for line in done.err.decode().splitlines() if "allocator linked in" in line]
                self.assertEqual(len(said), 1, done)
                self.assertIn("own_malloc", said[0])
                files = [name for name in os.listdir(folder) if name.startswith("own_malloc")]
                self.assertEqual(len(files), 1 if len(command) == 1 else 2, done)
                text = ledger.execute([ledger.BIN, "report", os.path.join(folder, files[0])]).out.decode()
                self.assertIn("heapledger doctor", text)
                doctor = ledger.execute([ledger.BIN, "doctor", program])
                self.assertEqual(doctor.status, 1, doctor)
                self.assertNotIn("can be profiled", doctor.out.decode())

    def test_output_exists(self):
        kept = self.write("x.hlp", "precious")
        ran = self.path("ran")
        self.fails(125, "run", "-q", "--no-follow", "-o", kept, "--", "touch", ran, says=["x.hlp", "-f"])
        self.assertFalse(os.path.exists(ran), "the program ran although its profile had no place")
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        done = ledger.execute([ledger.BIN, "run", "-q", "-f", "--no-follow", "-o", kept, "--", "true"])
        self.assertEqual((done.status, done.err), (0, b""))
        self.assertEqual(ledger.report(kept)["process"]["exit_code"], 0)

    def test_output_of_what_a_link_or_a_script_runs_exists(self):
        alias = self.path("alias")
        os.symlink(ledger.program("nothing"), alias)
        script = self.write("script", f"#!{alias}\n")
        os.chmod(script, 0o755)
        kept = self.write("nothing.hlp", "precious")
        for program in (alias, script):
            self.fails(125, "run", "-o", self.path("%e.hlp"), "--", program, says=[kept, "exists", "-f"])

    def test_children_never_overwrite(self):
        """One name for all: the first keeps it, every other gets its pid inserted."""
        done = ledger.execute([ledger.BIN, "run", "-q", "-o", self.path("one.hlp"), "--", "sh", "-c", "ls /; seq 2; true"])
        self.assertEqual(done.status, 0, done)
        reports = ledger.Profiled(done, self.dir).reports
        self.assertGreaterEqual(len(reports), 3)
        self.assertEqual(len({r["process"]["pid"] for r in reports if r["process"]["exe"].endswith("sh")}), 1)

    def test_usage(self):
        self.fails(2, "run", "--no-such-option", "--", "true", says=["--no-such-option"])
        self.fails(2, "report", "--by", "nonsense", self.path("x"), says=["nonsense"])
        self.fails(2, "run", "--stacks", "nonsense", "--", "true", says=["nonsense"])
        self.fails(2, "run", "--depth", "many", "--", "true", says=["depth"])
        self.fails(2, "nonsense", says=["nonsense"])
        self.fails(2, "run", says=["program"])
        self.fails(2, "report", says=["which profile", "heapledger report FILE.hlp"], cwd=self.dir)

    def test_report_of_what(self):
        """Without a name: which profile is the newest, and what to type, which then works."""
        for name in ("heapledger.true.1.hlp", "it's here.hlp", "-f.hlp"):
            ledger.execute([ledger.BIN, "run", "-q", "--no-follow", "-o", self.path(name), "--", "true"])
            line = self.fails(2, "report", "--by", "live", says=["newest", name], cwd=self.dir)
            typed = line.split("type: ")[1]
            bin_folder = os.path.dirname(ledger.BIN)
            done = ledger.execute(["sh", "-c", typed], cwd=self.dir, env={"PATH": f"{bin_folder}:{os.environ['PATH']}"})
            self.assertEqual((done.status, done.err), (0, b""), done)
            os.utime(self.path(name), (1, 1))

    def test_report_of_what_is_no_profile(self):
        """A folder, a program, a name that is not there: which profiles there are, and what to type."""
        for name in ("old.hlp", "new.hlp"):
            ledger.execute([ledger.BIN, "run", "-q", "-o", self.path(name), "--", "true"])
        os.utime(self.path("old.hlp"), (1, 1))
        for command in (("report",), ("html",), ("leaks",), ("top",), ("export", "--format", "csv"), ("diff", "new.hlp")):
            for name in (".", "newer.hlp"):
                with self.subTest(command=command, name=name):
                    self.fails(125, *command, name, says=["new.hlp"], cwd=self.dir)
        if os.geteuid() != 0:  # whom nothing is kept from
            os.chmod(self.path(), 0o300)
            self.fails(125, "report", self.path(), says=["cannot be read"])
            os.chmod(self.path(), 0o700)
        self.fails(125, "report", ledger.program("nothing"), says=[f"heapledger run -- {ledger.program('nothing')} "])

    def test_environment_twin_that_is_wrong(self):
        environment = ledger.plain_environment({"HEAPLEDGER_STACKS": "nonsense"})
        done = ledger.execute([ledger.BIN, "run", "--", "true"], env=environment, pass_env=True, cwd=self.dir)
        self.assertEqual((done.status, len(done.err.splitlines())), (2, 1), done)

    def test_arguments_after_the_program_are_its_own(self):
        done = self.profile(["echo", "-q", "--json", "-o", "x", "--help"])
        self.assertEqual((done.status, done.out), (0, b"-q --json -o x --help\n"))
        self.assertEqual(done.report["process"]["command"], ["echo", "-q", "--json", "-o", "x", "--help"])

    def test_lines_around_a_run(self):
        """Without -q: a line at the start, a line at the end with the profile's name, on standard error only."""
        done = ledger.execute([ledger.BIN, "run", "-o", self.path("x.hlp"), "--", ledger.program("nothing"), "1", "3"])
        self.assertEqual((done.status, done.out), (3, b""))
        lines = done.err.decode().splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(all(line.startswith("heapledger") for line in lines), lines)
        self.assertIn("x.hlp", lines[1])
        self.assertNotIn("\x1b", done.err.decode())

    def test_lines_around_a_run_that_went_wrong(self):
        """A signal, which the shell does not tell of here, and errors, which nobody else has seen."""
        for mode, words in (("double_free", ["mistakes was killed by SIGABRT (Aborted)", "1 memory error in mistakes (pid"]),
                            ("malloc_delete", ["1 memory error in mistakes (pid"]), ("clean", [])):
            with self.subTest(mode=mode):
                done = ledger.execute([ledger.BIN, "run", "-f", "-o", self.path("x.hlp"), "--", ledger.program("mistakes"), mode])
                lines = [line for line in done.err.decode().splitlines() if line.startswith("heapledger: ")]
                self.assertEqual(len(lines), 2 + len(words), lines)
                for line, word in zip(lines[1:], words):
                    self.assertIn(word, line)
        done = ledger.execute([ledger.BIN, "run", "-f", "-o", self.path("x.hlp"), "--", "sh", "-c", "kill -INT $$"])
        self.assertNotIn(b"killed", done.err)

    def test_only_some_programs(self):
        """The first line does not promise a profile of a program that --only leaves out; nor is one missing without a word."""
        done = ledger.execute([ledger.BIN, "run", "--only", "seq", "--only", "no*", "-o", self.dir, "--", "sh", "-c", "seq 1; true"])
        lines = done.err.decode().splitlines()
        self.assertRegex(lines[0], r"^heapledger: started sh \(pid \d+\); counting every allocation of programs named seq or no\*$")
        self.assertRegex(lines[1], r"^heapledger: wrote .*/heapledger\.seq\.\d+\.hlp; next: ")
        link = self.path("alias")
        os.symlink(ledger.program("nothing"), link)
        done = ledger.execute([ledger.BIN, "run", "--only", "alias", "-o", self.dir, "--", link])
        self.assertEqual(done.err.decode().splitlines()[1],
                         "heapledger: no profile: no program matched --only alias; alias is the program nothing")

    def test_nothing_to_report_from_a_device(self):
        for command in (["true"], ["sh", "-c", "seq 1; true"]):
            done = ledger.execute([ledger.BIN, "run", "-o", "/dev/null", "--", *command])
            lines = done.err.decode().splitlines()
            self.assertEqual(len(lines), 2, done)
            self.assertIn("to /dev/null, where nothing is kept to report", lines[1])

    def test_options_that_say_nothing_together(self):
        plain = self.profile([ledger.program("nothing")]).files[0]
        self.fails(2, "leaks", "--duration", "3", plain, says=["--duration is for the watch of a running program"])
        self.fails(2, "run", "-o", self.path("%q.hlp"), "--", "true", says=["'%q'", "%p pid, %e program, %h host, %t time"])
        self.assertEqual([name for name in os.listdir(self.dir) if name.endswith(".hlp")], [])


if __name__ == "__main__":
    ledger.main()
