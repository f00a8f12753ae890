"""README leads to every document, and no document names a file that is not there."""

import glob
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


class Docs(unittest.TestCase):
    documents = sorted(os.path.relpath(path, ROOT) for pattern in ("*.md", "docs/*.md", "bench/*.md", "src/*/*.md")
                       for path in glob.glob(os.path.join(ROOT, pattern)))

    def test_readme_leads_to_each(self):
        linked = re.findall(r"\]\((docs/[^)]+\.md)\)", text_of("README.md"))
        self.assertEqual(sorted(linked), [name for name in self.documents if name.startswith("docs/")])

    def test_what_they_name_is_there(self):
        name = r"(?<![\w/.])((?:docs|bench|scripts|examples|src|ui|tests)/[\w./-]*\w\.(?:md|py|sh|cpp|hpp|ts|mjs|txt|svg|png))"
        missing = []
        for document in self.documents:
            text = text_of(document)
            links = [os.path.join(os.path.dirname(document), link) for link in re.findall(r"\]\(([\w./-]+\.\w+)", text)]
            prose = "\n".join(line for line in text.splitlines() if not line.startswith("    "))  # examples have files of others
            missing += [(document, path) for path in links + re.findall(name, prose)
                        if not os.path.exists(os.path.join(ROOT, path))]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
