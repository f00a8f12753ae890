"""Real programs do under heapledger what they do alone, byte for byte."""

import shutil

import ledger

BASH = r"""
trap 'echo "trap exit $?"' EXIT
trap 'echo "usr1"' USR1
set -o pipefail
echo "$(echo nested "$(printf '%s-' a b c)")"
for i in 1 2 3; do (echo "subshell $i"; exit $i); echo "status $?"; done
seq 1 100 | sort -rn | head -3 | tr '\n' ' ' | cat
false | true; echo "pipe ${PIPESTATUS[*]}"
kill -USR1 $$
{ read -r line; echo "read $line"; } < <(echo from substitution)
cat <<< "here string"
coproc { cat; }; echo to coproc >&"${COPROC[1]}"; read -r back <&"${COPROC[0]}"; echo "$back"; eval "exec ${COPROC[1]}>&-"
wait
set -m
sh -c 'exit 4' & wait $!; echo "job $?"
sh -c 'kill -TERM $$' & wait $! 2>/dev/null; echo "killed $?"
mkfifo pipe; (echo through a pipe > pipe) & read -r text < pipe; wait; echo "$text"
exec 7> seven; echo seven >&7; exec 7>&-; cat seven
ulimit -c; umask; echo "$#" "$0"; type -t cat; compgen -b | wc -l
nonexistent-command; echo "missing $?"
for i in $(seq 1 40); do /usr/bin/printf '%s ' "$i"; done
exec sh -c 'echo last; exit 9'
"""
PYTHON = r"""
import ctypes, decimal, hashlib, json, multiprocessing, os, queue, signal, sqlite3, ssl, subprocess, sys, threading, zlib
def square(n): return sum(i * i for i in range(n))
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, range(20)))
    q, out = queue.Queue(), []
    def worker():
        while (n := q.get()) is not None: out.append(len(str(decimal.Decimal(n).sqrt() * square(n))) > 0)
    threads = [threading.Thread(target=worker) for _ in range(4)]
    for t in threads: t.start()
    for n in range(200): q.put(n)
    for t in threads: q.put(None)
    for t in threads: t.join()
    print(len(out), all(out))
    print(subprocess.run(["sh", "-c", "cat; echo err >&2; exit 3"], input=b"in", capture_output=True))
    print(sqlite3.connect(":memory:").execute("select count(*) from (values (1), (2))").fetchone())
    print(hashlib.sha256(json.dumps(list(range(100))).encode()).hexdigest(), zlib.crc32(b"x" * 1000))
    print(ctypes.CDLL(None).abs(-3), ctypes.CDLL("libm.so.6").sqrt is not None, bool(ssl.OPENSSL_VERSION))
    signal.signal(signal.SIGUSR1, lambda *_: print("handled"))
    os.kill(os.getpid(), signal.SIGUSR1)
    pid = os.fork()
    if not pid: os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    sys.exit(6)
"""
PERL = r"""
use strict; use POSIX ":sys_wait_h"; $| = 1;
my @children;
for my $i (1 .. 5) {
  pipe(my $r, my $w); my $pid = fork();
  if (!$pid) { close $r; print $w join(",", map { $_ * $i } 1 .. 100); close $w; exit $i; }
  close $w; local $/; print length(<$r>), "\n"; waitpid($pid, 0); print $? >> 8, "\n";
}
local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; select(undef, undef, undef, 10); }; print $@;
print `echo from a shell`; system("exit 7"); print $? >> 8, "\n"; exec("sh", "-c", "exit 8");
"""
CPP = """#include <algorithm>
#include <iostream>
#include <map>
#include <string>
int main() { std::map<std::string, int> m{{"a", 1}, {"b", 2}}; for (auto& [k, v] : m) std::cout << k << v; std::cout << 1 / 0; }
"""
MAKEFILE = """all: $(foreach n,1 2 3 4 5 6 7 8,out$(n))
out%: in
\t@tr a-z A-Z < in > $@; printf '%s\\n' $* >> $@
fail: all
\t@cat out1 out8; exit 3
"""
GIT = """
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_DATE='1600000000 +0000' GIT_COMMITTER_DATE='1600000000 +0000'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@d
git init -q -b main one && cd one
for i in 1 2 3 4 5 6; do seq $i 500 > f$i; git add f$i; git commit -q -m "change $i"; done
git repack -adq; git gc -q; git fsck 2>/dev/null; git log --stat --oneline; git diff HEAD~3 | tail -5
cd .. && git clone -q one two 2>&1 && cd two && git log -1 --format=%H && git grep -c 499 | sort
git bisect start HEAD HEAD~5 >/dev/null && git bisect run sh -c 'test ! -e f4' | grep 'first bad'
git nonsense; echo "status $?"; cd .. && rm -rf one two
"""


