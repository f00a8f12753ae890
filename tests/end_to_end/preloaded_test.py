"""The probe by LD_PRELOAD: bare, with nobody watching, and by a program of a run."""

import os
import shutil
import subprocess

import ledger


class Preloaded(ledger.Case):
    def test_bare_preload(self):
        """LD_PRELOAD of the probe alone leaves a profile that report reads."""
        done = ledger.execute([ledger.program("nothing"), "77"], env={"LD_PRELOAD": ledger.PROBE}, cwd=self.dir)
        self.assertEqual((done.status, done.out), (0, b""), done)
        files = [name for name in os.listdir(self.dir) if name.startswith("heapledger.nothing.")]
        self.assertEqual(len(files), 1, os.listdir(self.dir))
        r = ledger.report(self.path(files[0]))
        self.assertEqual((r["totals"]["allocations"], r["totals"]["allocated_bytes"]), (1, 77))
        subprocess.run([ledger.BIN, "report", self.path(files[0])], check=True, stdout=subprocess.DEVNULL)

    def test_bare_into_a_folder(self):
        """As for -o: a file of the default name in it."""
        for output in (self.dir, self.dir + "/"):
            env = {"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_OUTPUT": output}
            self.assertEqual(ledger.execute([ledger.program("nothing"), "77"], env=env).err, b"")
        names = os.listdir(self.dir)
        self.assertEqual([name.startswith("heapledger.nothing.") and name.endswith(".hlp") for name in names], [True, True], names)

    def test_preloaded_by_a_program_of_the_run(self):
        """As tests are under ctest (docs/budgets.md): the run's profiles hold them all the same."""
        asked = ["env", f"LD_PRELOAD={ledger.PROBE}", "HEAPLEDGER_OUTPUT=/dev/null", ledger.program("nothing"), "77"]
        done = self.profile(asked, "--only", "nothing")
        self.assertEqual((done.status, done.out), (0, b""), done)
        self.assertEqual((done.report["totals"]["allocations"], done.report["totals"]["allocated_bytes"]), (1, 77))
        shown = [*asked[:3], "printenv", "LD_PRELOAD", "HEAPLEDGER_OUTPUT", "HEAPLEDGER_SESSION"]
        self.assertEqual(self.profile(shown).out, b"")

    def test_another_copy_preloaded_by_a_program_of_the_run(self):
        """An installed probe beside one in a build tree: one keeps books, and what else is preloaded stays."""
        other, plugin = self.path("libheapledger.so"), ledger.program("leaky_accept.so")
        shutil.copy(ledger.PROBE, other)
        for list_, left in ((other, ""), (f"{plugin}:{other}", plugin), (f"{other} {plugin}", plugin)):
            asked = ["env", f"LD_PRELOAD={list_}", "HEAPLEDGER_OUTPUT=/dev/null"]
            done = self.profile([*asked, ledger.program("nothing"), "77"], "--only", "nothing")
            self.assertEqual((len(done.files), done.report["totals"]["allocations"]), (1, 1), list_)
            shown = self.profile([*asked, "sh", "-c", "echo $LD_PRELOAD"])
            self.assertEqual(shown.out.decode().strip(), left, list_)

    def test_preloaded_without_a_place_for_the_profile(self):
        """A bare LD_PRELOAD: the program runs; a place that was asked for and cannot be had is named."""
        def preloaded(output):
            return ledger.execute(["/bin/echo", "-n", "out"], env={"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_OUTPUT": output})

        done = preloaded(self.path("no such folder/%e.hlp"))
        self.assertEqual((done.status, done.out), (0, b"out"))
        line, = done.err.decode().splitlines()
        for word in ("heapledger: ", self.path("no such folder/echo.hlp"), "cannot be created"):
            self.assertIn(word, line)
        devices = sorted(os.listdir("/dev"))
        done = preloaded("/dev/null")
        self.assertEqual((done.status, done.out, done.err), (0, b"out", b""))
        self.assertEqual(sorted(os.listdir("/dev")), devices)

    def test_values_that_mean_nothing(self):
        """Each is said once, whatever the program starts, and the rest is heeded."""
        def preloaded(value, command):
            return ledger.execute(command, env={"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_OUTPUT": self.dir, **value})

        for name, text, wanted in (("STACKS", "dwarff", "dwarf, jit, fp or off"), ("SNAPSHOT_SIGNAL", "HUP", "USR1 or USR2"),
                                   ("DEPTH", "8k", "a whole number from 0 to 4294967295"), ("DEPTH", "99999999999", "a whole"),
                                   ("LIFETIMES", "perhaps\n", "yes or no"), ("NO_FOLLOW", "2", "yes or no")):
            with self.subTest(name=name, text=text):
                done = preloaded({f"HEAPLEDGER_{name}": text}, ["sh", "-c", "seq 1; seq 2; exit 3"])
                self.assertEqual((done.status, done.out), (3, b"1\n1\n2\n"))
                line, = done.err.decode().splitlines()
                shown = text.replace("\n", "?")
                self.assertTrue(line.startswith(f"heapledger: HEAPLEDGER_{name}: '{shown}' is not {wanted}"), line)
        for text, follows in (("no", True), ("0", True), ("yes", False), ("1", False)):
            shutil.rmtree(self.dir)
            os.mkdir(self.dir)
            done = preloaded({"HEAPLEDGER_NO_FOLLOW": text}, ["sh", "-c", "seq 1; exit 3"])
            self.assertEqual((done.status, done.err, len(os.listdir(self.dir))), (3, b"", 2 if follows else 1), text)


if __name__ == "__main__":
    ledger.main()
