"""What the probe promises of its own machine code: what it needs and exports, and that the fast paths take no lock, make no
call but the next allocator's, and reach thread-local storage without asking the dynamic linker."""

import os
import re
import subprocess
import tempfile
import unittest

import ledger

PROBE = os.path.join(os.path.dirname(os.path.dirname(ledger.BIN)), "lib", "heapledger", "libheapledger.so")

C_FUNCTIONS = {"malloc", "calloc", "realloc", "reallocarray", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc",
               "pvalloc", "malloc_usable_size", "free_sized", "free_aligned_sized", "cfree", "strdup", "strndup",
               "mallocx", "rallocx", "dallocx", "sdallocx", "xallocx", "sallocx", "nallocx"}
EXEC_FUNCTIONS = {"execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "posix_spawn",
                  "posix_spawnp", "pidfd_spawn", "pidfd_spawnp", "system", "popen", "_Fork"}
EXIT_FUNCTIONS = {"_exit", "_Exit"}
SANDBOX_FUNCTIONS = {"prctl"}
LOCKING_FUNCTIONS = {"mlockall"}
LOADER_FUNCTIONS = {"dlopen"}
ENVIRONMENT_FUNCTIONS = {"setenv", "unsetenv", "putenv", "clearenv"}
LIMIT_FUNCTIONS = {f"{name}{bits}" for name in ("getrlimit", "setrlimit", "prlimit") for bits in ("", "64")}
FRAME_FUNCTIONS = {"__register_frame", "__deregister_frame"}
MAPPING_FUNCTIONS = {"mmap", "mmap64", "munmap", "mremap"}
ATTACH_FUNCTIONS = {"heapledger_attach", "heapledger_detach", "heapledger_loader_locked"}  # for the tool, and for ourselves
OPERATORS = re.compile(r"_Z(nw|na|dl|da)[A-Za-z0-9_]*$")
FAST = ("malloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "calloc")


HEADERS = os.path.join(os.path.dirname(__file__), "..", "..", "include", "heapledger")
LOCKING = re.compile(r"lock|xchg   %[er]|syscall")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class GeneratedCode(unittest.TestCase):
    def test_needs_only_libc_and_the_loader(self):
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-dW", PROBE)))
        self.assertLessEqual(needed, {"libc.so.6", "ld-linux-x86-64.so.2"})

    def test_exports(self):
        names = set(run("nm", "-D", "--defined-only", "--format=just-symbols", PROBE).split())
        others = {name for name in names if not OPERATORS.match(name)}
        ours = {name for name in others if name.startswith("heapledger_")}
        self.assertEqual(others - ours, C_FUNCTIONS | EXEC_FUNCTIONS | EXIT_FUNCTIONS | ENVIRONMENT_FUNCTIONS |
                         FRAME_FUNCTIONS | LIMIT_FUNCTIONS | MAPPING_FUNCTIONS | SANDBOX_FUNCTIONS |
                         LOCKING_FUNCTIONS | LOADER_FUNCTIONS)
        self.assertEqual(ours - ATTACH_FUNCTIONS, self.declared(), "what the headers declare")
        self.assertLessEqual(ATTACH_FUNCTIONS, ours)
        self.assertEqual(len(names - others), 20, "operators new and delete")

    def declared(self):
        found = set()
        for name in ("heapledger.h", os.path.join("pool", "publish.hpp")):
            with open(os.path.join(HEADERS, name), encoding="utf-8") as file:
                found |= set(re.findall(r"^[\w:\[\] *]+[ *](heapledger_\w+)\(", file.read(), re.MULTILINE))
        return found

    def test_thread_local_storage(self):
        self.assertNotIn("__tls_get_addr", run("nm", "-D", PROBE))
        size = re.search(r"TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x\S+)", run("readelf", "-lW", PROBE))
        self.assertLessEqual(int(size.group(1), 16), 64, "bytes of static thread-local storage")

    def fast_path(self, name):
        """The instructions of a function, without the parts that the compiler put out of the way."""
        text = run("objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", PROBE)
        lines = text.split(f"<{name}>:\n")[1].split("\n\n")[0].splitlines()
        return [line.split("\t", 1)[1].strip() for line in lines if "\t" in line]

    def test_fast_paths(self):
        for name in FAST:
            with self.subTest(function=name):
                code = self.fast_path(name)
                self.assertGreater(len(code), 40, "the books are inline")
                self.assertEqual([line for line in code if line.startswith(("lock", "xchg   %e", "xchg   %r", "syscall"))], [])
                calls = [line for line in code if line.startswith("call")]
                self.assertLessEqual(len(calls), 2, calls)
                for line in calls:  # through a table: the next allocator's function, and its usable size where that is a call
                    self.assertIn("*", line, calls)

    def test_dlopen_is_left_by_a_jump(self):
        """The loader looks where the call came from."""
        code = self.fast_path("dlopen")
        self.assertTrue(any(line.startswith("jmp    *") for line in code), code)
        self.assertEqual([line for line in code if line.startswith("call") and "look_up" not in line], [])

    def test_fast_paths_know_nothing_of_the_leak_watch(self):
        """A suspect is one whose events come another way; nobody asks on this one."""
        address, = re.findall(r"^0*(\w+) \w _ZN10heapledger5probe8watchingE$", run("nm", PROBE), re.MULTILINE)
        of_watching = re.compile(rf"# ({address}|{int(address, 16) + 4:x}) <")
        account, = re.findall(r" [tT] (_ZN10heapledger5probe15look_up_accountE\w+)$", run("nm", PROBE), re.MULTILINE)
        self.assertTrue(any(of_watching.search(line) for line in self.fast_path(account)), "where it is asked")
        for name in FAST:
            with self.subTest(function=name):
                self.assertEqual([line for line in self.fast_path(name) if of_watching.search(line)], [])

    def test_scopes_take_no_lock(self):
        """Entering a scope, and events in one, while nothing is published or refused."""
        symbols = run("nm", PROBE)
        for name in ("switch_scope", "switch_back", "settle", "set_scope_mark", "scope_account_cell", "book_free_with_scopes"):
            with self.subTest(function=name):
                mangled, = re.findall(rf" [tT] (_ZN10heapledger5probe{len(name)}{name}E\w+)$", symbols, re.MULTILINE)
                code = self.fast_path(mangled)
                self.assertGreater(len(code), 20)
                self.assertEqual([line for line in code if LOCKING.match(line)], [])
        for name in ("heapledger_scope_enter", "heapledger_scope_leave"):
            self.assertEqual([line for line in self.fast_path(name) if LOCKING.match(line)], [])

    def test_scopes_step_by_step(self):
        """What a thread does in scopes, as it is executed: no instruction that locks the bus, no system call, and as many
        instructions with 64 scopes in turn as with two."""
        rounds = 64
        with tempfile.TemporaryDirectory(prefix="heapledger-test.") as folder:
            env = ledger.plain_environment({"LD_PRELOAD": PROBE, "HEAPLEDGER_OUTPUT": os.path.join(folder, "%p.hlp")})
            done = ledger.execute([ledger.program("locked_steps"), ledger.program("scope_steps"), "steps", str(rounds)],
                                  env=env)
        self.assertEqual(done.status, 0, done)
        stretches = [tuple(map(int, line.split())) for line in done.out.decode().splitlines()]
        outside, switch, inside, limited, below, counted, two, five, many = (steps for steps, _ in stretches)
        self.assertEqual([locked for _, locked in stretches], [0] * 9)
        self.assertGreater(switch, 100 * rounds, "it was counted")
        self.assertEqual((inside, limited, below), (outside, outside, outside))
        self.assertLess(counted, 3 * outside)
        for each in (five, many):
            self.assertLess(abs(each - two), two // 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
