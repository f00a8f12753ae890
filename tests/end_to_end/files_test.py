"""Which files are read and written: from a pipe, and never over what is read."""

import os
import shutil

import ledger


class Files(ledger.Case):
    def setUp(self):
        super().setUp()
        self.file = self.profile([ledger.program("nothing"), "1000"]).files[0]
        with open(self.file, "rb") as file:
            self.content = file.read()

    def assert_refused(self, done, words, status=125):
        self.assertEqual(done.status, status, done)
        self.assertEqual(done.err.decode().count("\n"), 1, done.err)
        self.assertIn(words, done.err.decode())

    def assert_kept(self):
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), self.content)

    def test_a_profile_from_a_pipe(self):
        for command in ("report", "export --format csv", "html -o -"):
            one = ledger.execute([ledger.BIN, *command.split(), self.file])
            piped = ledger.execute([ledger.BIN, *command.split(), "/dev/stdin"], stdin=self.content)
            self.assertEqual((piped.status, piped.err), (0, b""), command)
            self.assertEqual(piped.out.replace(b"/dev/stdin", self.file.encode()), one.out)
        cut_off = ledger.execute([ledger.BIN, "report", "/dev/stdin"], stdin=self.content[:-1])
        self.assert_refused(cut_off, "the profile is cut off")

    def test_what_is_read_is_not_written_over(self):
        link, other_name = self.path("link.hlp"), self.path("hard.hlp")
        os.symlink(self.file, link)
        os.link(self.file, other_name)
        for output in (self.file, link, other_name):
            for command in (["html"], ["export", "--format", "csv"]):
                done = ledger.execute([ledger.BIN, *command, "-f", "-o", output, self.file])
                self.assert_refused(done, f"{output}: is the profile that is read; choose another name with -o")
                self.assert_kept()
        done = ledger.execute([ledger.BIN, "html", "-f", "-o", self.file, "--diff", other_name, self.file])
        self.assert_refused(done, "is the profile that is read")
        self.assert_kept()

    def test_the_program_is_not_written_over(self):
        program, link = self.path("program"), self.path("link")
        shutil.copy(ledger.program("nothing"), program)
        os.symlink(program, link)
        for output in (program, link):
            done = ledger.execute([ledger.BIN, "run", "-f", "-o", output, "--", program])
            self.assert_refused(done, f"{output}: is the program itself; choose another name with -o")

    def test_a_profile_does_not_go_where_the_program_writes(self):
        done = ledger.execute([ledger.BIN, "run", "-o", "-", "--", ledger.program("nothing")], cwd=self.dir)
        self.assert_refused(done, "--output: a profile goes to a file, and standard output is the program's; ./- names a file of that name", 2)
        self.assertFalse(os.path.exists(self.path("-")))


if __name__ == "__main__":
    ledger.main()
