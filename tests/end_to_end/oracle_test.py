"""Real programs: the totals are valgrind's and those of a counting preload, and the peak is the counter's."""

import os
import shutil
import subprocess

import ledger
import oracle

CPP = """template <class T> struct list { T value; list* next; };
template <class T, int N> struct table {
  list<T>* slots[N] = {};
  list<T>*& at(T key) { return slots[key % N]; }
  template <class F> void each(F f) { for (auto* s : slots) for (; s; s = s->next) f(s->value); }
};
constexpr long fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
template <int... N> long sum() { return (fibonacci(N) + ...); }
struct base { virtual ~base() = default; virtual long run(long) = 0; };
template <int N> struct derived : base {
  table<unsigned, N + 3> t;
  long run(long x) override { long s = 0; t.each([&](unsigned v) { s += v * x; }); return s + sum<N, N + 1, N + 2>(); }
};
long all(long x) { derived<1> a; derived<2> b; derived<5> c; base* p[] = {&a, &b, &c}; for (auto* q : p) x += q->run(x); return x; }
"""
SQL = """create table t(a integer, b text);
with recursive c(n) as (select 1 union all select n+1 from c where n<5000)
  insert into t select n, hex(n*7919%10007) from c;
create index i on t(b);
select count(*), min(b), max(b) from t where b > '3';
"""
CMAKE = """foreach(i RANGE 500)
  math(EXPR sum "0${sum} + ${i}")
  list(APPEND all "item${i}")
endforeach()
list(SORT all)
string(JSON json SET "{}" a "\\"${sum}\\"")
string(SHA256 hash "${all}")
message("${sum} ${hash} ${json}")
"""
PYTHON = r"""import json, re, collections, decimal
d = {str(i): [i, float(i), None, {"k": "v" * (i % 50)}] for i in range(500)}
s = json.dumps(d)
print(len(s), len(re.findall(r"\d+", s)), len(json.loads(s)), decimal.Decimal(1) / 7)
print(collections.Counter(s).most_common(3))
"""
PERL = r'my %h; $h{$_ % 701} .= chr(65 + $_ % 26) for 1 .. 20000; print join(",", map { length } @h{sort keys %h}), "\n"'
JQ = '[range(3000) | {id: ., name: "n\\(.)"}] | group_by(.id % 7) | map({k: .[0].id, n: length, s: (map(.name) | join(","))})'


