"""Oracles that we did not write, and one that is too simple to be wrong: valgrind, and a preload that counts."""

import glob
import os
import re
import shutil
import struct

import ledger

# An environment that makes programs deterministic, whoever watches.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent",
               "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0",
               "OPENSSL_CONF": "/dev/null",  # under valgrind OpenSSL 3.6 takes something else from the machine's
               "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
FIXED_ADDRESSES = ["/usr/bin/setarch", "-R"]
LOADER = "/lib64/ld-linux-x86-64.so.2"

HELPER = ledger.program("plain_environment.so")
COUNTER = ledger.program("counting_preload.so")


def number(text):
    return int(text.replace(",", ""))


def valgrind(command, log, options=()):
    """The heap summary of valgrind for this command, and what the command printed."""
    # The wrapper script of Debian sets variables of its own; the program behind it does not.
    tool = shutil.which("valgrind.bin") or shutil.which("valgrind")
    assert tool, "valgrind is not installed"
    watch = [tool, "--tool=memcheck", "--leak-check=no", "--undef-value-errors=no", "--run-libc-freeres=no",
             "--run-cxx-freeres=no", f"--log-file={log}", *options]
    preload = ["/usr/bin/env", f"LD_PRELOAD={HELPER}"]
    done = ledger.execute([*FIXED_ADDRESSES, *preload, *watch, *command], env=ENVIRONMENT, pass_env=True)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    kept = re.search(r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks", text)
    heap = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes allocated", text)
    assert kept and heap, f"no heap summary from valgrind:\n{text}\n{done}"
    return {"allocations": number(heap[1]), "frees": number(heap[2]), "allocated_bytes": number(heap[3]),
            "live_bytes": number(kept[1]), "live_blocks": number(kept[2])}, done


def counter(command, folder):
    """The books of the counting preload for this command, and what the command printed."""
    preload = ["/usr/bin/env", f"LD_PRELOAD={COUNTER}", f"COUNTING_BOOKS={os.path.join(folder, 'books')}"]
    done = ledger.execute([*FIXED_ADDRESSES, *preload, *command], env=ENVIRONMENT, pass_env=True)
    files = glob.glob(os.path.join(glob.escape(folder), "books.*"))
    assert len(files) == 1, f"one process expected: {files}\n{done}"
    names = ("allocations", "frees", "reallocations", "temporaries", "allocated_bytes", "freed_bytes", "peak_bytes",
             "foreign_frees")
    with open(files[0], "rb") as file:
        books = dict(zip(names, struct.unpack("8Q", file.read(64))))
    books["live_bytes"] = books["allocated_bytes"] - books["freed_bytes"]
    books["live_blocks"] = books["allocations"] - books["frees"]
    os.remove(files[0])
    return books, done


def has_thread_storage(library):
    """Does this library have thread-local storage (a PT_TLS segment)? Each such module widens a table a thread."""
    with open(library, "rb") as file:
        head = file.read(64)
        table, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
        file.seek(table)
        return any(struct.unpack("<I", file.read(size)[:4])[0] == 7 for _ in range(count))
