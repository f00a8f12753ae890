"""Scopes and budgets: what programs under the probe find when they look at themselves, and what the profile says."""

import os
import signal
import subprocess
import unittest

import ledger

EXAMPLES = os.path.normpath(os.path.join(ledger.PROGRAMS, "..", "..", "examples"))
CASES = {
    "scopes": ["credits", "entry_points", "nested", "threads", "alternating", "moves", "forked", "many_kinds"],
    "scope_peaks": ["between_looks", "of_others", "joined", "seen", "folded", "leased", "kept_for_nothing"],
    "scope_lives": ["outliving", "churn", "resized_last", "passing_through", "odd_moments", "after_the_last_destructor", "unloaded", "moved_in", "moved_out", "closed_with_leases"],
    "scope_corners": ["table_full", "asked_while_it_ends", "closed_in_a_reaction", "back_into_closed", "refused_and_folded", "forked_in_a_reaction", "foreign_outlives", "foreign_late", "foreign_inherited", "copied_result", "attached_in_c", "first_budget", "unloaded_before", "unloaded_after"],
    "scope_limits": ["refused_resize", "refused_resize_of_large", "reaction_in_resize", "resized_at_the_limit", "past_the_limit", "transfer_of_nothing", "many_soft_budgets", "nested_too_deep", "deep_on_a_small_stack", "foreign_in_portions", "threshold_above", "what_hung_on_it"],
    "budgets": ["fails", "counts", "ancestors", "stops", "spares", "noexcept", "reserve", "thresholds"],
    **{f"noexcept_code.{how}": ["containers", "rethrown", "handled"] for how in ("O0", "O2", "Os", "fixed", "linked", "clang0", "clang2")},
    "noexcept_code.within": ["containers", "rethrown"],  # what is thrown is std::bad_alloc
    "leases": ["last_byte", "overshoot", "many_leases", "to_the_last", "taken_back", "lease_gone", "counted_to_the_last"],
    "coroutines": ["resumed", "destroyed", "hopping", "kept", "not_begun", "guards", "destroyed_in_guards", "destroyed_by_itself"],
    "expectations": ["plain", "threads", "forked", "googletest"],
    "scope_reports": ["schedule", "thread", "asking", "forked", "foreign", "exits", "asked_last", "signals"],
    "executors": ["adding", "watching", "senders", "contexts", "fibers"],
    # where Asio, Boost and oneTBB are installed; and clang, above
    "asio_scopes": ["executor", "coroutine", "bound_handlers"],
    "asio_scopes_tracked": ["executor", "coroutine", "bound_handlers", "tracked"],
    "asio_scopes_boost": ["executor", "coroutine", "tracked"],
    "tbb_scopes": ["bodies", "tasks", "arena"],
}

FULL = ("many_kinds", "table_full", "nested_too_deep", "deep_on_a_small_stack")


class ScopesCase(ledger.Case):
    def checked(self, name, *arguments, options=(), **keywords):
        done = self.profile([ledger.program(name), *arguments], *options, **keywords)
        self.assertEqual(done.status, 0, f"{name} {' '.join(arguments)}: {done}")
        self.assertEqual(done.err, b"")
        return done

    def assert_scopes_balanced(self, r):
        """What scopes did and what was done outside of them is what the process did."""
        for key in ledger.BOOK_KEYS + ("live_bytes", "live_blocks"):
            self.assertEqual(ledger.total(r["scopes"], key), r["totals"][key], key)
            for scope in r["scopes"]:
                below = [s for s in r["scopes"] if s["scope"][:len(scope["scope"])] == scope["scope"]]
                if scope["scope"]:
                    self.assertEqual(scope["with_descendants"][key], ledger.total(below, key), scope["scope"])


