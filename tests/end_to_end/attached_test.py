"""A probe that is loaded into a program which runs already: its books are exact from then on, and it can leave again.

The programs load the probe themselves, as the tool has them do it (tests/programs/attaching.hpp)."""

import glob
import json
import os
import shutil

import ledger
from watching import Talker, WatchCase

DONE, ALREADY, NO_PLACE, FOREIGN_LOADER, OWN_ALLOCATOR, FIXED_WORDS = 0, 1, 2, 3, 6, 7
BINDINGS = ("attached_now", "attached_lazy", "attached_fixed")


class Attaching(ledger.Case):
    def setUp(self):
        super().setUp()
        self.sessions = 0

    def environment(self, *settings, **more):
        self.sessions += 1
        self.session = self.path(f"session-{self.sessions}")
        os.mkdir(self.session)
        lines = (f"HEAPLEDGER_SESSION={self.session}", *settings)
        return {"HEAPLEDGER_TEST_PROBE": ledger.PROBE, "HEAPLEDGER_TEST_SETTINGS": "".join(f"{s}\n" for s in lines), **more}

    def attached(self, command, *settings, **more):
        """Runs a program, in an empty folder that must stay so; returns its outcome, and the segments' reports."""
        cwd = self.path("work")
        os.makedirs(cwd, exist_ok=True)
        done = ledger.execute(command, env=self.environment(*settings, **more), cwd=cwd)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(done.err, b"")
        self.assertEqual(os.listdir(cwd), [], "no file of ours but in the session's folder")
        return done, [ledger.report(file) for file in sorted(glob.glob(os.path.join(self.session, "*.hls")))]

    def books(self, command, *settings, losses=("foreign_frees",), **more):
        file = self.path("books.json")
        done, reports = self.attached([*command[:2], file, *command[2:]], *settings, **more)
        self.assertEqual(len(reports), 1, done)
        with open(file, encoding="utf-8") as text:
            own = json.load(text)
        self.assert_balanced(reports[0], losses)
        return own, reports[0]

    def of(self, r, site):
        return [s for s in r["stacks"] if site in ledger.functions(s)]

    def assert_sites(self, own, r):
        self.assertGreater(len(own["sites"]), 0)
        for site, book in own["sites"].items():
            for key in ledger.BOOK_KEYS:
                self.assertEqual(ledger.total(self.of(r, site), key), book[key], f"{key} of {site}")

    def assert_checked(self, r):
        self.assertGreater(r["profiler"]["check"]["stacks"], 0)
        self.assertEqual(r["profiler"]["check"]["differences"], 0)

    def foreign(self, r):
        return r["profiler"]["losses"].get("foreign_frees", 0)


