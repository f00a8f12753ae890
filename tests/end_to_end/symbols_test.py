"""A report without names says what to do for them, and doing it helps."""

import os
import shutil

import ledger

MISSING = "functions without a name"


class Symbols(ledger.Case):
    def text(self, profile, *options):
        done = ledger.execute([ledger.BIN, "report", *options, profile])
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

    def test_nothing_to_say(self):
        self.assertNotIn(MISSING, self.text(self.profile([ledger.program("nothing"), "1000"]).files[0]))


if __name__ == "__main__":
    ledger.main()