class Scopes(ScopesCase):
    def test_cases(self):
        for name, cases in CASES.items():
            if ("clang" in name or name.startswith(("asio", "tbb"))) and not os.path.exists(ledger.program(name)):
                continue
            for case in cases:
                with self.subTest(program=name, case=case):
                    for r in self.checked(name, case).reports:
                        self.assert_sums(r)
                        self.assertEqual(r["errors"], [])
                        losses = r["profiler"]["losses"]
                        self.assertLessEqual(set(losses), {"inherited_frees", "scopes_full"} if case != "credits" else set())
                        self.assertEqual("scopes_full" in losses, case in FULL, losses)
                        if "scopes" in r:
                            self.assert_scopes_balanced(r)

    def test_more_kinds_than_the_table_holds(self):
        """What has no kind of its own leaves those of the scope above as they were."""
        r = self.checked("scopes", "many_kinds").report
        server, = [s for s in r["scopes"] if s["scope"] == ["server"]]
        self.assertEqual((server["opened"], server["closed"], server["budget"]), (1, 0, {"live_bytes": 1 << 20}))

    def test_few_scopes_in_turn(self):
        for count in ("2", "5"):
            self.checked("scopes", "alternating", count, "100000")

    def test_moved_out_of_scopes(self):
        """Blocks of unloaded code that are moved out of scopes take one account together."""
        r = self.checked("scope_lives", "moved_out", "200").report
        outside = [s for s in r["stacks"] if not s["scope"] and s["allocated_bytes"] == 20000]
        self.assertEqual([s["allocations"] for s in outside], [200])

    def test_code_that_comes_and_goes(self):
        """A scope gets accounts that its kind wanted before; none of code that is gone, though other code is where that was."""
        for options in ((), ("--check",)):
            r = self.checked("scope_lives", "plugins_in_turn", options=options).report
            inside = [s for s in r["stacks"] if s["scope"] == ["request"]]
            for which in ("a", "b"):
                stacks = [s for s in inside if f"site_plugin_{which}" in ledger.functions(s)]
                self.assertEqual(ledger.total(stacks, "allocations"), 10 * 300, which)
                self.assertEqual({ledger.module(ledger.frames(s)[0]) for s in stacks}, {f"plugin_{which}.so"})
            self.assertEqual(ledger.total(inside, "allocations"), 20 * 3 * 300)
            self.assertEqual(r["profiler"].get("check", {}).get("differences", 0), 0)

    def test_cases_without_stacks(self):
        for name, case in (("scopes", "credits"), ("scopes", "entry_points"), ("scope_peaks", "between_looks"), ("scopes", "threads")):
            with self.subTest(case=case):
                self.checked(name, case, options=["--stacks", "off"])

    def test_linked(self):
        """A program that is linked with the probe needs nobody to start it."""
        for name, case in (("scopes_linked", "credits"), ("budgets_linked", "fails")):
            with self.subTest(program=name):
                env = ledger.plain_environment({"HEAPLEDGER_OUTPUT": self.path("linked.%p.hlp")})
                done = subprocess.run([ledger.program(name), case], env=env, capture_output=True, check=False, timeout=ledger.TIMEOUT)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_without_the_probe(self):
        done = ledger.execute([ledger.program("scopes"), "credits"])
        self.assertEqual((done.status, done.out), (3, b"inactive\n"))
        done = ledger.execute([ledger.program("scope_corners"), "absent"])
        self.assertEqual((done.status, done.err), (0, b""))

    def test_without_books(self):
        """Where the probe is told to leave the program alone nothing is over budget, and nothing is left as it was found."""
        done = ledger.execute([ledger.program("scope_corners"), "uncounted"], env={"LD_PRELOAD": ledger.PROBE, "HEAPLEDGER_ONLY": "other"})
        self.assertEqual((done.status, done.err), (0, b""))

    def test_expectations_without_the_probe(self):
        """They are met, and say that nothing was measured."""
        done = ledger.execute([ledger.program("expectations"), "unmeasured"])
        self.assertEqual((done.status, done.out), (0, b"met, not measured\n"), done)

    def test_programs_whose_allocations_are_not_counted(self):
        """Linked with the probe, behind an allocator or operators of their own: they are told that nothing is measured, and why."""
        env = {"HEAPLEDGER_OUTPUT": "/dev/null"}
        own = "the probe keeps no books of this program: its malloc is not the probe's"
        for name, active, budget, why in (
                ("malloc", 0, "let through", own), ("asan", 0, "let through", own),
                ("hidden", 1, "let through", "the program's malloc and free are its own"),
                ("operators", 1, "refused", "the program's operators new and delete are its own")):
            with self.subTest(program=name):
                done = ledger.execute([ledger.program(f"unmeasured_{name}")], env=env)
                said, reason = done.out.decode().splitlines()
                self.assertEqual((done.status, said), (0, f"active {active}, met, not measured, {budget}"), done)
                self.assertIn(f"not measured: {why}", reason)
        done = ledger.execute([ledger.program("measured")], env=env)
        self.assertEqual((done.status, done.out), (0, b"active 1, not met, measured, refused\n"), done)

    def test_names_of_an_expectation(self):
        """What the dynamic symbols do not name is named by the command at the end of the text."""
        done = ledger.execute([ledger.program("measured"), "text"], env={"HEAPLEDGER_OUTPUT": "/dev/null"})
        advice = done.out.decode().splitlines()[-1]
        self.assertNotIn(b"allocates(unsigned long)", done.out)
        self.assertTrue(advice.startswith("  for names link with -rdynamic, or: addr2line "), done)
        named = subprocess.run(advice.partition("or: ")[2], shell=True, capture_output=True, check=True, timeout=ledger.TIMEOUT)
        self.assertIn(b"allocates(unsigned long)", named.stdout)
        self.assertIn(b"main", named.stdout)

    def test_handlers(self):
        """A handler that interrupts bookings, on an allocator that may be interrupted."""
        ring = ledger.program("ring_allocator.so")
        done = self.checked("scopes", "signals", env={"LD_PRELOAD": ring})
        r = done.of("scopes")[0]
        self.assert_sums(r)
        self.assert_scopes_balanced(r)

    def test_a_million_scopes(self):
        """What the books take depends on how many scopes live at once, not on how many there were."""
        few = self.checked("scope_lives", "recycling", "10000").report
        many = self.checked("scope_lives", "recycling", "1000000").report
        self.assertEqual(sum(s["opened"] for s in many["scopes"] if s["scope"] not in ([], ["before main"])), 1000200)
        self.assertEqual(sum(s["closed"] for s in many["scopes"] if s["scope"]), 1000200)
        self.assertGreaterEqual(many["totals"]["allocations"] - few["totals"]["allocations"], 2 * 990000)
        self.assertLessEqual(many["profiler"]["own_bytes"], few["profiler"]["own_bytes"] + (1 << 20))
        self.assertLessEqual(many["profiler"]["accounts"], few["profiler"]["accounts"] + 1000)
        self.assert_scopes_balanced(many)

    def test_a_crowd(self):
        """Hundreds of threads, most of them stopped in the middle of something: scopes are recycled nevertheless."""
        r = self.checked("scope_crowd", "requests").report
        self.assert_scopes_balanced(r)
        self.assertEqual(r["profiler"]["losses"], {})
        self.assertLess(r["profiler"]["accounts"], 600_000)

    def test_profile(self):
        r = self.checked("scopes", "profile").report
        rows = {tuple(s["scope"]): s for s in r["scopes"]}
        self.assertEqual(set(rows), {(), ("server",), ("server", "request"), ("server", "query")})
        server, query, request = rows[("server",)], rows[("server", "query")], rows[("server", "request")]
        self.assertEqual((server["opened"], server["live_bytes"], server["allocations"]), (1, 1000, 1))
        self.assertEqual(server["with_descendants"]["live_bytes"], 6007)
        self.assertEqual((query["opened"], query["closed"], query["allocations"], query["frees"]), (10, 10, 20, 10))
        self.assertEqual((query["live_bytes"], query["peak_bytes"]), (7, 100))
        self.assertEqual((request["refusals"], request["budget"]), (1, {"live_bytes": 1 << 20}))
        self.assertEqual((request["allocated_bytes"], request["closed"]), (5000, 0))
        self.assert_scopes_balanced(r)
        stacks = [s for s in r["stacks"] if s["scope"] == ["server", "query"]]
        self.assertEqual(ledger.total(stacks, "allocations"), 20)
        self.assertEqual(len(stacks), 2, "ten queries allocate at two places")
        self.assertTrue(any("profile" in f["function"] for s in stacks for f in ledger.frames(s)))

    def test_scopes_that_are_left_open(self):
        """At exit a peak is known to the byte; after a kill as far as the scope's thread had told it, and no less than what lives."""
        for how, outer, inner in (("0", 105500, 5500), ("1", 106000, 6000)):
            done = self.profile([ledger.program("scope_peaks"), "left_open", how])
            self.assertEqual(done.status, 0 if how == "0" else 128 + signal.SIGKILL)
            peaks = {tuple(s["scope"]): s["peak_bytes"] for s in done.report["scopes"] if s["scope"]}
            self.assertEqual(peaks, {("a",): outer, ("a", "b"): inner})
            self.assert_scopes_balanced(done.report)

    def test_the_peak_of_the_process(self):
        """A thread takes it along into a scope, and out again."""
        for inside, scope in (("0", []), ("1", ["a"])):
            r = self.checked("scope_peaks", "process_peak", inside).report
            highest = max(r["stacks"], key=lambda s: s["peak_bytes"])
            self.assertEqual((highest["peak_bytes"], highest["scope"]), (1 << 20, scope))

    def test_code_without_exceptions(self):
        for name in ("scope_plain", "scope_mixed", "scope_mixed_before"):
            with self.subTest(program=name):
                self.checked(name)

    def test_no_memory_for_a_scope(self):
        r = self.checked("scope_no_memory", "constructor").report
        limited, = [s for s in r["scopes"] if s["scope"] == ["limited"]]
        self.assertEqual((limited["opened"], limited["closed"]), (1, 1))

    def test_freers(self):
        """Whose memory was freed by whom, and what outlived its scope."""
        done = self.checked("scopes", "freers")
        self.assert_scopes_balanced(done.report)
        rows = {(*r["owner"], "by", *r["freed_by"]): (r["frees"], r["freed_bytes"], r["late_frees"], r["late_bytes"])
                for r in done.report["freers"] if r["owner"] != r["freed_by"] or r["owner"]}
        # the test's own thread is freed where it was not made
        self.assertEqual(rows.pop(("by", "consumer")), (12, 12, 0, 0))
        self.assertEqual(rows, {
            ("producer", "by", "consumer"): (8, 800, 0, 0),
            ("producer", "by"): (2, 200, 0, 0),
            ("producer", "by", "producer"): (1, 100, 0, 0),
            ("ended", "by", "consumer"): (9, 90, 7, 70),
        })
        text = ledger.execute([ledger.BIN, "report", done.files[0]]).out.decode()
        self.assertRegex(text, r"\n  producer +consumer +800 B +8 +0 B\n")
        self.assertRegex(text, r"\n  producer +\(in no scope\) +200 B +2 +0 B\n")
        self.assertRegex(text, r"\n  ended +consumer +90 B +9 +70 B\n")
        self.assertRegex(text, r"all closed; 30 B in 3 blocks outlived them\n")

    def test_more_freers_than_the_table_holds(self):
        done = self.checked("scopes", "many_freers")
        r = done.report
        self.assert_scopes_balanced(r)
        lost = r["profiler"]["losses"]["freers_full"]
        pairs = [(row["owner"], row["freed_by"], row["frees"]) for row in r["freers"]]
        self.assertEqual(sum(frees for _, _, frees in pairs if frees == 1) + lost, 9900, "a hundred free their own")
        self.assertIn(lost, [frees for _, _, frees in pairs])
        text = ledger.execute([ledger.BIN, "report", done.files[0]]).out.decode()
        self.assertRegex(" ".join(text.split()), rf"{lost:,} frees were in another scope than the allocation, and not told apart")

    def test_text(self):
        profile = self.checked("scopes", "profile").files[0]
        text = ledger.execute([ledger.BIN, "report", profile]).out.decode()
        self.assertRegex(text, r"\nScopes\n")
        self.assertRegex(text, r"\n    query +7 B +100 B +1007 B +20 +10\n")
        self.assertRegex(text, r"budget 1.0 MiB live; 1 allocation refused")