class Oracle(ledger.Case):
    def agree(self, command, *, threads=0, layout_block_bytes=0, parent_as_text=False, peak=True, valgrind_options=()):
        """`layout_block_bytes`: how large a block is that the program allocates for each range of addresses it meets.
        `parent_as_text`: it keeps the number of its parent in a block as long as its digits: the tool's, or this process's.
        """
        # Each thread has a table with 16 bytes for every module with thread-local storage: the counter is one more.
        own = 16 * threads
        def adjust(books, ranges, *more):
            self.assertLessEqual(abs(ranges), 3)
            for key, each in (("allocations", 1), ("live_blocks", 1), ("allocated_bytes", layout_block_bytes),
                              ("live_bytes", layout_block_bytes), *more):
                books[key] -= ranges * each

        # Where the oracles differ they say nothing of us. Of some two hundred runs of Python under valgrind, one made an
        # allocation fewer than it does under anything else.
        for _ in range(3):
            expected, watched = oracle.valgrind(command, self.path("valgrind.log"), valgrind_options)
            counted, alone = oracle.counter(command, self.dir)
            # An oracle that changes what the program does is none.
            self.assertEqual((watched.status, watched.out), (0, alone.out), f"under valgrind: {watched}")
            if layout_block_bytes:
                adjust(expected, expected["allocations"] - counted["allocations"])
            differing = [key for key, value in expected.items()
                         if counted[key] - (own if key in ("allocated_bytes", "live_bytes") else 0) != value]
            if not differing:
                break
        self.assertFalse(differing, f"the oracles differ: {expected}, {counted}")
        done = self.profile_fixed(command)
        self.assertEqual((done.status, done.out, done.err), (0, alone.out, alone.err))
        program = command[1 if command[0] == oracle.LOADER else 0]
        r, = done.of(os.path.basename(os.path.realpath(program)))
        self.assert_balanced(r)
        if layout_block_bytes:  # our own mappings may move the program's across the end of a range
            adjust(r["totals"], r["totals"]["allocations"] - expected["allocations"], ("peak_bytes", layout_block_bytes))
        if parent_as_text:
            for key in ("allocated_bytes", "live_bytes", "peak_bytes"):
                r["totals"][key] -= len(str(r["process"]["parent_pid"])) - len(str(os.getpid()))
        own = 16 * threads * oracle.has_thread_storage(ledger.PROBE)
        for key, value in expected.items():
            more = own if key in ("allocated_bytes", "live_bytes") else 0
            self.assertEqual(r["totals"][key], value + more, f"{key}: ours and valgrind's for {command}")
        if not threads:
            for key in ("reallocations", "peak_bytes") if peak else ("reallocations",):
                self.assertEqual(r["totals"][key], counted[key], f"{key}: ours and the counter's")
            self.assertEqual(r["totals"]["peak_bytes_error"], 0)
        else:
            self.assertEqual(len(r["threads"]), threads + 1)
        return r

    def profile_fixed(self, command):
        """With the addresses and the environment that the oracles give it. The environment's own test is elsewhere."""
        folder = self.path("profiles")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        run = [*oracle.FIXED_ADDRESSES, "/usr/bin/env", f"LD_PRELOAD={oracle.HELPER}", ledger.BIN, "run", "-q", "-o",
               os.path.join(folder, "%e.%p.hlp"), "--", *command]
        done = ledger.execute(run, env=oracle.ENVIRONMENT, pass_env=True)
        return ledger.Profiled(done, folder)

    def test_git(self):
        repository = self.path("repository")
        env = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "c",
               "GIT_COMMITTER_EMAIL": "c@example.org", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        git = ["git", "-C", repository]
        environment = ledger.plain_environment(env)
        subprocess.run(["git", "init", "-q", repository], check=True, env=environment)
        for i in range(25):
            self.write("repository/file", "".join(f"{n * i % 17}\n" for n in range(i * 10)))
            date = {"GIT_AUTHOR_DATE": f"{1600000000 + i} +0000", "GIT_COMMITTER_DATE": f"{1600000000 + i} +0000"}
            subprocess.run([*git, "add", "file"], check=True, env=environment)
            subprocess.run([*git, "commit", "-q", "-m", f"change {i}"], check=True, env=environment | date)
        self.agree(["/usr/bin/git", "-C", repository, "log", "--stat", "-p"])

    def test_sqlite3(self):
        self.agree(["/usr/bin/sqlite3", ":memory:", f".read {self.write('index.sql', SQL)}"])

    def test_cc1plus(self):
        compiler = subprocess.check_output(["g++", "-print-prog-name=cc1plus"], text=True).strip()
        # Its garbage collector has a table of 32,768 bytes for every 4 GiB of addresses that it meets.
        self.agree([compiler, "-quiet", "-std=c++20", "-O2", self.write("small.cpp", CPP), "-o", "/dev/null"],
                   layout_block_bytes=32768)

    def test_perl(self):
        self.agree(["/usr/bin/perl", "-e", PERL])

    def test_python(self):
        # Python's integers grow with the addresses they hold. Started through the loader, its heap lies high; with
        # this option valgrind's does too, and every address takes the same two digits. In which order it frees depends
        # on addresses all the same, so that the peak of two runs differs by some hundred bytes, under any oracle.
        command = [oracle.LOADER, "/usr/bin/python3", "-S", "-s", "-P", self.write("script.py", PYTHON)]
        self.agree(command, peak=False, valgrind_options=["--aspace-minaddr=0x60000000"])

    def test_xz(self):
        self.agree(["/usr/bin/xz", "-6", "-T1", "-k", "-c", "/usr/bin/xz"])

    def test_xz_with_a_thread(self):
        self.agree(["/usr/bin/xz", "-T2", "-6", "-k", "-c", "/usr/bin/xz"], threads=1)

    def test_jq(self):
        self.agree(["/usr/bin/jq", "-n", JQ])

    def test_cmake(self):
        self.agree(["/usr/bin/cmake", "-P", self.write("script.cmake", CMAKE)])

    def test_bash(self):
        script = "for i in {1..300}; do a[i]=x$i; done; echo ${#a[@]} ${a[@]//x/y}"
        self.agree(["/usr/bin/bash", "-c", script], parent_as_text=True)  # its variable PPID

    def test_openssl(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        self.agree(["/usr/bin/openssl", "dgst", "-sha256", "/usr/bin/xz"])

    def test_find_sort_awk(self):
        self.agree(["/usr/bin/find", "/usr/share/bash-completion", "-name", "*.cmake*"])
        numbers = self.write("numbers", "".join(f"{i * 7919 % 10007}\n" for i in range(5000)))
        self.agree(["/usr/bin/sort", "--parallel=1", numbers])
        self.agree(["/usr/bin/mawk", "{n[$1 % 97]++} END {for (k in n) c += n[k] * k; print c}", numbers])


if __name__ == "__main__":
    ledger.main()
