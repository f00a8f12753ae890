"""What fish and zsh offer for the last word of a command line, with one of our completions."""

import os
import shutil

import ledger

FISH, ZSH = shutil.which("fish"), shutil.which("zsh")

# zsh's own completion of files and of other programs' lines, as words.
ZSH_STUBS = """
compdef() { }
compset() { }
compadd() { [[ $1 == -- ]] || print "compadd $*"; shift; (($# == 0)) || print -l -- "$@" }
_files() { print -- "files${*:+ $*}" }
_alternative() { print commands }
_normal() { print -- "$words of $CURRENT" }
source $1
shift
words=("$@") CURRENT=$# PREFIX=${@[-1]}
_heapledger
"""


def environment():
    return ledger.plain_environment({"PATH": os.path.dirname(ledger.BIN) + ":" + os.environ["PATH"]})


def fish(script, line, cwd):
    done = ledger.execute([FISH, "-c", f"source {script}; complete -C '{line}'"], env={**environment(), "HOME": cwd}, cwd=cwd)
    assert (done.status, done.err) == (0, b""), done
    return [each.split("\t")[0] for each in done.out.decode().splitlines()]


def zsh(script, words, cwd):
    done = ledger.execute([ZSH, "-f", "-c", ZSH_STUBS, "zsh", script, *words], env=environment(), cwd=cwd)
    assert (done.status, done.err) == (0, b""), done
    return done.out.decode().splitlines()
