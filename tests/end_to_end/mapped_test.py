"""What the program maps itself: by stack, to the byte of what the program knows, and how much of it is resident."""

import mmap
import os
import subprocess
import sys

import ledger

FUNCTIONS = ("map_a", "map_b", "map_c")


def told(out):
    """What the program says of itself: bytes by function."""
    return {name: int(bytes_) for name, bytes_ in (line.split() for line in out.decode().splitlines())}


def mapped_by(r):
    """Bytes that are mapped at the end, by the function that mapped them."""
    sums = dict.fromkeys(FUNCTIONS, 0)
    for site in r["mapped"]["stacks"]:
        sums[ledger.functions(site)[0]] += site["live_bytes"]
    return sums


class Mapped(ledger.Case):
    def checked(self, *words, options=(), status=0):
        done = self.profile([ledger.program("mapped"), *words], *options)
        self.assertEqual((done.status, done.err), (status, b""), done)
        for r in done.reports:
            self.assert_sums(r)
        return done

    def assert_told(self, r, out):
        self.assertEqual(mapped_by(r), told(out))
        for site in r["mapped"]["stacks"]:
            self.assertEqual(site["live_bytes"], site["mapped_bytes"] - site["unmapped_bytes"])
            self.assertEqual(site["ranges"] == 0, site["live_bytes"] == 0, site)
            self.assertTrue({"main", "start_thread"} & set(ledger.functions(site)), site)
        self.assertGreaterEqual(r["mapped"]["peak_bytes"], sum(told(out).values()))

    def test_pieces(self):
        for seed in range(1, 6):
            done = self.checked("pieces", str(seed))
            self.assert_told(done.report, done.out)

    def test_threads(self):
        for _ in range(5):
            done = self.checked("threads")
            self.assert_told(done.report, done.out)

    def test_modes(self):
        for options in (["--stacks", "fp"], ["--check"], ["--leaks"], ["--lifetimes"]):
            done = self.checked("threads", options=options)
            if "fp" not in options:
                self.assert_told(done.report, done.out)
            self.assertEqual(sum(mapped_sizes(done.report)), sum(told(done.out).values()))
        done = self.checked("threads", options=["--stacks", "off"])
        self.assertEqual(sum(mapped_sizes(done.report)), sum(told(done.out).values()))
        self.assertEqual([s["frames"] for s in done.report["mapped"]["stacks"]], [[]])

    def test_failures(self):
        done = self.checked("failures")
        self.assert_told(done.report, done.out)
        self.assert_same([ledger.program("mapped"), "failures"])

    def test_forks(self):
        done = self.checked("forks")
        self.assertEqual(len(done.reports), 2)
        parent, child = sorted(done.reports, key=lambda r: r["process"].get("forked", False))
        self.assert_told(parent, done.out)
        self.assertEqual(mapped_by(child), {"map_a": 0, "map_b": 2 * mmap.PAGESIZE, "map_c": 0})

    def test_full(self):
        alone = ledger.execute([ledger.program("mapped"), "full"])
        if alone.status == 77:
            self.skipTest("more mappings are allowed than are worth making")
        self.assertEqual(alone.status, 0, alone)
        done = self.checked("full")
        self.assert_told(done.report, done.out)
        self.assertNotIn("mappings_full", done.report["profiler"]["losses"])

    def test_steady(self):
        done = self.checked("steady")
        self.assert_told(done.report, done.out)
        self.assertEqual(done.report["profiler"]["losses"], {})

    def test_kinds(self):
        r = self.checked("kinds").report
        page = mmap.PAGESIZE
        self.assertEqual(sorted((s["kind"], s["calls"], s["live_bytes"]) for s in r["mapped"]["stacks"]),
                         [("anonymous", 1, page), ("file", 2, 7 * page), ("shared", 1, page), ("shared", 1, 2 * page)])

    def test_handlers(self):
        done = self.checked("handlers")
        self.assert_told(done.report, done.out)

    def test_killed(self):
        done = self.checked("killed", status=128 + 9)
        self.assert_told(done.report, done.out)

    def test_no_program_without_mappings_has_any(self):
        done = self.profile([ledger.program("nothing")])
        self.assertNotIn("mapped", done.report)
        self.assertEqual(done.report["memory"]["mapped_bytes"] if "memory" in done.report else 0, 0)

    def test_allocators_mappings_are_not_the_programs(self):
        for name in ("allocator_client_jemalloc", "allocator_client_tcmalloc", "allocator_client_mimalloc"):
            if not os.path.exists(ledger.program(name)):
                continue
            done = self.profile([ledger.program(name), "4"])
            self.assertEqual(done.status, 0, done)
            self.assertNotIn("mapped", done.report, name)

    def test_resident(self):
        """The program waits until it was looked at: longer, should the machine be busy."""
        for wait_s in ("0.3", "3", "30"):
            command = f"sleep {wait_s} | exec {ledger.program('mapped')} resident"
            done = self.profile(["sh", "-c", command], "--interval", "10")
            r = done.of("mapped")[0]
            self.assert_told(r, done.out)
            resident = dict.fromkeys(FUNCTIONS, 0)
            for site in r["mapped"]["stacks"]:
                resident[ledger.functions(site)[0]] += site.get("resident_bytes", 0)  # none: not looked at yet
            if resident == {"map_a": 20 << 20, "map_b": 0, "map_c": 4 << 20}:
                break
        self.assertEqual(resident, {"map_a": 20 << 20, "map_b": 0, "map_c": 4 << 20})
        memory = r["memory"]
        self.assertEqual(memory["mapped_bytes"], 24 << 20)
        parts = ("live", "tag", "profiler", "allocator", "mapped", "file", "stack", "other")
        self.assertEqual(sum(memory[f"{part}_bytes"] for part in parts), memory["rss_bytes"])
        self.assertLess(memory["allocator_bytes"], 1 << 20, "the mappings are not in it any more")
        text = ledger.execute([ledger.BIN, "report", next(f for f in done.files if "/mapped." in f)]).out.decode()
        self.assertRegex(text, r"(?s)24\.0 MiB of .* of resident memory are not malloc's.*\nMapped by the program itself")
        section = text[text.index("\nMapped by the program itself"):text.index("\nResident memory")]
        self.assertIn("24.0 MiB resident at", section)
        self.assertRegex(section, r"1\. +83\.3 %  20\.0 MiB resident at most; 64\.0 MiB mapped in 1 range")
        self.assertIn("map_a", section)

    def test_python(self):
        """Its own arenas for small objects."""
        script = "import os; kept = [str(i) for i in range(200000)]; print(len(kept), os.environ.get('PYTHONMALLOC'))"
        done = self.assert_same([sys.executable, "-c", script], processes=1)
        alone = subprocess.run([sys.executable, "-c", "import sysconfig; print(sysconfig.get_config_var('WITH_PYMALLOC'))"],
                               capture_output=True, check=True).stdout.strip()
        if alone == b"1":
            self.assertGreater(done.report["mapped"]["peak_bytes"], 200000 * 50)


def mapped_sizes(r):
    return [site["live_bytes"] for site in r["mapped"]["stacks"]]


if __name__ == "__main__":
    ledger.main()
