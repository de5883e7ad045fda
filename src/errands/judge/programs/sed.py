"""sed scripts: a strict parser of the commands that only print, delete and replace in the stream.

It refuses commands that write (`w`, `W`), read (`r`, `R`) or run (`e`), the flags `w` and `e` of a
replacement, and everything that it does not understand.
"""

from __future__ import annotations

import re

from errands.judge.programs.brackets import end_of_set
from errands.judge.programs.entry import Program, ask, ask_each

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Reasons, Usage
    from errands.judge.workspace import Workspace

_ALONE = frozenset("pPdDgGhHxnNzF=")
_NUMBERED = frozenset("qQlL")
_JUMPS = frozenset(":btT")
_ADDRESS = re.compile(r"\d+(~\d+)?|\$")
_SECOND = re.compile(r"\d+|\$|[+~]\d+")
_LABEL = re.compile(r"[A-Za-z0-9_]*")
_FLAGS = re.compile(r"[gpiImM0-9]*")
# Any other letter may mean something in the expression itself, or end the command.
_DELIMITERS = frozenset("/|,:@#!%_~=+-")


class _Doubt(Exception):  # noqa: N818  # an answer, not an error
    """The script contains something that is not on the list."""


def objection_to_script(script: str) -> str | None:
    """Return what speaks against a sed script; None if it is harmless."""
    try:
        _Script(script).commands(depth=0)
    except _Doubt as problem:
        return str(problem)
    return None


class _Script:
    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def commands(self, depth: int) -> None:
        while True:
            self._skip(" \t\n;")
            if self.place >= len(self.text):
                if depth:
                    raise _Doubt("an unclosed block")
                return
            if self._peek() == "}":
                if not depth:
                    raise _Doubt("an unmatched `}`")
                self.place += 1
                self._end_of_command()
                return
            self._command(depth)

    def _command(self, depth: int) -> None:
        if self._peek() == "#":
            self._rest_of_line()
            return
        if self._address(_ADDRESS):
            self._skip(" \t")
            if self._peek() == ",":
                self.place += 1
                self._skip(" \t")
                if not self._address(_SECOND):
                    raise _Doubt("a range without an end")
        self._skip(" \t")
        while self._peek() == "!":
            self.place += 1
            self._skip(" \t")
        name = self._take()
        if name == "{":
            if depth > 8:
                raise _Doubt("deeply nested blocks")
            self.commands(depth + 1)
        elif name in _ALONE:
            self._end_of_command()
        elif name in _NUMBERED:
            self._skip(" \t")
            self._match(re.compile(r"\d*"))
            self._end_of_command()
        elif name in _JUMPS:
            self._skip(" ")
            self._match(_LABEL)
            if self._peek() == "#":
                raise _Doubt("a `#` that is a comment to some seds and part of a label to others")
            self._end_of_command()
        elif name == "s":
            self._between(self._delimiter(), parts=2)
            if self._match(_FLAGS) is None:
                raise _Doubt("unknown flags")
            self._end_of_command()
        elif name == "y":
            self._between(self._delimiter(), parts=2)
            self._end_of_command()
        elif name in ("a", "i", "c"):
            text = self._rest_of_line()
            if "\\" in text or not text.strip():
                raise _Doubt(f"the text of `{name}` continues on the next line")
        else:
            said = {"w": "writes a file", "W": "writes a file", "e": "runs a program", "r": "reads a file"}
            raise _Doubt(f"the command `{name}` {said.get(name, 'is not on the list')}")

    def _address(self, plain: re.Pattern[str]) -> bool:
        if self._match(plain):
            return True
        if self._peek() == "/":
            self.place += 1
            self._between("/", parts=1)
        elif self._peek() == "\\":
            self.place += 1
            self._between(self._delimiter(), parts=1)
        else:
            return False
        while self._peek() in ("I", "M"):
            self.place += 1
        return True

    def _between(self, delimiter: str, *, parts: int) -> None:
        for number in range(parts):
            while (mark := self._take()) != delimiter:
                if mark == "\\":
                    mark = self._take()
                elif mark == "[" and number == 0:
                    end = end_of_set(self.text, self.place - 1, delimiter)
                    if end is None:
                        raise _Doubt("a character set that seds read differently")
                    self.place = end
                if mark == "\n":
                    raise _Doubt("a pattern that spans several lines")

    def _delimiter(self) -> str:
        mark = self._take()
        if mark not in _DELIMITERS:
            raise _Doubt(f"the delimiter `{mark}`")
        return mark

    def _end_of_command(self) -> None:
        self._skip(" \t")
        if self.place < len(self.text) and self._peek() not in (";", "\n", "}", "#"):
            raise _Doubt(f"`{self.text[self.place :][:20]}` after a command")

    def _rest_of_line(self) -> str:
        end = self.text.find("\n", self.place)
        start, self.place = self.place, len(self.text) if end < 0 else end
        return self.text[start : self.place]

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.place)
        if found is not None:
            self.place = found.end()
        return found

    def _skip(self, marks: str) -> None:
        while self.place < len(self.text) and self.text[self.place] in marks:
            self.place += 1

    def _peek(self) -> str:
        return self.text[self.place : self.place + 1]

    def _take(self) -> str:
        mark = self._peek()
        if not mark:
            raise _Doubt("an unfinished command")
        self.place += 1
        return mark


# How objections begin that are about writing files or running programs, as commands or as flags of `s`.
_EFFECTS = ("the command `w", "the command `W", "the command `e", "`w", "`e")


def _check(usage: Usage, workspace: Workspace) -> Reasons:
    scripts = usage.values("-e", "--expression") or usage.operands[:1]
    if not scripts:
        return ask("`sed` without a script", "option")
    # sed joins several scripts with newlines; one that continues in the next is refused.
    found = [said for script in scripts if (said := objection_to_script(script))]
    kind = "helper" if any(said.startswith(_EFFECTS) for said in found) else "script"
    return ask_each((f"cannot see that this sed script is harmless: {said}" for said in found), kind)


_SED = Program(
    options="""
    -n --quiet --silent -E -r --regexp-extended -e=PATTERN --expression=PATTERN -s --separate -u
    --unbuffered -z --null-data --posix --debug --sandbox
    """,
    operands="PATTERN READ...",
    instead="-e --expression",
    refused={
        "-i -I --in-place": "edits files in place",
        "-f --file": "runs a sed script from a file",
    },
    check=_check,
)

PROGRAMS = {"sed": _SED, "gsed": _SED}
