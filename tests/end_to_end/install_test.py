"""What is installed is enough for somebody else's project: by CMake, by pkg-config, in C and in C++, with the probe and without."""

import glob
import os
import shutil
import subprocess
import unittest

import ledger
import shells

BUILD = os.path.dirname(os.path.dirname(ledger.BIN))
CONSUMER = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "consumer"))


def run(*command, env=None):
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=ledger.TIMEOUT)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Installed(ledger.Case):
    def setUp(self):
        super().setUp()
        self.prefix = self.path("prefix")
        run("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.env = ledger.plain_environment({"HEAPLEDGER_OUTPUT": self.path("%e.%p.hlp")})
        self.probe = os.path.join(self.prefix, "lib", "heapledger", "libheapledger.so")

    def test_completion(self):
        """Under the tool's name, by which bash-completion finds it."""
        with open(os.path.join(self.prefix, "share", "bash-completion", "completions", "heapledger"), encoding="utf-8") as file:
            self.assertIn("complete -F _heapledger heapledger", file.read())
        share = os.path.join(self.prefix, "share")
        if shells.FISH:
            self.assertEqual(shells.fish(os.path.join(share, "fish/vendor_completions.d/heapledger.fish"), "heapledger sn", self.dir), ["snapshot"])
        if shells.ZSH:
            self.assertEqual(shells.zsh(os.path.join(share, "zsh/site-functions/_heapledger"), ["heapledger", "sn"], self.dir), ["snapshot"])

    def test_cmake(self):
        build = self.path("build")
        run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", build)
        for name, alone, with_probe in (("linked", "1 100 1", "1 100 1"), ("not_linked", "0 0 0", "1 100 1"),
                                        ("linked_c", "100", "100"), ("not_linked_c", "0", "100"), ("bare", "100", "100")):
            with self.subTest(program=name):
                program = os.path.join(build, name)
                self.assertEqual(run(program, env=self.env).strip(), alone)
                self.assertEqual(run(program, env={**self.env, "LD_PRELOAD": self.probe}).strip(), with_probe)
        for name, env in (("^linked", {**self.env, "HEAPLEDGER_OUTPUT": "/dev/null"}), ("^expectations", self.env)):
            # each fails where nothing is measured, and none leaves a profile, not even of the build
            self.assertIn("100% tests passed, 0 tests failed out of 1", run("ctest", "--test-dir", build, "-R", name, env=env))
        self.assertEqual(glob.glob(os.path.join(build, "**", "*.hlp"), recursive=True), [])
        self.assertEqual(glob.glob(self.path("*expectations*.hlp")), [])
        run("cmake", "--install", build, "--prefix", self.path("elsewhere"))
        self.assertEqual(run(self.path("elsewhere", "bin", "linked"), env=self.env).strip(), "1 100 1")

    def test_within_another_project(self):
        """It brings its targets and nothing else: no names of tests, and no packages that the tool wants."""
        self.write("CMakeLists.txt", f"""
            cmake_minimum_required(VERSION 3.25)
            project(parent LANGUAGES C CXX)
            set(CMAKE_CXX_STANDARD 20)
            add_custom_target(unit_tests)
            add_custom_target(man)
            add_subdirectory({os.path.normpath(os.path.join(CONSUMER, "..", ".."))} heapledger EXCLUDE_FROM_ALL)
            add_executable(not_linked {CONSUMER}/consumer.cpp)
            target_link_libraries(not_linked PRIVATE heapledger::headers)
            add_executable(linked EXCLUDE_FROM_ALL {CONSUMER}/consumer.cpp)
            target_link_libraries(linked PRIVATE heapledger::heapledger)
            """)
        build = self.path("build")
        run("cmake", "-G", "Ninja", "-S", self.dir, "-B", build, *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{each}=ON"
                                                                  for each in ("fmt", "CLI11", "GTest", "PkgConfig")))
        run("cmake", "--build", build)
        program = os.path.join(build, "not_linked")
        self.assertEqual(run(program, env=self.env).strip(), "0 0 0")
        self.assertEqual(run(program, env={**self.env, "LD_PRELOAD": self.probe}).strip(), "1 100 1")
        self.assertEqual(glob.glob(os.path.join(build, "**", "libheapledger.so"), recursive=True), [])

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config here")
    def test_pkg_config(self):
        env = {**os.environ, "PKG_CONFIG_PATH": os.path.join(self.prefix, "lib", "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "heapledger", env=env).split()
        program = self.path("program")
        run("c++", "-std=c++20", "-O2", "-o", program, os.path.join(CONSUMER, "consumer.cpp"), *flags)
        self.assertEqual(run(program, env=self.env).strip(), "1 100 1")
        # as Meson does: it leaves out -L, and finds what -l means itself
        run("c++", "-std=c++20", "-o", program, os.path.join(CONSUMER, "consumer.cpp"),
            *(each for each in flags if not each.startswith(("-L", "-l"))))
        self.assertEqual(run(program, env=self.env).strip(), "1 100 1")
        library = self.path("libkeeps.so")
        run("cc", "-shared", "-fPIC", "-o", library, os.path.join(CONSUMER, "keeps.c"))
        for linker in ("bfd", "gold", "lld"):
            if shutil.which(f"ld.{linker}") is None:
                continue
            with self.subTest(linker=linker):
                run("cc", f"-fuse-ld={linker}", "-Wl,--as-needed", "-o", program, os.path.join(CONSUMER, "bare.c"), library,
                    f"-Wl,-rpath,{self.dir}", *flags)
                self.assertEqual(run(program, env=self.env).strip(), "100")

    def test_headers_are_without_warnings(self):
        """For both compilers, in the latest language, and without what some projects leave out."""
        warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast",
                    "-Wcast-align", "-Wdouble-promotion", "-Wnon-virtual-dtor", "-Wundef", "-Werror"]
        source = os.path.join(CONSUMER, "all_headers.cpp")
        for compiler, options in (("g++", ["-std=c++20", "-O2"]), ("g++", ["-std=c++23", "-fno-exceptions", "-fno-rtti"]),
                                  ("clang++", ["-std=c++20", "-O2"]),
                                  ("clang++", ["-std=c++2b", "-fno-exceptions", "-fno-rtti"])):
            if shutil.which(compiler) is None:
                continue
            with self.subTest(compiler=compiler, options=options):
                run(compiler, *options, *warnings, "-I", os.path.join(self.prefix, "include"), "-c", source, "-o",
                    self.path("all_headers.o"))

    def test_guards_without_a_name_are_warned_of(self):
        """They would end at once, and what comes next be charged to nobody."""
        include = os.path.join(self.prefix, "include")
        for guard in ("enter{s}", "enter(scope(s))", "must_not_fail()", 'owned_scope("request")', "bind(s, [] {})"):
            source = self.write("guard.cpp", f"#include <heapledger/scope.hpp>\nusing namespace heapledger;\n"
                                             f"void f(scope s) {{ (void)s; {guard}; }}\n")
            for compiler in filter(shutil.which, ("g++", "clang++")):
                with self.subTest(guard=guard, compiler=compiler):
                    done = subprocess.run([compiler, "-std=c++20", "-I", include, "-fsyntax-only", source], capture_output=True,
                                          text=True, check=True, timeout=ledger.TIMEOUT)
                    self.assertIn("guard.cpp:3", done.stderr)

    def test_a_pool_or_a_policy_in_place_of_a_set_is_explained(self):
        source = self.path("sets.cpp")
        for header, use in (("resource", "pool_resource<threading::thread_cached> r; void* p = r.allocate(1);"),
                            ("allocator", "pool<48> p; int* i = pool_allocator<int, pool<48>>(&p).allocate(1);"),
                            ("pooled", "struct event : pooled<event, threading::shared> {}; event* e = new event;")):
            self.write("sets.cpp", f"#include <heapledger/pool/{header}.hpp>\nusing namespace heapledger;\n{use}\n")
            with self.subTest(header=header):
                done = subprocess.run(["c++", "-std=c++20", "-I", os.path.join(self.prefix, "include"), "-fsyntax-only", source],
                                      capture_output=True, text=True, check=False, timeout=ledger.TIMEOUT)
                self.assertIn("pool_set<threading::...>", next(line for line in done.stderr.splitlines() if "error:" in line))

    def test_the_coroutines_of_the_guides(self):
        """As docs/budgets.md and docs/executors.md have the promise, whoever resumes a coroutine is afterwards where it was."""
        docs = os.path.join(CONSUMER, "..", "..", "docs")
        rest = """
          int value = 0;
          task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
          void return_void() {}
        """
        for page in ("budgets.md", "executors.md"):
            with self.subTest(page=page):
                with open(os.path.join(docs, page), encoding="utf-8") as file:
                    promise = "struct promise_type" + file.read().partition("struct promise_type")[2].partition("};")[0] + "};"
                self.assertIn("...", promise)
                source = self.write("coroutine.cpp", f"""
                    #include <heapledger/coroutine.hpp>
                    #include <cstdio>
                    struct task {{
                      {promise.replace("...", rest)}
                      std::coroutine_handle<promise_type> coroutine;
                    }};
                    task work(heapledger::scope own, bool throws) {{
                      const heapledger::enter inside(own);
                      co_await std::suspend_always{{}};
                      co_yield 1;
                      if (throws) throw 1;
                    }}
                    int main() {{
                      const heapledger::owned_scope own("work");
                      int outside = 0;
                      for (const bool throws : {{false, true}}) {{
                        const task each = work(own, throws);
                        while (!each.coroutine.done()) {{
                          try {{
                            each.coroutine.resume();
                          }} catch (int) {{
                          }}
                          outside += heapledger::scope::current() == heapledger::scope::process();
                        }}
                        each.coroutine.destroy();
                      }}
                      std::printf("%d\\n", outside);
                    }}""")
                run("c++", "-std=c++20", "-I", os.path.join(self.prefix, "include"), "-o", self.path("coroutine"), source)
                self.assertEqual(run(self.path("coroutine"), env={**self.env, "LD_PRELOAD": self.probe}).strip(), "6")

    def test_the_tool_finds_the_probe(self):
        tool = os.path.join(self.prefix, "bin", "heapledger")
        run(tool, "run", "-q", "-o", self.path("p.hlp"), "--", ledger.program("scopes"), "profile", env=self.env)
        self.assertIn("Scopes", run(tool, "report", self.path("p.hlp"), env=self.env))


if __name__ == "__main__":
    ledger.main()