class Books(Attaching):
    def test_threads_that_allocate_all_the_time(self):
        for name in BINDINGS:
            for settings in ((), ("HEAPLEDGER_CHECK=1",), ("HEAPLEDGER_STACKS=fp",), ("HEAPLEDGER_LIFETIMES=1",)):
                with self.subTest(program=name, settings=settings):
                    own, r = self.books([ledger.program(name), "threads", "4", "2000"], *settings,
                                        losses=("foreign_frees", "stack_cut_bounds", "stack_cut_no_rule"))
                    self.assertGreater(self.foreign(r), 0)
                    if settings[:1] == ("HEAPLEDGER_CHECK=1",):
                        self.assert_checked(r)
                    if settings[:1] != ("HEAPLEDGER_STACKS=fp",):
                        self.assert_sites(own, r)
                    self.assertEqual(r["process"]["ended"], "exited")

    def test_again_and_again(self):
        """Each time at another moment of what the threads do."""
        for i in range(30):
            with self.subTest(i=i):
                own, r = self.books([ledger.program(BINDINGS[i % 3]), "threads", "3", "50"], "HEAPLEDGER_CHECK=1")
                self.assert_sites(own, r)
                self.assert_checked(r)

    def test_blocks_from_before(self):
        for name in BINDINGS:
            with self.subTest(program=name):
                own, r = self.books([ledger.program(name), "before"])
                self.assert_sites(own, r)
                # 200,000 blocks, what grew, a string and its text, and one by a pointer from before; where the program is
                # at a fixed address, such a pointer leads to its own words.
                self.assertEqual(self.foreign(r), 200_000 + 1 + 2 + (name != "attached_fixed"))
                self.assertEqual(r["errors"], [])

    def folder_of_plugins(self):
        folder = self.path("plugins")
        os.makedirs(folder, exist_ok=True)
        for name in ("plugin_a", "plugin_b", "plugin_lazy"):
            shutil.copy(ledger.program(name + ".so"), folder)
        shutil.copy(ledger.program("plugin_a.so"), os.path.join(folder, "plugin_a_copy.so"))
        return folder

    def test_plugins(self):
        folder = self.folder_of_plugins()
        for name in BINDINGS:
            with self.subTest(program=name):
                file = self.path("unused")
                _, (r,) = self.attached([ledger.program(name), "plugins", file, folder], "HEAPLEDGER_CHECK=1")
                self.assert_checked(r)
                for site, opened, used in (("site_plugin_a", 20, 210), ("site_plugin_lazy", 0, 10), ("site_plugin_b", 20, 200)):
                    stacks = self.of(r, site)
                    self.assertEqual(ledger.total(stacks, "allocations"), opened + used, site)
                    self.assertEqual(ledger.total(stacks, "frees"), opened + used, site)
                    self.assertEqual(ledger.total(stacks, "allocated_bytes"), 64 * opened + 100 * used, site)
                # Of what was opened before, one was closed, and freed its block; the other does so at the end.
                self.assertGreaterEqual(self.foreign(r), 2)

    def test_libraries_loaded_meanwhile(self):
        folder = self.folder_of_plugins()
        for i in range(12):
            with self.subTest(i=i):
                own, r = self.books([ledger.program(BINDINGS[i % 3]), "loading", folder], "HEAPLEDGER_CHECK=1")
                self.assert_sites(own, r)
                self.assert_checked(r)

    def test_program_in_c_with_plugins_in_cxx(self):
        plugin, another = ledger.program("attached_plugin.so"), self.path("another_plugin.so")
        shutil.copy(plugin, another)
        done, (r,) = self.attached([ledger.program("attached_c"), plugin, another], "HEAPLEDGER_CHECK=1")
        self.assertEqual(done.out, b"0\n0\n")
        self.assert_checked(r)
        made, text = self.of(r, "site_made_in_plugin"), self.of(r, "site_text_in_plugin")
        self.assertEqual(ledger.total(made, "allocations"), 202)
        self.assertEqual(ledger.total(made, "frees"), 200)
        self.assertEqual(ledger.total(made, "allocated_bytes"), 200 * 1000 + 14)
        self.assertEqual(ledger.total(text, "allocations"), 400)
        self.assertEqual(ledger.total(text, "live_bytes"), 0)
        self.assertEqual(self.foreign(r), 1)
        self.assertEqual(r["errors"], [])
        self.assertEqual(sum(ledger.functions(s)[0] == "site_made_in_plugin" for s in made), len(made))

    def test_other_allocators(self):
        tried = 0
        for path in glob.glob("/usr/lib/*/libjemalloc.so.2") + glob.glob("/usr/lib/*/libtcmalloc_minimal.so.4") + \
                glob.glob("/usr/lib/*/libmimalloc.so.[0-9]"):
            for name in BINDINGS:
                with self.subTest(preloaded=path, program=name):
                    own, r = self.books([ledger.program(name), "threads", "4", "500"], "HEAPLEDGER_CHECK=1", LD_PRELOAD=path)
                    self.assert_sites(own, r)
                    self.assert_checked(r)
                    self.assertGreater(self.foreign(r), 0)
                    for mode in (["detach", self.path("books.json")], ["sized"]):
                        self.attached([ledger.program(name), *mode], LD_PRELOAD=path)
            tried += 1
        if not tried:
            self.skipTest("no other allocator is installed")

    def test_linked_allocators(self):
        tried = 0
        for name in ("attached_jemalloc", "attached_tcmalloc", "attached_mimalloc"):
            if not os.path.exists(ledger.program(name)):
                continue
            with self.subTest(program=name):
                own, r = self.books([ledger.program(name), "threads", "4", "500"], "HEAPLEDGER_CHECK=1")
                self.assert_sites(own, r)
                self.assert_checked(r)
                for mode in (["detach", self.path("books.json")], ["sized"]):
                    self.attached([ledger.program(name), *mode])
            tried += 1
        if not tried:
            self.skipTest("no other allocator is installed")

    def test_operators_of_the_program(self):
        """They stay replaced, and what builds on them keeps building on them."""
        alone = ledger.execute([ledger.program("own_operators")])
        done, (r,) = self.attached([ledger.program("attached_own_operators")])
        self.assertEqual(done.out, alone.out)
        self.assert_sums(r)
        self.assertEqual(r["errors"], [])
        self.assertGreater(ledger.total(self.of(r, "operator new"), "allocations"), 0)

    def test_scopes(self):
        _, (r,) = self.attached([ledger.program("attached_lazy"), "scopes"])
        late, = [s for s in r["scopes"] if s["scope"] == ["late"]]
        self.assertEqual((late["allocations"], late["allocated_bytes"]), (10, 1000))
        self.assertEqual(ledger.total(self.of(r, "site_plain"), "allocations"), 11)

    def test_signals(self):
        ring = ledger.program("ring_allocator.so")
        for name in BINDINGS:
            _, (r,) = self.attached([ledger.program(name), "signal"], "HEAPLEDGER_CHECK=1", "HEAPLEDGER_SNAPSHOT_SIGNAL=USR2",
                                    LD_PRELOAD=ring)
            self.assertEqual(len(r["markers"]), 1)
            self.assert_checked(r)
            self.assert_sums(r)
            self.assertGreater(ledger.total(self.of(r, "on_signal"), "allocations"), 0)


