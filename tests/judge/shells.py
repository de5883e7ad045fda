"""Real shells, asked what they make of a line: which commands they run, with which words.

The only commands are `a` and `b`, functions that write down their words, so that no line does any harm.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

from errands.judge.shell.grammar import Line

SHELLS = [path for shell in ("bash", "dash", "zsh") if (path := shutil.which(shell))]
# All in one write, so that the two sides of a pipe do not mix.
_NOTE = 'printf "%s\\0" "{name}" "$@" "<end>" >&3; return 0'
_SETTING = "".join(f"{name}() {{ {_NOTE.format(name=name)}; }}\n" for name in ("a", "b"))
_PIECES = [
    *"abxyz", "a ", "b ", " a", " b", " ", " ", "'", '"', "\\", "\n", ";", " && ", " || ", " | ", "&&",
    "||", "|", "#", " 2>&1", " >/dev/null", " 2>/dev/null", " </dev/null", "{", "}", ",", "..", "=", "-",
    "$", "$ ", '$"', "\\\n", " \\\n", "'x y'", '"x y"', "\\ ", "^", "@", "%", ":", "[", "]", "~", "/", "!",
    "&", "`", "(", ")", "é", "\t", "5", "<", ">",
]  # fmt: skip
Ran = list[list[str]]


def line(source: random.Random) -> str:
    """Make up a line that begins like a command."""
    pieces = source.choices(_PIECES, k=source.randint(1, 12))
    return source.choice("ab") + source.choice([" ", " x", ""]) + "".join(pieces)


def expected(parsed: Line) -> Ran | None:
    """Return the commands of a line that run if each of them succeeds; None if these shells differ."""
    ran, skipped = [], False
    for step in parsed.steps:
        names = [word.text for word in step.words]
        usable = names and names[0] in ("a", "b") and not step.assignments
        if not usable or any(word.pattern or word.home for word in step.words):
            return None
        if any(each.operator not in (">", ">&", "<") for each in step.redirections):
            return None
        if any(each.target.text not in ("/dev/null", "1") for each in step.redirections):
            return None
        if step.before != "|":
            skipped = step.before == "||"
        if not skipped:
            ran.append(names)
    return sorted(ran)


def ran(shell: str, source: str, scratch: Path) -> Ran:
    """Let a shell run a line, and return what ran; an empty list after a syntax error."""
    notes = scratch / "notes"
    notes.write_bytes(b"")
    subprocess.run(
        [shell, "-c", f'{_SETTING}eval "$1" 3>{notes}', "x", source],
        env={"PATH": "/nonexistent", "HOME": "/nonexistent"},
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    found: Ran = [[]]
    for word in notes.read_bytes().decode().split("\0")[:-1]:
        if word == "<end>":
            found.append([])
        else:
            found[-1].append(word)
    return sorted(found[:-1])
