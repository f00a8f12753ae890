"""The page that `heapledger html` writes, in a real browser, against the JSON report of the same profile."""

import os
import shutil

import ledger

NODE = os.environ.get("HEAPLEDGER_NODE", "")
UI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ui")
BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")


class Page(ledger.Case):
    def html(self, *words):
        return ledger.execute([ledger.BIN, "html", *words])

    def assert_page_tells(self, profile, old=None):
        page = self.path("page.html")
        done = self.html("-f", "-o", page, *(["--diff", old] if old else []), profile)
        self.assertEqual((done.status, done.out), (0, b""), done)
        reports = []
        for file in [profile] + ([old] if old else []):
            report = ledger.execute([ledger.BIN, "report", "--json", file])
            reports.append(self.write(f"report-{len(reports)}.json", report.out))
        leaks = ledger.execute([ledger.BIN, "leaks", "--json", profile])
        self.assertEqual(leaks.status, 0, leaks)
        reports.append(self.write("leaks.json", leaks.out))
        done = ledger.execute([NODE, os.path.join(UI, "test/browser.mjs"), page, *reports],
                              env={"HOME": self.dir, "CHROMIUM": BROWSER})
        self.assertEqual(done.status, 0, done)

    def profile_of_scopes(self, case, *options):
        done = self.profile([ledger.program("scopes"), case], *options)
        self.assertEqual(done.status, 0, done)
        return done.files[0]

    def setUp(self):
        super().setUp()
        if not os.path.exists(NODE) or not os.path.exists(os.path.join(UI, "node_modules/playwright-core")):
            self.skipTest("built without node and npm")
        if not os.path.exists(BROWSER):
            self.skipTest("no chromium")

    def test_threads(self):
        done = self.profile([ledger.program("books_threads"), self.path("books.json"), "4"])
        self.assertEqual(done.status, 0, done)
        self.assert_page_tells(done.files[0])

    def test_lifetimes(self):
        done = self.profile([ledger.program("books_entry_points"), self.path("books.json")], "--lifetimes")
        self.assertEqual(done.status, 0, done)
        self.assert_page_tells(done.files[0])

    def test_leaks(self):
        """On a busy machine a stack may be a suspect still: the page shows whatever verdict there is."""
        done = self.profile([ledger.program("leaks_three_ways"), "4"], "--interval", "20", "--leaks", "--leaks-suspicious", "0.3",
                            "--leaks-access", "0.5", "--leaks-rest", "0.2")
        self.assertEqual(done.status, 0, done)
        self.assert_page_tells(done.files[0])

    def test_scopes(self):
        self.assert_page_tells(self.profile_of_scopes("nested"))

    def test_no_allocation(self):
        self.assert_page_tells(self.profile([ledger.program("nothing")]).files[0])

    def test_marks(self):
        self.assert_page_tells(self.profile([ledger.program("markers"), "phases"]).files[0])

    def test_pools(self):
        self.assert_page_tells(self.profile([ledger.program("pools"), "sited"]).files[0])

    def test_mapped(self):
        self.assert_page_tells(self.profile([ledger.program("mapped"), "threads"]).files[0])

    def test_hostile_names(self):
        profile = self.path("hostile.hlp")
        done = ledger.execute([os.path.join(os.path.dirname(ledger.BIN), "write_hostile_profile"), profile])
        self.assertEqual(done.status, 0, done)
        self.assert_page_tells(profile)

    def test_two_profiles(self):
        before = self.profile_of_scopes("nested")
        self.assert_page_tells(self.profile_of_scopes("credits"), before)
        self.assert_page_tells(self.profile_of_scopes("credits", "--lifetimes"), before)

    def test_files(self):
        """The page's name, and what is in the way of it."""
        profile = self.profile([ledger.program("nothing")]).files[0]
        page = profile[: -len(".hlp")] + ".html"
        done = self.html(profile)
        self.assertEqual((done.status, done.out), (0, b""), done)
        self.assertIn(os.fsencode(page), done.err)
        again = self.html(profile)
        self.assertEqual((again.status, again.err.count(b"\n")), (125, 1), again)
        self.assertIn(b"exists", again.err)
        self.assertEqual(self.html("-f", profile).status, 0)
        compared = self.html("--diff", profile, profile)
        self.assertEqual(compared.status, 0, compared)
        self.assertTrue(os.path.exists(page.replace(".html", ".diff.html")), compared)
        piped = self.html("-o", "-", profile)
        with open(page, "rb") as file:
            self.assertEqual(piped.out, file.read())
        shutil.rmtree(os.path.dirname(page))
        gone = self.html(profile)
        self.assertEqual((gone.status, gone.err.count(b"\n")), (125, 1), gone)


if __name__ == "__main__":
    ledger.main()
