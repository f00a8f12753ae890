"""Planted mistakes are found, with the stack that allocated the block; a program without any has none."""

import base64
import gzip
import os
import re
import signal

import ledger


class Errors(ledger.Case):
    def errors(self, *arguments, program="mistakes"):
        command = [ledger.program(program), *arguments]
        alone = ledger.execute(command)
        done = self.profile(command)
        self.assertEqual((done.status, done.out), (ledger.shell_status(alone.status), alone.out), "as alone")
        return done.report

    def assert_found(self, r, kind, freed_by="main"):
        self.assertEqual([(e["kind"], e["count"]) for e in r["errors"]], [(kind, 1)])
        stacks = {s["id"]: s for s in r["stacks"]}
        names = ledger.functions(stacks[r["errors"][0]["stack"]])
        self.assertEqual(names[0], "site_planted", names)
        self.assertIn("main", names)
        self.assertEqual(ledger.functions({"frames": r["errors"][0]["freed_frames"]})[0], freed_by)

    def test_clean(self):
        r = self.errors("clean")
        self.assert_balanced(r)

    def test_double_free(self):
        for mode in ("double_free", "double_free_after_realloc", "double_delete"):
            with self.subTest(mode=mode):
                r = self.errors(mode)
                self.assert_found(r, "double-free")
                self.assertEqual(r["process"]["signal"], signal.SIGABRT)

    def test_double_free_of_what_was_freed_wrongly(self):
        """It was freed all the same: once in the books."""
        for before in ("mismatch", "overflow"):
            with self.subTest(before=before):
                r = self.errors(f"double_free_after_{before}")
                self.assertEqual(sorted((e["kind"], e["count"]) for e in r["errors"]), [("double-free", 1), (before, 1)])
                self.assertEqual(ledger.total(self.planted(r), "frees"), 1)

    def test_mismatch(self):
        for mode, families in (("malloc_delete", ("malloc", "delete")), ("new_free", ("new", "free")),
                               ("array", ("new[]", "delete")), ("scalar", ("new", "delete[]"))):
            with self.subTest(mode=mode):
                r = self.errors(mode)
                self.assert_found(r, "mismatch")
                self.assertEqual((r["errors"][0]["allocated_by"], r["errors"][0]["freed_by"]), families)
                self.assertEqual(r["totals"]["live_blocks"], self.pool(r), "the block is freed all the same")

    def test_mismatch_in_a_program_at_a_fixed_place(self):
        """Where the address of operator new, which it takes, is one of its own, the operators are none of its own."""
        self.assert_found(self.errors("new_free", program="mistakes_fixed"), "mismatch")

    def test_whoever_frees(self):
        """By realloc, as a thread's first event, in a scope, and where other scopes took over what stood for the stack."""
        for mode in ("new_realloc", "threads_first_free", "free_in_scope", "scopes_after"):
            with self.subTest(mode=mode):
                self.assert_found(self.errors(mode), "mismatch", freed_by="site_freed")

    def test_operators_bound_within_a_library(self):
        """What such a library allocates and the program deletes is no mistake; the other way it cannot be told."""
        program = ledger.program("bound_operators_client")
        r = self.profile([program, "theirs"]).report
        self.assertEqual(r["errors"], [])
        self.assertTrue(any(ledger.functions(s)[0].startswith("operator new") for s in r["stacks"] if s["frames"]), "the case at hand")
        done = self.profile([program, "ours"])
        e, = done.report["errors"]
        self.assertEqual((e["kind"], e["count"], os.path.basename(e["doubt"])), ("mismatch", 1, "libbound_operators.so"))
        doubt = b"This may be no mistake: libbound_operators.so has operators new and delete"
        text = ledger.execute([ledger.BIN, "report", done.files[0]])
        self.assertIn(doubt, text.out)
        page = ledger.execute([ledger.BIN, "html", "-o", "-", done.files[0]])
        if page.status != 0:
            self.skipTest("built without node and npm")
        data = re.search(rb'id="data">([^<]*)<', page.out)[1]
        self.assertIn(doubt, gzip.decompress(base64.b64decode(data)))

    def planted(self, r):
        return [s for s in r["stacks"] if ledger.functions(s)[:1] == ["site_planted"]]

    def pool(self, r):
        """Blocks that the C++ library keeps: the exception pool."""
        return sum(s["live_blocks"] for s in r["stacks"] if "site_planted" not in ledger.functions(s))

    def test_overflow_by_one(self):
        """One byte of the tag: whose block it was and how large is known all the same."""
        # Multiples of 16 leave no slack between what was asked for and the tag. Alone, the byte harms nobody.
        none = [(size, "1") for size in ("16", "32", "48", "64", "112", "1008")]
        for size, beyond in (*none, ("1", "16"), ("9", "8")):
            with self.subTest(bytes=size):
                r = self.errors("overflow", size, beyond)
                self.assert_found(r, "overflow")
                self.assertEqual(ledger.total(self.planted(r), "freed_bytes"), int(size))
                self.assertNotIn("overflow_size", r["profiler"].get("losses", {}))

    def test_overflow_by_more(self):
        """Whatever is overwritten, totals stay right, and no number is impossible. What is overwritten at random looks whole
        once in 257 times."""
        kept = self.errors("clean")["totals"]["live_blocks"]
        for size in ("16", "32", "48", "1008"):
            for beyond in ("2", "3", "4", "5", "6"):
                with self.subTest(bytes=size, beyond=beyond):
                    done = self.profile([ledger.program("mistakes"), "overflow", size, beyond])
                    self.assertEqual((done.status, done.out), (0, b"overflow\n"), "without us it harms the heap")
                    r = done.report
                    self.assertNotIn("damaged_cells", r["profiler"].get("losses", {}))
                    self.assertEqual(r["totals"]["live_blocks"], kept, "the block is freed all the same")
                    for key in ("allocations", "frees", "allocated_bytes", "freed_bytes"):
                        self.assertEqual(sum(s[key] for s in r["stacks"]), r["totals"][key])

    def test_a_block_that_became_the_rest_of_the_heap(self):
        """A second free, or a realloc, of what has no end any more: glibc says so, as it would without us."""
        for mode in ("double_free_at_top", "double_free_at_arenas_end", "realloc_at_top"):
            with self.subTest(mode=mode):
                r = self.errors(mode)
                alone = ledger.execute([ledger.program("mistakes"), mode])
                self.assertEqual((r["process"]["ended"], r["process"]["signal"], r["errors"]), ("signaled", -alone.status, []))

    def test_a_library_that_allocates_past_us(self):
        """Opened with RTLD_DEEPBIND: its blocks may be where one of ours was freed."""
        self.assertEqual(self.profile([ledger.program("passed_by"), ledger.program("passes_by.so")]).report["errors"], [])

    def test_error_shows_in_the_text(self):
        done = self.profile([ledger.program("mistakes"), "malloc_delete"])
        text = ledger.execute([ledger.BIN, "report", done.files[0]])
        self.assertEqual(text.status, 0, text)
        self.assertIn(b"allocated by malloc, freed by delete", text.out)
        self.assertIn(b"site_planted", text.out)
        self.assertIn(b"and freed by\n", text.out)


if __name__ == "__main__":
    ledger.main()
