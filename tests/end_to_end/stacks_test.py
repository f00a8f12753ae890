"""Stacks of every shape: equal to an independent unwinder's, and right by name."""

import glob
import json
import os
import shutil
import tempfile

import ledger

BUILDS = ("O0", "O1", "O2", "O3", "now", "fp")


def shows(names, wanted):
    """Are the wanted names there in this order, others in between?"""
    rest = iter(names)
    return all(name in rest for name in wanted)


class Stacks(ledger.Case):
    def checked(self, name, *arguments, options=(), losses=()):
        done = self.profile([ledger.program(name), *arguments], "--check", *options)
        self.assertEqual((done.status, done.err), (0, b""), f"{name}: {done}")
        r = done.report
        # The second unwinder allocates for itself, once, on our own stack.
        self.assert_balanced(r, losses, own_frames=True)
        check = r["profiler"]["check"]
        self.assertGreaterEqual(check["stacks"], r["totals"]["allocations"] // 2, "stacks checked")
        self.assertEqual(check["differences"], 0, f"{name}: stacks that an independent unwinder sees otherwise")
        return done, r

    def assert_shapes(self, name, *arguments, losses=()):
        done, r = self.checked(name, *arguments, losses=losses)
        expected = [json.loads(line) for line in done.out.splitlines()]
        self.assertGreater(len(expected), 3)
        for shape in expected:
            stacks = [s for s in r["stacks"] if ledger.functions(s)[:1] == [shape["site"]]]
            for key, mine in (("allocations", "allocations"), ("allocated_bytes", "bytes"), ("frees", "allocations")):
                self.assertEqual(ledger.total(stacks, key), shape[mine], f"{key} of {shape['site']} in {name}")
            for stack in stacks:
                names = ledger.functions(stack)
                self.assertTrue(shows(names[1:], shape["within"]), f"{name}: {shape}: {names[:20]} ... {names[-5:]}")
                if shape["within"][-1] == "main":
                    self.assertIn("_start", names[-1:], f"{name}: a stack of {shape['site']} does not reach the start")
        return r

    def test_exceptions_jumps_signals(self):
        for build in BUILDS:
            with self.subTest(build=build):
                self.assert_shapes(f"shapes_jumps.{build}")

    def test_fibers_coroutines_threads(self):
        for build in BUILDS:
            with self.subTest(build=build):
                # A fiber's stack ends in the C library's start of a context, which has no unwind rule.
                r = self.assert_shapes(f"shapes_fibers.{build}", losses=("stack_cut_no_rule",))
                inside = [s for s in r["stacks"] if "site_in_fiber" in ledger.functions(s)]
                self.assertEqual({ledger.module(ledger.frames(s)[-1]) for s in inside}, {"libc.so.6"})
                self.assertLessEqual(r["profiler"]["losses"].get("stack_cut_no_rule", 0),
                                     ledger.total(inside, "allocations") + 1)

    def test_fibers_that_are_started_by_hand(self):
        """Their stacks end there: nothing is cut."""
        for options in ((), ("--stacks", "jit")):
            _, r = self.checked("fibers_by_hand", options=options)
            inside = [s for s in r["stacks"] if ledger.functions(s)[:1] == ["site_in_fiber"]]
            self.assertEqual(sorted(len(s["frames"]) for s in inside), list(range(4, 44)))
            for stack in inside:
                self.assertEqual(ledger.functions(stack)[-2], "fiber_main")

    def test_frames_found_by_rbp(self):
        _, r = self.checked("shapes_rbp")
        for caller in ("plain_caller", "padded_caller", "fixed_frame"):
            stacks = [s for s in r["stacks"] if caller in ledger.functions(s)]
            self.assertTrue(stacks, caller)
            for stack in stacks:
                between = ["rbp_as_register", "no_rbp"] + ["dynamic_frame"] * (caller != "fixed_frame")
                self.assertEqual(ledger.functions(stack)[1:len(between) + 3], [*between, caller, "main"])

    def assert_turns(self, r, *betweens):
        bytes_of = {}
        for stack in r["stacks"]:
            names = ledger.functions(stack)
            if names[0].startswith("site_"):
                names = tuple(names[:names.index("take_turns")])
                bytes_of.setdefault(names, []).append(stack["allocated_bytes"] / stack["allocations"])
        expected = {}
        for site in ("site_first", "site_second"):
            for caller, each_bytes in (("plain_caller", 16), ("padded_caller", 48)):
                again = [each_bytes + 1] * (caller == "plain_caller")
                for between in betweens:
                    names = (site, "in_turn", *between, "dynamic_frame", caller, "outer_frame", "make")
                    expected[names] = [each_bytes] + again * (not between)
        self.assertEqual({names: sorted(each) for names, each in bytes_of.items()}, expected)

    def test_turns_of_frames_found_by_rbp(self):
        for name, *betweens in (("turns_rbp", (), ("rbp_as_register",)), ("turns_rbp.fp", ())):
            _, r = self.checked(name)
            self.assert_turns(r, *betweens)
            self.assert_turns(self.profile([ledger.program(name)]).report, *betweens)

    def test_turns_in_scopes(self):
        """Each scope, and what is in none, has all the stacks, and of them what it made itself."""
        turn_allocations = 39
        for options in ((), ("--check",)):
            r = self.profile([ledger.program("turns_rbp"), "scopes"], *options).report
            for at, scope in enumerate(([], ["one"], ["two"])):
                stacks = [s for s in r["stacks"] if s["scope"] == scope and ledger.functions(s)[0].startswith("site_")]
                self.assert_turns({"stacks": stacks}, (), ("rbp_as_register",))
                turns = 2 * sum((less + each_round + turn) % 3 == at
                                for each_round in range(4) for less in range(160) for turn in range(5))
                self.assertEqual(ledger.total(stacks, "allocations"), turn_allocations * turns, scope)
            self.assertEqual(r["profiler"].get("check", {}).get("differences", 0), 0)

    def test_turns_of_threads(self):
        """Each makes some of the accounts, and books in the other's as well."""
        for options in ((), ("--check",)):
            r = self.profile([ledger.program("turns_rbp"), "threads"], *options).report
            stacks = [s for s in r["stacks"] if ledger.functions(s)[0].startswith("site_")]
            self.assert_turns({"stacks": stacks}, (), ("rbp_as_register",))
            turn_allocations, turns = 39, 4 * 2 * 160
            self.assertEqual(ledger.total(stacks, "allocations"), turn_allocations * turns * 5 * 2)
            self.assertEqual(r["profiler"].get("check", {}).get("differences", 0), 0)

    def test_turns_on_another_allocator(self):
        installed = glob.glob("/usr/lib/*/libjemalloc.so.2")
        if not installed:
            self.skipTest("jemalloc is not installed")
        for path in installed:
            done = self.profile([ledger.program("turns_rbp")], env={"LD_PRELOAD": path})
            self.assert_turns(done.report, (), ("rbp_as_register",))

    def test_turns_by_frame_pointers(self):
        self.assert_turns(self.profile([ledger.program("turns_rbp.fp")], "--stacks", "fp").report, ())

    def test_rbp_beside_the_stack(self):
        for mode in ("fp", "jit", "dwarf"):
            done = self.profile([ledger.program("astray_rbp")], "--stacks", mode)
            self.assertEqual((done.status, done.err), (0, b""), f"{mode}: {done}")
            self.assertIn(100, [s["allocated_bytes"] for s in done.report["stacks"]], mode)

    def test_registered_frames(self):
        """The second unwinder, which allocates for them under its lock, is not asked about that allocation."""
        self.checked("registered_frames")

    def test_registered_with_a_plugins_runtime(self):
        """Which a library brought in that the program did not open itself."""
        command = [ledger.program("opens_plugin"), ledger.program("needs_registering.so")]
        done = self.assert_same(command, processes=1)
        self.assertEqual((done.status, done.out), (0, b"known before 0, registered 1, after 0\n"), done)

    def test_generated_code(self):
        """Its tables are registered with the C++ runtime, which the second unwinder asks."""
        done = self.profile([ledger.program("generated_code")], "--check")
        self.assertEqual((done.status, done.err), (0, b""), done)
        for r, known, unknown in zip(sorted(done.reports, key=lambda r: r["process"]["pid"]), (11, 4), (1, 0)):
            self.assertEqual(r["profiler"]["check"]["differences"], 0)
            self.assertEqual(r["profiler"]["losses"].get("stack_cut_no_rule", 0), unknown)
            inside = [s for s in r["stacks"] if ledger.functions(s)[0] == "site_in_generated"]
            for stack in inside:
                self.assertEqual(ledger.module(ledger.frames(stack)[1]), "", "the generated function itself")
            whole = [s for s in inside if shows(ledger.functions(s), ["calls_generated", "main", "_start"])]
            self.assertEqual(ledger.total(whole, "allocations"), 3 * known)
            self.assertEqual(ledger.total(inside, "allocations"), 3 * (known + unknown))

    def test_generated_code_whose_tables_are_lost(self):
        done = self.profile([ledger.program("generated_code"), "lost"])
        self.assertEqual((done.status, done.err), (0, b""), done)
        self.assert_balanced(done.report, losses=("stack_cut_no_rule",))
        inside = [s for s in done.report["stacks"] if ledger.functions(s)[0] == "site_in_generated"]
        self.assertEqual(ledger.total(inside, "allocations"), 12)
        self.assertEqual({len(ledger.frames(s)) for s in inside}, {2})

    def test_generated_code_whose_tables_say_nothing(self):
        """Of which the second unwinder would abort."""
        for mode in ("dwarf", "jit"):
            done = self.profile([ledger.program("generated_code"), "ruleless"], "--stacks", mode)
            self.assertEqual((done.status, done.err), (0, b""), done)
            self.assert_balanced(done.report, losses=("stack_cut_no_rule",))
            self.assertEqual(done.report["profiler"]["losses"], {"stack_cut_no_rule": 1})

    def without_tables(self, *options):
        """The stacks of the framed function, and of the one that keeps no frame pointer."""
        done = self.profile([ledger.program("generated_code"), "unregistered"], *options)
        self.assertEqual((done.status, done.err), (0, b""), done)
        r = done.report
        map_for_perf = f"/tmp/perf-{r['process']['pid']}.map"
        self.assertTrue(os.path.exists(map_for_perf))
        os.remove(map_for_perf)
        inside = [s for s in r["stacks"] if ledger.functions(s)[0] == "site_in_generated"]
        self.assertEqual(ledger.total(inside, "allocations"), 6)
        framed = [s for s in inside if ledger.functions(s)[1] == "JS:*framed a file.js:10:5"]
        self.assertEqual(ledger.total(framed, "allocations"), 3)
        return r, framed, [s for s in inside if s not in framed]

    def test_code_without_tables(self):
        r, framed, frameless = self.without_tables("--check")
        self.assertEqual({len(ledger.frames(s)) for s in framed + frameless}, {2})
        self.assertEqual(r["profiler"]["check"]["differences"], 0)

    def test_code_without_tables_by_frame_pointers(self):
        r, framed, frameless = self.without_tables("--stacks", "jit", "--check")
        self.assertEqual(r["process"]["stacks"], "jit")
        for stack in framed + frameless:  # the second is known by how it returns
            names = ledger.functions(stack)
            self.assertTrue(shows(names[2:], ["calls_generated", "main", "_start"]), names)
        self.assertEqual(r["profiler"]["check"]["differences"], 0)
        # All other code of the program has tables.
        self.assertEqual(self.profile([ledger.program("shapes_frames.O2"), "100"], "--stacks", "jit").report["profiler"]["losses"], {})

    def test_programs_without_tables(self):
        """deno and bun are built so. What helps is said before, at the top of the report, and by doctor."""
        said = "is built without unwind tables"

        def tell(*arguments):
            done = ledger.execute([ledger.BIN, *arguments])
            self.assertEqual(done.status, 0, done)
            return " ".join((done.out + done.err).decode().split())

        def run(name, mode):
            profile = self.path(f"{name}.{mode}.hlp")
            words = tell("run", "--stacks", mode, "-o", profile, "--", ledger.program(name))
            inner = [s for s in ledger.report(profile)["stacks"] if ledger.functions(s)[0] == "inner"]
            self.assertEqual(ledger.total(inner, "allocations"), 101)
            return words, [ledger.functions(s) for s in inner], tell("report", profile)

        for name in ("without_tables", "without_its_tables"):  # the second has those of what it is linked with
            with self.subTest(name):
                words, stacks, report = run(name, "dwarf")
                self.assertIn(said, words)
                self.assertIn(said, tell("doctor", ledger.program(name)))
                self.assertNotIn(said, tell("doctor", ledger.program("nothing")))
                self.assertEqual({len(stack) for stack in stacks}, {1})
                self.assertIn(f"stacks that end early, most of them in {name}, for want of unwind tables. "
                              "Record with --stacks jit", report)
                words, stacks, report = run(name, "jit")
                self.assertNotIn(said, words)
                for stack in stacks:
                    self.assertEqual(stack[:3], ["inner", "outer", "main"])
                self.assertNotIn("for want of unwind tables", report)

    def test_what_starts_a_process_ends_no_stack_early(self):
        """Libraries allocate before main, called by the loader's first function, which has no tables and no caller."""
        done = self.profile([ledger.program("regression_before")])
        ends = [ledger.module(ledger.frames(s)[-1]) for s in done.report["stacks"] if ledger.frames(s)]
        if not any(module.startswith("ld-linux") for module in ends):
            self.skipTest("no library of the program allocates when it is loaded")
        self.assertNotIn("stack_cut_no_rule", done.report["profiler"]["losses"])
        report = " ".join(ledger.execute([ledger.BIN, "report", done.files[0]]).out.decode().split())
        self.assertNotIn("for want of unwind tables", report)

    def test_frames(self):
        for build in BUILDS:
            with self.subTest(build=build):
                self.assert_shapes(f"shapes_frames.{build}", "100")

    def test_deep_recursion(self):
        for depth in (10000, 100000):
            with self.subTest(depth=depth):
                r = self.assert_shapes("shapes_frames.O2", str(depth))
                self.assertEqual(r["profiler"]["losses"].get("stack_cut_depth", 0), 0)
                deepest = max(len(ledger.frames(s)) for s in r["stacks"])
                self.assertGreater(deepest, depth - 2000)

    def test_depth_is_cut_and_counted(self):
        done = self.profile([ledger.program("shapes_frames.O2"), "1000"], "--depth", "16")
        r = done.report
        self.assert_balanced(r, losses=("stack_cut_depth",))
        self.assertGreater(r["profiler"]["losses"]["stack_cut_depth"], 0)
        self.assertLessEqual(max(len([f for f in ledger.frames(s) if not f.get("inlined")]) for s in r["stacks"]), 16)

    def test_unloaded_and_loaded_at_the_same_address(self):
        done, r = self.checked("plugins", ledger.PROGRAMS, "60")
        self.assertIn(b"at the same address", done.out)
        for site, module in (("site_plugin_a", "plugin_a.so"), ("site_plugin_b", "plugin_b.so")):
            stacks = [s for s in r["stacks"] if site in ledger.functions(s)]
            self.assertEqual(ledger.total(stacks, "allocations"), 120, site)
            for stack in stacks:
                self.assertEqual(ledger.module(ledger.frames(stack)[0]), module)
                self.assertIn("main", ledger.functions(stack))

    def test_loaded_again_and_again(self):
        """What comes back to its place has the stacks that it had: a program that goes on so needs no more room."""
        for names, again in (("ab", True), ("ac", False)):
            with self.subTest(plugins=names):
                folder = self.path(names)
                os.mkdir(folder)
                for name, as_name in zip(names, "ab"):
                    shutil.copy(os.path.join(ledger.PROGRAMS, f"plugin_{name}.so"), f"{folder}/plugin_{as_name}.so")
                # Many: so often that the ends of stacks are known.
                few, many = (self.checked("plugins", folder, rounds)[1] for rounds in ("20", "1500"))
                for r, rounds in ((few, 20), (many, 1500)):
                    for site in ("site_plugin_a", f"site_plugin_{names[1]}"):
                        stacks = [s for s in r["stacks"] if site in ledger.functions(s)]
                        self.assertEqual(ledger.total(stacks, "allocations"), 2 * rounds, site)
                # Without a build-id nobody knows that it is the same.
                more = many["profiler"]["accounts"] - few["profiler"]["accounts"]
                self.assertEqual(more, 0) if again else self.assertGreaterEqual(more, 100)

    def test_unloaded_by_a_forked_child(self):
        """Its parent had compiled rules for the plugin; the child's books have never heard of it."""
        done = self.profile([ledger.program("plugins_forked"), ledger.PROGRAMS], "--check")
        self.assertEqual((done.status, done.out), (0, b"at the same address\n"), done)
        self.assertEqual(len(done.reports), 2)
        for r in done.reports:
            self.assertGreater(r["profiler"]["check"]["stacks"], 0)
            self.assertEqual(r["profiler"]["check"]["differences"], 0)

    def test_signals_that_allocate(self):
        for mode in ("allocating", "jumping", "alternate"):
            with self.subTest(mode=mode):
                self.checked("signals", mode)

    def bytes_by_name(self, names):
        """What a stack of tests/programs/ways.hpp allocates; a handler's stands on the one that it interrupted."""
        ways = [int(name[-1]) for name in reversed(names) if name.startswith("way_")]
        self.assertEqual(len(ways), 12 if "handle" in names else 6, names)
        return 1000 + sum(way << 2 * (5 - level) for level, way in enumerate(ways[-6:]))

    def test_threads_that_come_to_the_same_new_stacks(self):
        """Each stack is one, with all that every thread did there, however many were adding it at once."""
        threads = 8
        r = self.profile([ledger.program("new_stacks"), str(threads)]).report
        self.assert_sums(r)
        stacks = [s for s in r["stacks"] if ledger.functions(s)[0] == "site_leaf"]
        self.assertEqual(len(stacks), 4096)
        for stack in stacks:
            names = ledger.functions(stack)
            self.assertEqual((stack["allocations"], stack["frees"], stack["allocated_bytes"]),
                             (threads, threads, threads * self.bytes_by_name(names)), names)

    def test_interrupted_at_every_instruction(self):
        """A handler that allocates, and comes at each instruction of an event in turn, spoils no later stack: neither when
        it returns, whatever stack it has, nor when it leaves by siglongjmp. The size of each allocation tells its stack."""
        for mode in ("return", "leave", "return turns", "leave turns", "apart"):
            with self.subTest(mode=mode):
                command = [ledger.program("interrupted_steps"), ledger.program("interrupted_events"), *mode.split()]
                no_room_above = 77  # where the kernel put things: it puts them elsewhere the next time
                done = next(done for done in (self.profile(command) for _ in range(20)) if done.status != no_room_above)
                self.assertEqual((done.status, done.err), (0, b""), done)
                handled = int(done.out.split()[0])
                self.assertGreater(handled, 500, "instructions")
                r, = [r for r in done.reports if r["process"]["exe"].endswith("events")]
                seen = 0
                for stack in r["stacks"]:
                    names = ledger.functions(stack)
                    if names[0] == "site_leaf":
                        self.assertEqual(stack["allocated_bytes"], self.bytes_by_name(names) * stack["allocations"], names)
                        seen += 1
                self.assertGreater(seen, 1000, "stacks")
                self.assertEqual(r["profiler"]["losses"], {})

    def test_fork_in_a_handler(self):
        """A child that goes on with the event that the handler interrupted comes to its end, and its parent's books do not
        have that event twice. Only before an event holds its books nobody can know of it: that is a few instructions."""
        folder = tempfile.mkdtemp(dir="/dev/shm")  # for hundreds of segments
        self.addCleanup(shutil.rmtree, folder, True)
        for mode in ("fork", "fork_and_allocate"):
            with self.subTest(mode=mode):
                preload = [f"LD_PRELOAD={ledger.PROBE}", f"HEAPLEDGER_OUTPUT={folder}/{mode}.%p"]
                steps = [ledger.program("interrupted_steps"), ledger.program("interrupted_events"), mode]
                done = ledger.execute(["env", *preload, *steps])
                self.assertEqual((done.status, done.err), (0, b""), done)
                handled, taken, pid = map(int, done.out.split())
                self.assertGreater(handled, 500, "instructions")
                r = ledger.report(f"{folder}/{mode}.{pid}")
                stacks = [s for s in r["stacks"] if ledger.functions(s)[:1] == ["site_leaf"]]
                for key in ("allocations", "frees"):
                    self.assertIn(ledger.total(stacks, key) - taken, range(20), key)

    def test_frame_pointers(self):
        """Built with frame pointers, the walk along them sees our functions too."""
        done = self.profile([ledger.program("shapes_frames.fp"), "100"], "--stacks", "fp")
        r = done.report
        for shape in map(json.loads, done.out.splitlines()):
            if "compare" in shape["within"]:  # called back by the C library, which keeps none
                continue
            stacks = [s for s in r["stacks"] if ledger.functions(s)[:1] == [shape["site"]]]
            self.assertEqual(ledger.total(stacks, "allocations"), shape["allocations"], shape["site"])
            for stack in stacks:
                self.assertTrue(shows(ledger.functions(stack)[1:], shape["within"][:1]), f"{shape}: {ledger.functions(stack)}")

    def test_no_stacks(self):
        r = self.profile([ledger.program("shapes_jumps.O2")], "--stacks", "off").report
        self.assert_balanced(r)
        self.assertEqual([s["frames"] for s in r["stacks"] if s["frames"]], [])


if __name__ == "__main__":
    ledger.main()