class Processes(Attaching):
    def test_forks(self):
        """Children keep their own books: what they inherit is their parent's, or from before."""
        for name in BINDINGS:
            with self.subTest(program=name):
                _, reports = self.attached([ledger.program(name), "fork"])
                self.assertEqual(len(reports), 4)
                parent, = (r for r in reports if not r["process"].get("forked"))
                self.assertEqual(ledger.total(self.of(parent, "site_plain"), "allocations"), 1)
                self.assertEqual(ledger.total(self.of(parent, "site_plain"), "frees"), 1)
                self.assertEqual(self.foreign(parent), 0)
                for r in reports:
                    self.assert_balanced(r, ("foreign_frees", "inherited_frees"))
                    if r is parent:
                        continue
                    self.assertEqual(r["process"]["parent_pid"], parent["process"]["pid"])
                    self.assertEqual(ledger.total(self.of(r, "site_plain"), "allocations"), 10)
                    self.assertEqual(r["profiler"]["losses"]["inherited_frees"], 1)
                    self.assertEqual(self.foreign(r), 1)

    def test_children_are_not_followed(self):
        for name in BINDINGS:
            with self.subTest(program=name):
                # The program's own, whatever they are called.
                environment = ledger.plain_environment(self.environment(HEAPLEDGER_DEPTH="7", LD_PRELOAD=""))
                done = ledger.execute([ledger.program(name), "exec"], env=environment, pass_env=True)
                self.assertEqual(done.status, 0, done)
                self.assertEqual(len(os.listdir(self.session)), 1, "books of children")
                shown = [line for line in done.out.decode().splitlines()
                         if line.partition("=")[0] not in ("_", "PWD", "OLDPWD", "SHLVL")]
                # The settings have lines of their own; what the shell adds was left out.
                plain = [line for key, value in environment.items() for line in f"{key}={value}".split("\n")
                         if key not in ("_", "PWD", "OLDPWD", "SHLVL")]
                self.assertEqual(sorted(shown), sorted(plain * 4 + ["LATE=1"] * 2))

    def test_a_program_that_needs_the_probe_begins_as_ever(self):
        """Linked, or by a plugin: not for somebody to attach."""
        folder = self.path("plugins")
        os.mkdir(folder)
        for name in ("plugin_a.so", "plugin_b.so"):
            shutil.copy(ledger.program("attached_linked.so"), os.path.join(folder, name))
        for command in ([ledger.program("scopes_linked"), "by_hand"], [ledger.program("plugins"), folder, "4"]):
            with self.subTest(command=command):
                output = self.path(os.path.basename(command[0]) + ".hlp")
                done = ledger.execute(command, env={"HEAPLEDGER_OUTPUT": output})
                self.assertTrue(os.path.exists(output), done)

    def test_nobody_attaches(self):
        """A program that has opened the probe, and left it at that."""
        _, reports = self.attached([ledger.program("attached_now"), "load"])
        self.assertEqual(reports, [])


class Refused(Attaching):
    def test_twice(self):
        """Under the probe from the start."""
        done = self.profile([ledger.program("attached_now"), "fixed"], env=self.environment())
        self.assertEqual(done.out, b"1\n1\n", done)

    def test_a_loader_that_is_not_as_we_know_it(self):
        done, reports = self.attached([ledger.program("attached_lazy"), "local"])
        self.assertEqual((done.out, reports), (b"%d\n" % FOREIGN_LOADER, []))

    def test_words_that_cannot_be_written(self):
        """Nothing was changed: it can be tried again."""
        for name in ("attached_now", "attached_lazy"):
            done, reports = self.attached([ledger.program(name), "fixed"])
            self.assertEqual(done.out, b"%d\n%d\n" % (FIXED_WORDS, DONE))
            self.assertEqual(len(reports), 1)

    def test_malloc_of_the_program(self):
        done, reports = self.attached([ledger.program("attached_own_malloc")])
        self.assertEqual((done.out, reports), (b"%d\nall calls came here\n" % OWN_ALLOCATOR, []))

    def test_no_place(self):
        environment = self.environment()
        shutil.rmtree(self.session)
        done = ledger.execute([ledger.program("attached_now"), "local"], env=environment)
        self.assertEqual(done.status, 0, done)
        done = ledger.execute([ledger.program("attached_now"), "fork"], env=environment)
        self.assertEqual(done.status, 99, "its first call is refused")


