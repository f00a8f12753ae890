"""A git repository made from nothing, the same everywhere: every commit changes some lines in some files."""

import random
import shutil
import subprocess

COMMITS = 400
FILES = 600
LINES = 250
CHANGED_FILES = 40
ENVIRONMENT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat"}
WORDS = ("ledger", "account", "stack", "frame", "thread", "segment", "module", "scope", "pool", "block", "peak", "live")


def line(source):
    return " ".join(source.choice(WORDS) for _ in range(source.randint(2, 9))) + f" {source.randint(0, 99999)}\n"


def blob(path, lines):
    content = "".join(lines).encode()
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)


def commits():
    """The stream that git fast-import reads."""
    source = random.Random(2)
    files = {f"source/part{i % 24}/file{i}.txt": [line(source) for _ in range(LINES)] for i in range(FILES)}
    for number in range(COMMITS):
        changed = list(files) if number == 0 else source.sample(sorted(files), CHANGED_FILES)
        message = f"Change number {number}\n".encode()
        yield (b"commit refs/heads/main\nmark :%d\ncommitter A Writer <writer@example.org> %d +0000\ndata %d\n%s" %
               (number + 1, 1_600_000_000 + number * 3600, len(message), message))
        if number:
            yield b"from :%d\n" % number
        for path in changed:
            lines = files[path]
            for _ in range(source.randint(1, 20) if number else 0):
                position = source.randrange(len(lines))
                lines[position:position + source.randint(0, 3)] = [line(source) for _ in range(source.randint(0, 3))]
            yield blob(path, lines)
        yield b"\n"


def make(git, directory):
    finished = directory / "made-of"
    shape = f"{COMMITS} {FILES} {LINES} {CHANGED_FILES}\n"
    if finished.exists() and finished.read_text() == shape:
        return
    shutil.rmtree(directory, ignore_errors=True)
    subprocess.run([git, "init", "--quiet", "--bare", "--initial-branch=main", directory], check=True)
    subprocess.run([git, f"--git-dir={directory}", "fast-import", "--quiet"], input=b"".join(commits()), check=True)
    finished.write_text(shape)
