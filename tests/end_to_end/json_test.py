"""docs/json.md names what is in the JSON, and its recipes work."""

import json
import os
import re
import shutil
import unittest

import ledger

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLES = os.path.normpath(os.path.join(ledger.PROGRAMS, "..", "..", "examples"))


def text_of(name):
    with open(os.path.join(ROOT, "docs", name + ".md"), encoding="utf-8") as file:
        return file.read()


def keys_of(value):
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys_of(each) for name, each in value.items() if name != "losses"))


class Json(ledger.Case):
    def profiles(self):
        programs = {"scopes": [os.path.join(EXAMPLES, "example_limited_requests")],
                    "pools": [ledger.program("pools"), "sited"], "mapped": [ledger.program("mapped")],
                    "mistakes": [ledger.program("mistakes"), "malloc_delete"], "markers": [ledger.program("markers"), "phases"],
                    "limited": ["sh", "-c", "ulimit -f 1; true | true"]}
        for name, command in programs.items():
            file = self.path(f"{name}.hlp")
            ledger.execute([ledger.BIN, "run", "-q", "--lifetimes", "--leaks", "-o", file, "--", *command], cwd=self.dir)
            self.assertTrue(os.path.exists(file), name)
            yield file

    def test_every_key_is_documented(self):
        documented = {}
        for tool, documents in (("report", ("json", "lifetimes", "mappings", "live")), ("leaks", ("json",))):
            documented[tool] = set().union(*(re.findall(r"[\"`](\w+)[\"`]", text_of(name)) for name in documents))
        seen = set()
        for file in self.profiles():
            for tool, options in (("report", ("--ignore", "main")), ("report", ("--depth", "1")), ("leaks", ())):
                done = ledger.execute([ledger.BIN, tool, "--json", *options, file])
                self.assertEqual(done.status, 0, done)
                keys = keys_of(json.loads(done.out))
                self.assertEqual(keys - documented[tool], set(), (tool, file))
                seen |= keys
        for key in ("budget", "chunk_bytes", "allocated_by", "snapshot", "uncounted", "left_out", "frames_left_out",
                    "obstacle"):
            self.assertIn(key, seen, "the case at hand")

    @unittest.skipUnless(shutil.which("jq"), "no jq here")
    def test_recipes(self):
        recipes = re.findall(r"^    (heapledger report .*\| jq .*)$", text_of("json"), re.M)
        self.assertGreater(len(recipes), 5)
        scoped, *_ = self.profiles()
        for recipe in recipes:
            with self.subTest(recipe=recipe):
                done = ledger.execute(["sh", "-c", recipe.replace("FILE", scoped)],
                                      env={"PATH": f"{os.path.dirname(ledger.BIN)}:{os.environ['PATH']}"})
                self.assertEqual((done.status, done.err), (0, b""), done)
                self.assertNotEqual(done.out, b"")
                if "refusals" in recipe:
                    self.assertEqual([(row["scope"], row["budget"]) for row in json.loads(done.out)],
                                     [(["server", "request"], {"live_bytes": 64 << 10})])


if __name__ == "__main__":
    ledger.main()
