"""awk programs: a strict parser that accepts patterns, computation and plain printing.

It refuses everything that reaches beyond the stream: pipes, redirections, `getline`, `system`, the
environment, includes, unknown functions. It also refuses a slash that some awks read as a division, others as
a pattern.
"""

from __future__ import annotations

import re

from errands.judge.programs.brackets import end_of_set
from errands.judge.programs.entry import Program, ask, ask_each

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Reasons, Usage
    from errands.judge.workspace import Workspace

_FUNCTIONS = frozenset(
    """
    length substr index split sub gsub gensub match sprintf sin cos atan2 exp log sqrt int rand srand
    tolower toupper strftime systime mktime asort asorti patsplit strtonum and or xor lshift rshift compl
    typeof isarray
    """.split()
)
# Words after which a parenthesis is not a call and a slash not a division.
_KEYWORDS = frozenset(
    """
    if else while for do in return print printf exit next delete break continue BEGIN END
    """.split()
)
_REFUSED = frozenset(
    """
    system getline close fflush ENVIRON PROCINFO ARGV ARGC ARGIND SYMTAB FUNCTAB function func switch case
    default BEGINFILE ENDFILE extension
    """.split()
)
_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\r]+|\\\n|\#[^\n]*)
    | (?P<newline>\n)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<mark>\|\||&&|\+\+|--|==|!=|<=|>=|!~|\+=|-=|\*=|%=|\^=|\*\*|[-+*%^!~<>=?:,;(){}\[\]$/|&@])
    """,
    re.VERBOSE,
)
_INET = re.compile(r"/+inet[46]?(/|$)")
_BEFORE_DIVISION = frozenset({"]"})
# `nextfile` is a plain variable in some awks.
_UNSURE = frozenset({"++", "--", "length", "nextfile"})


class _Doubt(Exception):  # noqa: N818  # an answer, not an error
    """The program contains something that is not on the list."""


def objection_to_program(text: str) -> str | None:
    """Return what speaks against an awk program; None if it is harmless."""
    try:
        _read(text)
    except _Doubt as problem:
        return str(problem)
    return None


def _read(text: str) -> None:
    place, before, kind_before, printing = 0, "", "", False
    # For every open parenthesis, whether it belongs to `if`, `while` or `for`: a pattern may follow it.
    brackets: list[bool] = []
    steers = False
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise _Doubt(f"`{text[place:][:20]}`")
        kind, token, end = found.lastgroup or "", found[0], found.end()
        if kind == "blank":
            place = end
            continue
        if token == "/":
            if _divides(before, kind_before, steers=steers):
                if text[end : end + 1] == "=":
                    raise _Doubt("a slash that may divide and assign or start a pattern")
                kind = "mark"
            else:
                end = _end_of_pattern(text, place)
                kind, token = "regex", text[place:end]
        elif kind == "mark":
            _check_mark(token, printing=printing)
        elif kind == "word":
            _check_word(token, text[end : end + 1])
            if before == "$" and token in _KEYWORDS:
                raise _Doubt(f"`${token}`, which is a variable to some awks")
        if token == "(":
            brackets.append(before in ("if", "while", "for"))
        elif token == ")":
            if not brackets:
                raise _Doubt("an unmatched `)`")
            steers = brackets.pop()
        # A statement may continue on the next line, so a newline does not end it.
        if token in ("print", "printf"):
            printing = True
        elif token in (";", "}"):
            printing = False
        before, kind_before, place = token, kind, end


def _divides(before: str, kind: str, *, steers: bool) -> bool:
    if before == ")":
        return not steers
    if before in _UNSURE or kind == "regex":
        raise _Doubt("a slash that may be a division or the start of a pattern")
    if kind == "word":
        return before not in _KEYWORDS
    return kind in ("number", "string") or before in _BEFORE_DIVISION


def _end_of_pattern(text: str, place: int) -> int:
    """Return where the pattern ends that begins here, after its second slash."""
    at = place + 1
    while at < len(text) and text[at] not in "/\n":
        if text[at] == "[":
            end = end_of_set(text, at, "/")
            if end is None:
                raise _Doubt("a character set that awks read differently")
            at = end
        elif text[at] == "\\":
            if text[at + 1 : at + 2] in ("", "\n"):
                break
            at += 2
        else:
            at += 1
    if text[at : at + 1] != "/" or at == place + 1:
        raise _Doubt("an unterminated pattern")
    return at + 1


def _check_mark(token: str, *, printing: bool) -> None:
    if token in ("|", "&"):
        raise _Doubt("a pipe runs a program")
    if token == "@":
        raise _Doubt("`@` includes a file or calls a function by name")
    if token == ">" and printing:
        raise _Doubt("`>` after `print` writes a file")


def _check_word(word: str, glued: str) -> None:
    if word in _REFUSED:
        raise _Doubt(f"`{word}`")
    if word not in _KEYWORDS and word not in _FUNCTIONS and glued == "(":
        raise _Doubt(f"the function `{word}`")


def _check(usage: Usage, workspace: Workspace) -> Reasons:
    if not usage.operands:
        return ask(f"`{usage.name}` without a program", "option")
    problems = [objection_to_program(usage.operands[0])]
    for value in usage.values("-v"):
        name, equals, _ = value.partition("=")
        if not equals or not name.isidentifier() or name in _REFUSED:
            problems.append(f"the assignment `{value}`")
    for word in usage.operands[1:]:
        # gawk connects to /inet/tcp/0/HOST/PORT when it reads that as a file.
        if _INET.match(word):
            problems.append(f"the file `{word}` is a network connection")
        elif word.partition("=")[0] in _REFUSED:
            problems.append(f"the assignment `{word}`")
    return ask_each(
        (f"cannot see that this awk program is harmless: {said}" for said in problems if said), "script"
    )


_AWK = Program(
    options="-F=PATTERN -v=TEXT",
    operands="PATTERN READ...",
    permutes=False,
    refused={
        "-f --file -E --exec -i --include -l --load": "runs an awk program from a file",
        "-e --source": "combines several programs",
        "-o --pretty-print -p --profile -d --dump-variables": "writes a file",
        "-D --debug": "waits for a person",
    },
    check=_check,
)

PROGRAMS = {"awk": _AWK, "gawk": _AWK, "mawk": _AWK, "nawk": _AWK}
