"""A folder of src includes only those before it, in the orders of docs/STYLE.md and src/probe/README.md."""

import glob
import os
import re
import unittest

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def orders():
    """Folders below src as the documents list them: those of the tool, those of the probe."""
    style = " ".join(text_of(os.path.join(SRC, "..", "docs", "STYLE.md")).split())
    tool = re.search(r"in order; ([\w, ]+) on the other", style)[1].split(", ")
    probe = re.findall(r"^\| `(\w+)/`", text_of(os.path.join(SRC, "probe", "README.md")), re.MULTILINE)
    return [tool[0]] + ["tool/" + folder for folder in tool[1:]], [tool[0]] + ["probe/" + folder for folder in probe]


class Layers(unittest.TestCase):
    def test_documents_list_every_folder(self):
        there = {os.path.relpath(path, SRC).rstrip("/") for path in glob.glob(SRC + "/*/*/")}
        self.assertEqual(there | {"wire"}, {folder for order in orders() for folder in order})

    def test_each_includes_only_those_before(self):
        wrong = []
        for order in orders():
            for at, folder in enumerate(order):
                for path in glob.glob(os.path.join(SRC, folder, "*.[ch]pp")):
                    included = re.findall(r'^#include "((?:wire|probe|tool)/.*)"', text_of(path), re.MULTILINE)
                    wrong += [(os.path.relpath(path, SRC), name) for name in included
                              if os.path.dirname(name) not in order[:at + 1]]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
