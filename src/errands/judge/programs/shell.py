"""Shell builtins, and small programs that only handle words: echo, printf, test, sleep and the like."""

from __future__ import annotations

from errands.judge.programs.entry import Program, ask, unlisted
from errands.judge.programs.globs import Glob
from errands.judge.programs.usage import objection
from errands.model.text.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.judge.programs.entry import Entry, Reasons, Usage
    from errands.judge.workspace import Workspace

# May be shown without asking; any other variable may be a secret.
_VARIABLES = frozenset(
    """
    PATH HOME USER LOGNAME SHELL PWD OLDPWD LANG LANGUAGE TZ TERM COLORTERM NO_COLOR EDITOR VISUAL PAGER
    HOSTNAME HOSTTYPE OSTYPE MACHTYPE SHLVL TMPDIR DISPLAY COLUMNS LINES VIRTUAL_ENV CONDA_DEFAULT_ENV
    GOPATH GOROOT JAVA_HOME CARGO_HOME RUSTUP_HOME NVM_DIR XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME
    XDG_DATA_HOME XDG_RUNTIME_DIR XDG_SESSION_TYPE CI DEBIAN_FRONTEND PYTHONPATH NODE_ENV
    """.split()
)
_LOCALE = regex(r"LC_[A-Z]+")
# `%n` assigns a variable instead of printing.
_ASSIGNS = regex(r"%[^A-Za-z%]*[hlLjztq]*n")
# zsh computes what is printed as a number, and what is compared as one: `a[$(touch x)]` runs a command.
_CONVERSION = regex(r"%([-+ #0'*.\d$]*)(?:hh|ll|[hlLjztq])?(\(|[A-Za-z]?)")
_TEXTS = frozenset("sbqQ")
_NUMBER = regex(r"[+-]?(0[xX][0-9a-fA-F]+|\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|['\"].|")
_NUMERIC_TESTS = frozenset("-eq -ne -lt -le -gt -ge".split())
_DURATION = regex(r"(\d+(\.\d*)?|\.\d+)[smhd]?")


def _nothing(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    return ()


def _printf(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    rest = words[1:]
    if rest[:1] == ("--",):
        rest = rest[1:]
    elif rest and rest[0].startswith("-") and len(rest[0]) > 1:
        if rest[0].startswith("-v"):
            return ask(f"`printf`: `{rest[0]}` assigns a variable", "option")
        return unlisted("printf", rest[0])
    if rest and (isinstance(rest[0], Glob) or _ASSIGNS.search(rest[0].replace("%%", ""))):
        return ask("`printf`: `%n` assigns a variable", "option")
    for word in _computed(rest[0], rest[1:]) if rest else ():
        if isinstance(word, Glob) or not _NUMBER.fullmatch(word):
            return ask(f"`printf`: some shells compute a number, which may run commands: {word}", "shell")
    return ()


def _computed(template: str, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of a printf that become numbers; the template is used again until all are printed."""
    kinds = [
        kind
        for stars, letter in _CONVERSION.findall(template.replace("%%", ""))
        for kind in ("d" * stars.count("*") + (letter or "d"))
    ]
    if any(isinstance(word, Glob) for word in words) or "$" in template:
        # The words cannot be counted, or are picked by number.
        kinds = ["d"] if any(kind not in _TEXTS for kind in kinds) else []
    for at, word in enumerate(words if kinds else ()):
        if kinds[at % len(kinds)] not in _TEXTS:
            yield word


def _test(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    if words[0] == "[" and words[-1] != "]":
        return ask("`[` without `]`", "option")
    if "-v" in words or "-R" in words:
        return ask(f"`{words[0]}`: `-v` may evaluate its operand", "option")
    for at, word in enumerate(words):
        beside = words[at + 1 : at + 2] if word == "-t" else ()
        if word in _NUMERIC_TESTS:
            beside = words[max(1, at - 1) : at] + words[at + 1 : at + 2]
        for each in beside:
            if isinstance(each, Glob) or not _NUMBER.fullmatch(each):
                said = f"`{words[0]}`: some shells compute a number, which may run commands: {each}"
                return () if each in ("]", "-a", "-o") and word == "-t" else ask(said, "shell")
    return ()


def _sleep(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    if all(_DURATION.fullmatch(word) for word in words[1:]):
        return ()
    return ask(f"`sleep`: not a time: {' '.join(words[1:])}", "option")


def _printenv(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    names = words[1:]
    if names and all(name in _VARIABLES or _LOCALE.fullmatch(name) for name in names):
        return ()
    return ask("shows the environment, where secrets may be kept", "secret")


def _command(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    if len(words) > 1 and words[1] in ("-v", "-V", "-pv", "-pV"):
        return ()
    return ask("`command` runs a program", "program")


def _checks(usage: Usage, workspace: Workspace) -> Reasons:
    """Accept a check of syntax; it prints lines with mistakes, which in other files are most of them."""
    if not usage.has("-n"):
        return ask(f"`{usage.name}` runs a script", "script")
    others = (word for word in usage.operands if not word.endswith((".sh", ".bash")))
    return tuple(filter(None, (objection("READ", word, workspace) for word in others)))


# Reads a script and checks its syntax; the judge follows every other use of a shell.
_CHECKED = Program(
    options="-n",
    operands="SEARCH",
    check=_checks,
    helps=False,
)

PROGRAMS: dict[str, Entry] = {
    "bash": _CHECKED,
    "sh": _CHECKED,
    "dash": _CHECKED,
    "echo": _nothing,
    "true": _nothing,
    "false": _nothing,
    ":": _nothing,
    "printf": _printf,
    "test": _test,
    "[": _test,
    "sleep": _sleep,
    "expr": _nothing,
    "printenv": _printenv,
    "command": _command,
    "pwd": Program(options="-L --logical -P --physical"),
    "exit": Program(operands="NUMBER", helps=False),
    "umask": Program(options="-p -S", helps=False),
    "ulimit": Program(options="-a -n -u -s -c -d -f -l -m -t -v -H -S", helps=False),
    "times": Program(helps=False),
    "help": Program(options="-d -m -s", operands="TEXT...", helps=False),
    "jobs": Program(options="-l -p -n -r -s", helps=False),
    "dirs": Program(options="-l -p -v", helps=False),
}
