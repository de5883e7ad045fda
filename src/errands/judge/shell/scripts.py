"""Scripts: the files whose content decides what a command does.

An approval covers their content as it was, so they are listed even when a person is asked anyway.
"""

from __future__ import annotations

import posixpath
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

INTERPRETERS = frozenset(
    """python python2 python3 pypy pypy3 perl ruby node nodejs deno bun tsx ts-node php lua luajit
    Rscript julia tclsh wish guile racket osascript pwsh groovy scala elixir escript swift awk gawk
    mawk nawk""".split()
)
# The shells whose lines are analysed, and others, which are not.
SHELLS = frozenset("sh bash dash zsh".split())
OTHER_SHELLS = frozenset("ksh mksh fish csh tcsh source .".split())
# Options of shells and interpreters that take the next word as their value.
_VALUED = frozenset("-W -X -I -r -O -o -L --rcfile --init-file -M -S -v".split())
# Options that pass an interpreter its program as a word.
_INLINE = frozenset("-c -e -m -E -p -r --eval --print --command -".split())
_FILED = frozenset("-f --file --makefile".split())
_RECIPES = {
    "make": "GNUmakefile makefile Makefile",
    "gmake": "GNUmakefile makefile Makefile",
    "just": "justfile Justfile .justfile",
    "npm": "package.json",
    "yarn": "package.json",
    "pnpm": "package.json",
    "rake": "Rakefile rakefile",
    "tox": "tox.ini setup.cfg pyproject.toml",
    "nox": "noxfile.py",
    "task": "Taskfile.yml Taskfile.yaml",
    "ninja": "build.ninja",
    "gulp": "gulpfile.js",
    "grunt": "Gruntfile.js",
    "pre-commit": ".pre-commit-config.yaml",
    "invoke": "tasks.py",
    "inv": "tasks.py",
    "ant": "build.xml",
}
_SYSTEM = ("/bin/", "/sbin/", "/usr/", "/opt/", "/nix/", "/lib/", "/System/", "/Library/")


def scripts(words: tuple[str, ...], cwd: str) -> tuple[str, ...]:
    """Return the scripts of one command as absolute paths; they need not exist."""
    return tuple(posixpath.normpath(posixpath.join(cwd, path)) for path in _named(words))


def _named(words: tuple[str, ...]) -> Iterator[str]:
    name = posixpath.basename(words[0])
    if "/" in words[0] and not words[0].startswith(_SYSTEM):
        yield words[0]
    if name in _RECIPES:
        yield from _recipes(name, words[1:])
    elif name in ("awk", "gawk", "mawk", "nawk", "sed"):
        yield from (value for option, value in pairwise(words) if option == "-f")
    elif name in SHELLS or name in OTHER_SHELLS or is_interpreter(name):
        script = _first_operand(words[1:])
        if script:
            yield script


def is_interpreter(name: str) -> bool:
    """Return whether a program runs scripts, by its name with or without a version."""
    return name in INTERPRETERS or name.rstrip("0123456789.") in INTERPRETERS


def _recipes(name: str, words: tuple[str, ...]) -> Iterator[str]:
    where = ""
    files = []
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in ("-C", "--directory", "--prefix") and following:
            where = following
        elif word in _FILED and following:
            files.append(following)
        elif word.startswith(("--file=", "--makefile=", "--directory=")):
            if word.startswith("--directory="):
                where = word.partition("=")[2]
            else:
                files.append(word.partition("=")[2])
    yield from (posixpath.join(where, file) for file in files or _RECIPES[name].split())


def _first_operand(words: tuple[str, ...]) -> str:
    rest = iter(words)
    for word in rest:
        if word in _INLINE:
            return ""
        if word == "run":  # deno run, bun run
            continue
        if word in _VALUED:
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""