class Examples(ScopesCase):
    def example(self, name):
        done = self.profile([os.path.join(EXAMPLES, f"example_{name}")])
        self.assertEqual((done.status, done.err), (0, b""))
        return done.out.decode().splitlines()

    def test_two_tasks(self):
        self.assertEqual(self.example("two_tasks"),
                         ["Allocated 24", "Allocated 12", "Allocated 24", "Allocated 0", "Allocated 0"])

    def test_nested_limits(self):
        self.assertEqual(self.example("nested_limits"), [
            "initial allocation 800 bytes in 1 allocations", "derived allocation 40000 bytes in 1 allocations",
            "total allocations 40800 bytes in 2 allocations", "5000"])

    def test_limited_requests(self):
        self.assertEqual(self.example("limited_requests"),
                         ["900 served, 100 refused, 0 over their limit, 0 left something"])

    @unittest.skipUnless(os.path.exists(os.path.join(EXAMPLES, "example_asio_server")), "no Asio here")
    def test_asio_server(self):
        """A scope for each of 24,000 requests, whose coroutines hop over threads; every tenth meets its budget."""
        done = self.profile([os.path.join(EXAMPLES, "example_asio_server"), "16", "1500"])
        self.assertEqual((done.status, done.err), (0, b""))
        self.assertEqual(done.out.decode().splitlines(), [
            "21600 served, 2400 refused, 0 over their limit, 0 left something, 0 in a wrong scope, 0 badly answered",
            "coroutines hopped, 0 bytes left of the server"])
        r = done.report
        self.assert_sums(r)
        self.assert_scopes_balanced(r)
        request = next(s for s in r["scopes"] if s["scope"] == ["server", "request"])
        self.assertEqual((request["opened"], request["closed"], request["refusals"]), (24000, 24000, 2400))
        self.assertEqual((request["live_bytes"], request["live_blocks"]), (0, 0))
        self.assertEqual((request["allocations"], request["allocated_bytes"]), (request["frees"], request["freed_bytes"]))
        self.assertLessEqual(request["peak_bytes"], 64 << 10)
        self.assertGreater(request["peak_bytes"], 60 << 10)
        self.assertEqual(request["overdrafts"], 0)
        rows = [s for s in r["stacks"] if s["scope"] == ["server", "request"]
                and any("handle" in f["function"] for f in ledger.frames(s))]
        self.assertGreaterEqual(ledger.total(rows, "allocated_bytes"), 21600 * 30 * 101, "what 30 rows take, each request")

    def test_three_limits(self):
        self.assertEqual(self.example("three_limits"), [
            "limit on live bytes: 1000", "limit on allocations: unlimited", "remaining allocations: 5",
            "1001 bytes at once: no", *["1000 bytes again: yes"] * 3, "1000 bytes again: no", "allocated: 3000", "live: 0",
            "remaining bytes: 0", "remaining allocations: 2", "exceeded: yes, and above it: no", "a page: yes, another: no",
            "since then: 7"])

    def test_measured_run(self):
        self.assertEqual(self.example("measured_run"), [
            "a request that parses twice",
            "parsed: 2 allocations, at most 1100 bytes, 100 of them outlive it",
            "greedy: 2 allocations, at most 11000 bytes, 0 of them outlive it, over its limit",
            "the request itself: 1 allocation; with what it called: 150 bytes live"])

    def test_cancelled_work(self):
        self.assertEqual(self.example("cancelled_work"), [
            "greedy request: stopped early", "modest request: goes on", "modest request: woken up"])

    def test_many_scopes(self):
        self.assertEqual(self.example("many_scopes"), [
            "100000 scopes with 24 bytes each", "100000 of them are gone, 1100000 allocations in all"])

    def test_periodic_report(self):
        self.assertEqual(self.example("periodic_report"), [
            "5000 bytes, the task is at work", "the task has ended, and left its result", "0 bytes"])

    def test_without_the_probe(self):
        for name in ("two_tasks", "nested_limits", "limited_requests", "three_limits", "cancelled_work", "many_scopes", "periodic_report",
                     "measured_run"):
            self.assertEqual(ledger.execute([os.path.join(EXAMPLES, f"example_{name}")]).status, 0)


if __name__ == "__main__":
    ledger.main()
