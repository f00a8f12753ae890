"""What an empty policy costs in machine code: nothing. usage: generated_code_test.py OBJECT"""

import re
import subprocess
import sys
import unittest

OBJECT = sys.argv.pop(1)


def functions():
    """By name, the instructions of each function without what the compiler put out of the way (which is another symbol)."""
    text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", OBJECT], check=True, capture_output=True, text=True).stdout
    found = {}
    for block in text.split("\n\n"):
        head = re.match(r"[0-9a-f]+ <(\w+)>:\n", block)
        if head:
            lines = [line.split("\t", 1)[1].strip() for line in block.splitlines()[1:] if re.match(r"\s+[0-9a-f]+:\t", line)]
            found[head.group(1)] = [line for line in lines if "R_X86_64" not in line and not line.startswith(("nop", "data16", "cs nop", "xchg   %ax,%ax"))]
    return found


def without_addresses(code):
    """Jump targets differ by where a function was put, not by what it does."""
    return [re.sub(r"[0-9a-f]+ <.*>", "TARGET", line) for line in code]


class GeneratedCode(unittest.TestCase):
    code = functions()

    def test_empty_policies_leave_no_instruction(self):
        for threading in ("single", "cached"):
            for what in ("allocate", "deallocate"):
                with self.subTest(threading=threading, what=what):
                    self.assertEqual(without_addresses(self.code[f"{threading}_empty_{what}"]),
                                     without_addresses(self.code[f"{threading}_default_{what}"]))

    def test_a_bare_pool_allocates_like_a_bare_list(self):
        """Two instructions more, and nothing is read of the chunk."""
        code = self.code["single_default_allocate"]
        self.assertLessEqual(len(code), len(self.code["list_allocate"]) + 2)
        chunk = re.fullmatch(r"mov +-0x8\(%r..\),(%r..)", code[1])
        self.assertTrue(chunk, code)
        self.assertEqual([line for line in code if f"({chunk.group(1)}" in line], [])

    def test_a_bare_pool_frees_without_looking_at_the_chunk(self):
        for name in ("single_default_deallocate", "cached_default_deallocate"):
            self.assertEqual([line for line in self.code[name] if "(%rsi)" in line], [], name)

    def test_sizes(self):
        for name, most in {"single_default_allocate": 8, "single_default_deallocate": 10, "single_exact_allocate": 12,
                           "single_exact_deallocate": 32, "cached_default_allocate": 22, "cached_default_deallocate": 30,
                           "cached_exact_allocate": 26, "cached_exact_deallocate": 48}.items():
            with self.subTest(name=name):
                self.assertLessEqual(len(self.code[name]), most)

    def test_no_lock_no_call_no_loader(self):
        for name, code in self.code.items():
            if not re.fullmatch(r"(single|cached)_\w+_(de)?allocate", name):
                continue
            with self.subTest(name=name):
                self.assertNotIn("call", [line.split()[0] for line in code if "cold" not in line])
                self.assertEqual([line for line in code if line.startswith(("lock", "xchg"))], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