class Programs(ledger.Case):
    def need(self, *names):
        for name in names:
            if not shutil.which(name):
                self.skipTest(f"{name} is not installed")

    def script(self, name, text, interpreter, **keywords):
        return self.assert_same([*interpreter, name], files={name: text}, **keywords)

    def test_bash(self):
        done = self.script("script.bash", BASH, ["/usr/bin/bash"], processes=50)
        self.assertEqual(done.status, 9)
        self.assertEqual(len(done.of("printf")), 40)

    def test_python(self):
        done = self.script("script.py", PYTHON, ["/usr/bin/python3", "-B"], processes=8)
        self.assertEqual(done.status, 6, done)

    def test_perl(self):
        self.assertEqual(self.script("script.pl", PERL, ["/usr/bin/perl"], processes=8).status, 8)

    def test_compiler_driver(self):
        compile_and_run = "g++ -std=c++20 -O2 -Wall -Wextra -c a.cpp; echo $?; g++ a.o -o a && ./a; echo $?; rm -f a"
        self.assert_same(["sh", "-c", compile_and_run], files={"a.cpp": CPP}, processes=6)
        done = self.assert_same(["gcc", "-pipe", "-c", "broken.c"], files={"broken.c": "int main( { return nothing; }\n"})
        self.assertEqual(done.status, 1)

    def test_make_in_parallel(self):
        files = {"Makefile": MAKEFILE, "in": "text\n"}
        self.assertEqual(self.assert_same(["make", "-j2"], files=files, processes=17).status, 0)
        self.assertEqual(self.assert_same(["make", "-s", "-j3", "fail"], files=files).status, 2)

    def test_git(self):
        self.script("script.sh", GIT, ["/bin/sh"], processes=40)

    def test_xz_and_tar(self):
        script = """mkdir d; for i in 1 2 3 4; do seq 1 40000 > d/f$i; done
tar --sort=name --mtime=@0 --owner=0 --group=0 -cJf a.tar.xz d && tar -tvf a.tar.xz && sha256sum a.tar.xz
xz -T2 --block-size=100KiB -k -c d/f1 | sha256sum; xz -dc a.tar.xz | gzip -n | sha256sum; xz -t in 2>&1; echo $?; rm -r d"""
        self.assert_same(["/bin/sh", "-c", script], files={"in": "no archive"}, processes=8)

    def test_sort_find_xargs(self):
        lines = "".join(f"{i * 7919 % 100003} {i}\n" for i in range(60000))
        script = """sort --parallel=2 -S 200k -n in | sha256sum; split -l 5000 in part.
find . -name 'part.*' -print0 | sort -z | xargs -0 -P2 -n1 sha256sum | sort; rm part.*
awk '{n += $1} END {print n}' in; sed -n '5,8s/1/X/gp' in; grep -c 77 in; diff in in && echo same"""
        self.assert_same(["/bin/sh", "-c", script], files={"in": lines}, processes=12)

    def test_sqlite3(self):
        sql = """create table t(a, b); with recursive c(n) as (select 1 union all select n + 1 from c where n < 20000)
insert into t select n, hex(n * 7919 % 10007) from c; create index i on t(b); analyze;
select count(*), min(b), max(b) from t where b > '3'; pragma integrity_check; select * from missing;
"""
        self.assert_same(["sqlite3", "file.db"], stdin=sql.encode(), processes=1)

    def test_openssl(self):
        self.need("openssl")
        script = """openssl enc -aes-256-cbc -pbkdf2 -S 0123456789abcdef -k secret -in in -out out && sha256sum out
openssl enc -d -aes-256-cbc -pbkdf2 -k secret -in out | cmp - in; openssl dgst -sha512 in; openssl list -digest-algorithms
openssl nonsense 2>/dev/null; echo $?"""
        self.assert_same(["/bin/sh", "-c", script], files={"in": "x" * 100000}, processes=5)

    def test_jq_and_cmake(self):
        script = """jq -c 'group_by(.a) | map(length)' in.json; jq . missing; echo $?
cmake -P s.cmake; echo $?; cmake -S . -B b 2>&1 | head -3; rm -rf b"""
        files = {"in.json": "[" + ",".join(f'{{"a": {i % 7}}}' for i in range(2000)) + "]",
                 "s.cmake": "execute_process(COMMAND sh -c \"echo out; exit 3\" RESULT_VARIABLE r)\nmessage(\"${r}\")\n"}
        self.assert_same(["/bin/sh", "-c", script], files=files, processes=5)

    def test_gdb(self):
        self.need("gdb")
        commands = ["set print inferior-events off", "set print address off", "set startup-with-shell off", "set debuginfod enabled off",
                    "set print frame-arguments scalars", "break main", "run 100 5", "bt", "next", "continue"]
        command = ["gdb", "-nx", "-q", "--batch"]
        for each in commands:
            command += ["-ex", each]
        command.append(ledger.program("nothing"))
        command = ["bash", "-c", '"$@" 2>&1 | sed "s/process [0-9]*/process/"', "bash", *command]
        if b"main (argc=3" not in ledger.execute(command).out:
            self.skipTest("gdb cannot trace here")
        # What gdb starts is followed only where asked: addresses of the debugged program are its own.
        self.assert_same(command, "--no-follow")

    def test_valgrind_finds_no_error_in_the_probe(self):
        self.need("valgrind")
        done = self.assert_same(["valgrind", "-q", "--error-exitcode=9", "ls", "-d", "/"])
        self.assertEqual(done.status, 0, done)

    def test_small_ones(self):
        for command in (["/usr/bin/env"], ["printenv", "PATH"], ["id"], ["kill", "-l"], ["bash", "-c", "trap; trap -l; kill -l"],
                        ["ls", "/proc/self/fd"], ["date", "-d", "@0"], ["dc", "-e", "2 100 ^ p"], ["/bin/false"], ["nproc"],
                        ["bash", "-c", "ls -la /proc/self/fd | wc -l"], ["sh", "-c", "set | grep -v PPID"],
                        ["sh", "-c", "kill -9 $$"], ["sh", "-c", "kill -SEGV $$"], ["head", "-c", "1000000", "/dev/zero"]):
            if not shutil.which(command[0]):
                continue
            with self.subTest(command=command):
                self.assert_same(command, processes=1)


if __name__ == "__main__":
    ledger.main()
