"""Every export is read by a program that we did not write, and says what the report says."""

import collections
import csv
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess

import ledger

HERE = os.path.dirname(os.path.abspath(__file__))
FORMATS = ("pprof", "heaptrack", "speedscope", "folded", "massif", "dhat", "csv")
MEASURES = {"live": "live_bytes", "peak": "peak_bytes", "allocated": "allocated_bytes", "count": "allocations",
            "temporary": "temporaries"}
DH_VIEW = next((path for path in ("/usr/libexec/valgrind/dh_view.js", "/usr/lib/valgrind/dh_view.js")
                if os.path.exists(path)), None)
HOSTILE = os.path.join(os.path.dirname(ledger.BIN), "hostile_profile")

# Scopes, recursion, inlined code and threads are in others; this one has many stacks, and blocks that are never freed.
PERL = ["perl", "-e", "my %c; for my $i (1..4000) { $c{'w' . ($i % 900)}++; my @a = (1..$i % 50); } print scalar keys %c"]


class Exports(ledger.Case):
    def export(self, kind, profile, *options, name=None):
        path = self.path(name or f"out.{kind}")
        done = ledger.execute([ledger.BIN, "export", "--format", kind, profile, "-q", "-f", "-o", path, *options])
        self.assertEqual((done.status, done.out), (0, b""), f"{kind}: {done}")
        self.said = done.err
        return path

    def run_reader(self, command):
        done = ledger.execute(command)
        self.assertEqual(done.status, 0, f"{command}: {done}")
        return done.out

    def pprof_by_go(self, path):
        reader = self.path("read_pprof")
        if not os.path.exists(reader):
            folder = self.path("go", "src", "read_pprof")
            os.makedirs(folder)
            shutil.copy(os.path.join(HERE, "read_pprof.go"), os.path.join(folder, "main.go"))
            env = {"GO111MODULE": "off", "GOPATH": self.path("go") + ":/usr/share/gocode", "HOME": self.dir,
                   "GOCACHE": self.path("gocache"), "GOFLAGS": "-p=1"}
            done = ledger.execute(["go", "build", "-o", reader, "read_pprof"], env=env)
            self.assertEqual(done.status, 0, done)
        return json.loads(self.run_reader([reader, path]))

    def pprof_by_protoc(self, path):
        """Sums by type, and the strings."""
        with gzip.open(path) as file:
            raw = file.read()
        done = ledger.execute(["protoc", f"--proto_path={HERE}", "--decode=Profile", "pprof.proto"], stdin=raw)
        self.assertEqual((done.status, done.err), (0, b""), done)
        text = done.out.decode()
        self.assertEqual(re.findall(r"^ *\d+: ", text, re.M), [], "fields that the schema does not know")
        strings = [json.loads(re.sub(r"\\(\d{3})", r"\\u00ff", s.replace("\\'", "'")), strict=False)
                   for s in re.findall(r'^strings: (".*")$', text, re.M)]
        kinds = [(strings[int(t)], strings[int(u)])
                 for t, u in re.findall(r"^kinds \{\n  type: (\d+)\n  unit: (\d+)\n\}", text, re.M)]
        sums = collections.Counter()
        for sample in re.findall(r"^samples \{\n(.*?)^\}", text, re.M | re.S):
            for kind, value in zip(kinds, re.findall(r"^  values: (-?\d+)$", sample, re.M), strict=True):
                sums[kind[0]] += int(value)
        return dict(sums), dict(kinds), strings

    def heaptrack(self, path):
        text = self.run_reader(["heaptrack_print", "-f", path]).decode("utf-8", "strict")
        tail = text[text.rindex("total runtime"):]
        found = {name: re.search(f"{name}: ([0-9.]+)([A-Z]*)", tail).groups() for name in (
            "calls to allocation functions", "temporary memory allocations", "peak heap memory consumption",
            "total memory leaked")}
        return text, found

    def check_totals(self, profile):
        """All formats but what needs a program that is not there."""
        totals = ledger.report(profile)["totals"]
        expected = {"alloc_objects": totals["allocations"], "alloc_space": totals["allocated_bytes"],
                    "temp_objects": totals["temporaries"], "peak_space": totals["peak_bytes"],
                    "inuse_objects": totals["live_blocks"], "inuse_space": totals["live_bytes"]}

        pprof = self.export("pprof", profile)
        self.assertEqual(self.pprof_by_protoc(pprof)[0], expected)
        read = self.pprof_by_go(pprof)
        self.assertEqual(read["default"], "peak_space")
        sums = [sum(stack["Values"][i] for stack in read["stacks"]) for i in range(len(read["types"]))]
        self.assertEqual(dict(zip((t.split("/")[0] for t in read["types"]), sums)), expected)

        _, seen = self.heaptrack(self.export("heaptrack", profile))
        self.assertEqual(self.said, b"")
        self.assertEqual(seen["calls to allocation functions"], (str(totals["allocations"]), ""))
        self.assertEqual(seen["temporary memory allocations"], (str(totals["temporaries"]), ""))
        self.assertEqual(seen["peak heap memory consumption"], heaptrack_bytes(totals["peak_bytes"]))
        self.assertEqual(seen["total memory leaked"], heaptrack_bytes(totals["live_bytes"]))

        self.check_folded(self.export("folded", profile), totals["peak_bytes"])
        for measure, key in MEASURES.items():
            self.check_folded(self.export("folded", profile, "--by", measure), totals[key])
            with open(self.export("speedscope", profile, "--by", measure), encoding="utf-8") as file:
                self.assertEqual([p["endValue"] for p in json.load(file)["profiles"]], [totals[key]])
        self.check_speedscope(self.export("speedscope", profile), totals)

        massif = self.run_reader(["ms_print", self.export("massif", profile)]).decode()
        rows = re.findall(r"^ +(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +0 +0$", massif, re.M)
        self.assertIn("(peak)", massif)
        by_number = {int(row[0]): int(row[3].replace(",", "")) for row in rows}
        self.assertEqual(by_number[int(re.search(r"(\d+) \(peak\)", massif)[1])], totals["peak_bytes"])
        self.assertEqual(by_number[max(by_number)], totals["live_bytes"])
        self.assertEqual(max(by_number.values()), totals["peak_bytes"])

        dhat = self.export("dhat", profile)
        with open(dhat, encoding="utf-8") as file:
            self.check_dhat_fields(json.load(file))
        if DH_VIEW and shutil.which("node"):
            viewed = json.loads(self.run_reader(["node", os.path.join(HERE, "read_dhat.js"), DH_VIEW, dhat]))
            for key in ("allocations", "allocated_bytes", "peak_bytes", "live_bytes", "live_blocks"):
                self.assertEqual(viewed[key], totals[key], f"DHAT's viewer: {key}")

        with open(self.export("csv", profile), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        for key in ledger.STACK_KEYS + ("live_bytes", "live_blocks", "peak_bytes"):
            self.assertEqual(sum(int(row[key]) for row in rows), totals[key], f"csv: {key}")

    def check_folded(self, path, total):
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")
        self.assertEqual(lines.pop(), "")
        self.assertEqual(sum(int(line.rpartition(" ")[2]) for line in lines), total)

    def check_speedscope(self, path, totals):
        with open(path, encoding="utf-8") as file:
            read = json.load(file)
        self.assertEqual(read["$schema"], "https://www.speedscope.app/file-format-schema.json")
        shown = {p["name"]: p for p in read["profiles"]}
        keys = {"at the peak": "peak_bytes", "never freed": "live_bytes", "allocated": "allocated_bytes",
                "allocations": "allocations"}
        self.assertEqual(set(shown), set(keys))
        for name, key in keys.items():
            one = shown[name]
            self.assertEqual((one["type"], one["startValue"], one["endValue"]), ("sampled", 0, totals[key]))
            self.assertEqual(one["unit"], "none" if key == "allocations" else "bytes")
            self.assertEqual(sum(one["weights"]), totals[key], name)
            self.assertEqual(len(one["weights"]), len(one["samples"]))
            used = {frame for sample in one["samples"] for frame in sample}
            self.assertLess(max(used, default=0), len(read["shared"]["frames"]))
            self.assertTrue(all(one["samples"]), "a sample without any frame")
        for frame in read["shared"]["frames"]:
            self.assertLessEqual(set(frame), {"name", "file", "line", "col"})

    def check_dhat_fields(self, read):
        self.assertEqual((read["dhatFileVersion"], read["mode"], read["bklt"], read["bkacc"]), (2, "heap", True, False))
        for key in ("verb", "tu", "Mtu", "tuth", "cmd", "pid", "te", "tg", "pps", "ftbl"):
            self.assertIn(key, read)
        self.assertEqual(read["ftbl"][0], "[root]")
        for point in read["pps"]:
            self.assertEqual(set(point), {"tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "fs"})
            self.assertTrue(all(0 < frame < len(read["ftbl"]) for frame in point["fs"]))
            self.assertTrue(point["mb"] >= max(point["gb"], point["eb"]) and point["mbk"] <= point["tbk"])


def heaptrack_bytes(value):
    """As heaptrack_print writes them: 1.23K, by thousands."""
    number, units = float(value), ["B", "K", "M", "G", "T"]
    while number >= 1000 and len(units) > 1:
        number /= 1000
        units.pop(0)
    return (str(value) if units[0] == "B" else f"{number:.2f}", units[0])


class Totals(Exports):
    def test_a_real_program(self):
        self.check_totals(self.profile(PERL).files[0])

    def test_threads_and_recursion(self):
        for command in ([ledger.program("books_threads"), self.path("books"), "3", "2000"],
                        [ledger.program("regression_after")]):
            done = self.profile(command)
            self.assertEqual(done.status, 0, done)
            self.check_totals(done.files[0])

    def test_scopes_are_labels_or_outermost_frames(self):
        done = self.profile([ledger.program("scopes"), "nested"])
        profile = done.files[0]
        scoped = [s for s in ledger.report(profile)["stacks"] if s["scope"]]
        self.assertTrue(scoped, done)
        read = self.pprof_by_go(self.export("pprof", profile))
        labels = collections.Counter(s["Scope"][0] for s in read["stacks"] if s["Scope"])
        self.assertEqual(labels, collections.Counter(" / ".join(s["scope"]) for s in scoped))
        with open(self.export("folded", profile, "--by", "count"), encoding="utf-8") as file:
            starts = {line.split(";")[0] for line in file}
        self.assertLessEqual({"scope " + s["scope"][0] for s in scoped}, starts)
        text, _ = self.heaptrack(self.export("heaptrack", profile))
        self.assertIn("scope " + scoped[0]["scope"][0], text)

    def allocated_by_label(self, profile):
        sums = {}
        for sample in self.pprof_by_go(self.export("pprof", profile))["stacks"]:
            label, = sample["Thread"]
            one = sums.setdefault(label, [0] * 6)
            for i, value in enumerate(sample["Values"]):
                one[i] += value
        return sums

    def test_threads_are_labels(self):
        """What a thread allocated is counted twice by the probe: by stack, and in the thread's own totals."""
        for command in ([ledger.program("books_threads"), self.path("books"), "3", "2000"],
                        [ledger.program("markers"), "threads"], [ledger.program("scopes"), "nested"]):
            profile = self.profile(command).files[0]
            report = ledger.report(profile)
            own = collections.Counter()
            for thread in report["threads"]:
                name = thread["name"].replace("\x1b", "\\x1b")  # one of them is an order to a terminal
                own[f"{name} {thread['tid']}"] += thread["allocations"]
            by_tid = collections.Counter()
            for stack in report["stacks"]:
                by_tid[stack.get("tid")] += stack["allocations"]
            self.assertIn(report["process"]["pid"], by_tid)
            self.assertLessEqual(by_tid[report["process"]["pid"]], report["threads"][0]["allocations"])
            shown = self.allocated_by_label(profile)
            several = shown.pop("several", [0] * 6)
            self.assertEqual(several[:3], [0, 0, 0], command)
            self.assertEqual({label: sums[0] for label, sums in shown.items()}, {k: v for k, v in own.items() if v})
            self.assertEqual([sum(sums[i] for sums in [several, *shown.values()]) for i in (3, 5)],
                             [report["totals"]["peak_bytes"], report["totals"]["live_bytes"]])

    def test_threads_that_are_not_known_are_several(self):
        """Threads one after another share books, and hundreds in scopes share accounts: no label says more than the
        thread did."""
        code = ("import threading\n"
                "for i in range(6):\n"
                "  t = threading.Thread(target=lambda: [bytes(1000 + i) for i in range(500)]); t.start(); t.join()")
        for command, at_least in ((["python3", "-c", code], 6 * 500), ([ledger.program("scopes"), "threads"], 0),
                                  ([ledger.program("scope_crowd"), "requests", "300", "40"], 1)):
            profile = self.profile(command, env={"PYTHONMALLOC": "malloc"}).files[0]
            report = ledger.report(profile)
            own = {f"{thread['name']} {thread['tid']}": thread for thread in report["threads"]}
            shown = self.allocated_by_label(profile)
            self.assertEqual(sum(sums[0] for sums in shown.values()), report["totals"]["allocations"])
            self.assertGreaterEqual(shown.pop("several", [0])[0], at_least, command)
            for label, sums in shown.items():
                self.assertLessEqual(sums[0], own[label]["allocations"])
                self.assertLessEqual(sums[1], own[label]["allocated_bytes"])

    def test_inlined_frames_and_build_ids_reach_pprof(self):
        profile = self.profile([ledger.program("regression_after")]).files[0]
        report = ledger.report(profile)
        read = self.pprof_by_go(self.export("pprof", profile))
        frames = collections.Counter(tuple(f["function"] for f in s["frames"] if "function" in f)
                                     for s in report["stacks"])
        self.assertEqual(collections.Counter(tuple(s["Frames"] or ()) for s in read["stacks"]), frames)
        self.assertTrue(any(f["inlined"] for s in report["stacks"] for f in s["frames"]))
        builds = {f"{m['path']} {m['build_id']}" for m in report["modules"] if "build_id" in m}
        self.assertLessEqual(builds, set(read["builds"]))
        self.assertTrue(read["builds"][0].startswith(ledger.program("regression_after")), read["builds"])


class Hostile(Exports):
    """Names with spaces, quotes, semicolons, brackets, line ends, escape sequences, and bytes that are not UTF-8."""

    def setUp(self):
        super().setUp()
        self.hostile = self.path("hostile.hlp")
        self.run_reader([HOSTILE, self.hostile])

    def test_totals_are_read_back(self):
        self.check_totals(self.hostile)

    def test_names_are_whole_and_harmless(self):
        for kind in FORMATS:
            path = self.export(kind, self.hostile)
            with (gzip.open if kind == "pprof" else open)(path, "rb") as file:
                data = file.read()
            if kind != "pprof":
                text = data.decode("utf-8", "strict").replace("\r\n", "\n")
                self.assertNotRegex(text, r"[\x00-\x08\x0b-\x1f\x7f\u202e]", kind)
            self.assertIn(rb"not utf-8", data, kind)
            self.assertNotIn(b"\xff", data if kind != "pprof" else b"", kind)

    def test_lines_of_text_formats_are_ours(self):
        with open(self.export("folded", self.hostile, "--by", "count"), encoding="utf-8", newline="\n") as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines), 9)
        self.assertIn('scope query: "a"\\x0a/ b 7;scope <part>;main;f<a, "b">(char const*) const:\\x0a 12345 5', lines)
        with open(self.export("massif", self.hostile), encoding="utf-8") as file:
            self.assertEqual(len(re.findall("^snapshot=", file.read(), re.M)), 4)
        with open(self.export("csv", self.hostile), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        self.assertEqual(len(rows), 9)
        names = {row["function"] for row in rows}
        self.assertIn("'=HYPERLINK(\"http://x\",1)", names)
        self.assertIn('f<a, "b">(char const*) const;\\x0a 12345', names)
        self.assertIn('query; "a"\\x0a/ b 7 / <part>', {row["scope"] for row in rows})

    def test_pprof_has_the_names(self):
        read = self.pprof_by_go(self.export("pprof", self.hostile))
        names = {frame for stack in read["stacks"] for frame in stack["Frames"] or ()}
        self.assertLessEqual({'f<a, "b">(char const*) const;\\x0a 12345', "</script><script>alert('1')</script>",
                              '\\xff\\xfe\\x80 not utf-8 \\u{202e} turned', "\\x1b[31mred\\x07", "[no stack]"}, names)

    def test_pprof_shortens_no_name_to_nothing(self):
        """It takes out what is in brackets, of templates and parameters."""
        path = self.export("pprof", self.hostile)
        env = {"HOME": self.dir, "GOCACHE": self.path("gocache")}
        done = ledger.execute(["go", "tool", "pprof", "-traces", path], env=env)
        self.assertEqual(done.status, 0, done)
        lines = {line.split("   ")[-1].strip().removesuffix(" (inline)") for line in done.out.decode().splitlines()}
        self.assertLessEqual({"<a<T> as b>::f::<c>", "ns::(anonymous namespace)::g(int)", "std::vector::reserve",
                              "h(int)::{lambda()#1}::operator()() const"}, lines)

    def test_ms_print_takes_no_name_for_a_comment(self):
        text = self.run_reader(["ms_print", self.export("massif", self.hostile)]).decode()
        self.assertRegex(text, r"h\(int\)::\{lambda\(\):1\}::operator\(\)\(\) const \(.*\.cpp:6\)\n")
        self.assertIn("\\012:-----------\\012snapshot=9", text)


class Command(Exports):
    def test_standard_output_and_files(self):
        profile = self.profile(["true"]).files[0]
        plain = self.export("folded", profile)
        with open(plain, "rb") as file:
            text = file.read()
        for out in ((), ("-o", "-"), ("-o", "/dev/stdout")):
            done = ledger.execute([ledger.BIN, "export", "--format", "folded", profile, "-q", *out])
            self.assertEqual((done.status, done.out, done.err), (0, text, b""))
        with gzip.open(self.export("folded", profile, name="x.gz")) as file:
            self.assertEqual(file.read(), text)

    def test_the_next_step_can_be_typed(self):
        profile = self.profile(["true"]).files[0]
        for kind, name, by, said in (
                ("folded", "my f", "peak", "; type: flamegraph.pl --color=mem --countname=bytes {f} >flame.svg"),
                ("folded", "f", "count", "; type: flamegraph.pl --color=mem --countname=allocations {f} >flame.svg"),
                ("folded", "f.gz", "temporary",
                 "; type: gunzip {f}.gz; flamegraph.pl --color=mem --countname=allocations {f} >flame.svg"),
                ("massif", "m.gz", "", "; type: gunzip {f}.gz; ms_print {f}"),
                ("dhat", "d.gz", "", "; type: gunzip {f}.gz; open valgrind's dh_view.html in a browser, and load {f} there"),
                ("heaptrack", "h.gz", "", "; type: heaptrack_gui {f}.gz"),
                ("csv", "c.gz", "", "")):
            path = self.path(name)
            done = ledger.execute([ledger.BIN, "export", "--format", kind, *(["--by", by] if by else []), profile, "-o", path, "-f"])
            file = shlex.quote(path.removesuffix(".gz"))
            self.assertEqual(done.err.decode(), f"heapledger: wrote {path}{said.format(f=file)}\n")
        done = ledger.execute(["sh", "-c", f"gunzip {self.path('m.gz')}; ms_print {self.path('m')}"])
        self.assertEqual((done.status, done.err), (0, b""), done)

    def test_an_existing_file_stays_unless_asked(self):
        profile = self.profile(["true"]).files[0]
        mine = self.write("mine", "precious")
        done = ledger.execute([ledger.BIN, "export", "--format", "csv", profile, "-o", mine])
        self.assertEqual((done.status, done.out), (125, b""))
        self.assertIn(b"exists; choose another name with -o, or overwrite it with -f", done.err)
        with open(mine, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        done = ledger.execute([ledger.BIN, "export", "--format", "csv", profile, "-o", mine, "-f"])
        self.assertEqual(done.status, 0, done)
        self.assertEqual(sorted(os.listdir(self.dir)), ["mine", "profiles-1"])

    def test_an_unreadable_profile_leaves_nothing(self):
        bad = self.write("bad.hlp", "no profile at all")
        done = ledger.execute([ledger.BIN, "export", "--format", "dhat", bad, "-o", self.path("out")])
        self.assertEqual((done.status, done.err.count(b"\n")), (125, 1), done)
        self.assertEqual(os.listdir(self.dir), ["bad.hlp"])

    def test_a_full_disk_is_said(self):
        profile = self.profile(["true"]).files[0]
        for out in (["-o", "/dev/full"], []):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([ledger.BIN, "export", "--format", "csv", profile, "-q", *out], stdout=full,
                                      stderr=subprocess.PIPE, env=ledger.plain_environment(), check=False)
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(b"No space left", done.stderr)


if __name__ == "__main__":
    ledger.main()