class Leaving(Attaching):
    def test_detached(self):
        for name in BINDINGS:
            for settings in ((), ("HEAPLEDGER_LIFETIMES=1",)):
                with self.subTest(program=name, settings=settings):
                    own, r = self.books([ledger.program(name), "detach"], *settings)
                    self.assert_sites(own, r)
                    self.assertGreater(r["process"]["duration"], 0)

    def test_again(self):
        """Each time with books of its own, in which blocks of the times before are known as such."""
        for settings in ((), ("HEAPLEDGER_CHECK=1",), ("HEAPLEDGER_LIFETIMES=1",), ("HEAPLEDGER_STACKS=off",)):
            with self.subTest(settings=settings):
                done, reports = self.attached([ledger.program("attached_again"), self.path("books"), "9"], *settings)
                *lines, refused = done.out.decode().splitlines()
                self.assertEqual((len(lines), len(reports), refused), (8, 8, f"refused {ALREADY}"))
                for i, (line, r) in enumerate(zip(lines, reports)):
                    blocks, size = map(int, line.split())
                    self.assertEqual(blocks > 0, i > 0)
                    self.assert_balanced(r, ("foreign_frees", "inherited_frees"))
                    # And blocks that nobody saw may lie where one of them did, and have its tag.
                    self.assertGreaterEqual(r["profiler"]["losses"].get("inherited_frees", 0), blocks)
                    self.assertGreaterEqual(r["profiler"].get("inherited_freed_bytes", 0), size)
                    self.assertEqual(r["errors"], [])
                    with open(self.path(f"books.{i}"), encoding="utf-8") as text:
                        own = json.load(text)
                    if settings == ("HEAPLEDGER_STACKS=off",):
                        continue
                    self.assert_sites(own, r)
                    if settings == ("HEAPLEDGER_CHECK=1",):
                        self.assert_checked(r)

    def test_again_on_other_allocators(self):
        for path in glob.glob("/usr/lib/*/libjemalloc.so.2") + glob.glob("/usr/lib/*/libmimalloc.so.[0-9]"):
            with self.subTest(preloaded=path):
                done, reports = self.attached([ledger.program("attached_again"), self.path("books"), "3"], LD_PRELOAD=path)
                self.assertEqual((len(done.out.splitlines()), len(reports)), (3, 3))
                for r in reports:
                    self.assert_balanced(r, ("foreign_frees", "inherited_frees"))

    def test_while_threads_allocate(self):
        for i in range(20):
            _, (r,) = self.attached([ledger.program(BINDINGS[i % 3]), "detach_busy"])
            self.assert_sums(r)
            self.assertEqual({k: v for k, v in r["profiler"]["losses"].items() if v and k != "foreign_frees"}, {})


class Watched(WatchCase):
    def begin_attached(self):
        session = self.path("session")
        os.mkdir(session)
        settings = {"HEAPLEDGER_TEST_PROBE": ledger.PROBE, "HEAPLEDGER_TEST_SETTINGS": f"HEAPLEDGER_SESSION={session}\n"}
        self.app = Talker([ledger.program("watched")], env=ledger.plain_environment(settings), cwd=self.path("."))
        self.addCleanup(self.app.end)
        self.app("beat")
        self.assertEqual(self.app("attach"), 0)
        self.app("beat")
        self.segment, = glob.glob(os.path.join(session, "*.hls"))
        self.watch()

    def test_detached_with_watched_blocks(self):
        """They stay whole, and can be freed, grown and inherited."""
        self.begin_attached()
        self.suspect("m", 0, 5000)
        self.suspect("n", 1, 600)
        blocks = self.allocate("m", 0, 5000, 40) + self.allocate("n", 1, 600, 40)
        self.arm()
        self.assertEqual(len(self.slots()), 80)
        self.assertEqual(self.app("detach"), 0)
        for block in blocks:
            self.assertEqual(self.app("wrong", block), 0)
            self.assertGreaterEqual(self.app("usable", block), 600)
        self.assertEqual(self.app("fork", 0, 0), 0, "bytes that are not what this side wrote")
        self.assertEqual(self.app("fork", 0, 2), 0, "bytes that are not what this side wrote")
        self.assertEqual(self.app("realloc", blocks[0], 9000), 0)
        self.assertEqual(self.app("realloc", blocks[1], 90), 0)
        for block in blocks:
            self.assertEqual(self.app("wrong", block), 0)
            self.app("free", block)
        more = self.allocate("m", 0, 5000, 40) + self.allocate("n", 1, 600, 40)
        for block in more:
            self.app("free", block)
        self.assertEqual(self.slots(), [])
        self.assert_sums(self.quit())


if __name__ == "__main__":
    ledger.main()
