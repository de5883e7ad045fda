"""A command's words, read by an entry the way the program itself reads them.

The rules are those of GNU `getopt_long`: bundled flags, attached values, options after operands, `--`. One
rule is ours: an abbreviated long option is not recognised. The kinds of values and operands are:

NUMBER COUNT SIZE     `5`, `-5`, `+5`, `1.5`; also `5k`; also `k` alone
TEXT PATTERN          anything: it is only compared, printed or computed with
DATE                  a date; GNU programs read a time zone in it from any file that it names
FORMAT                a format of git; one that checks signatures runs a program
KEY                   what git sorts or groups by; a signature is checked by a program, too
a|b|c                 one of these words (or NUMBER|a: a number or a word)
READ                  a file whose content is shown
SEARCH                a file or directory whose content is searched
SUM                   a file of whose content only numbers are shown
LIST                  an archive of which only the names in it are shown
LOOK                  a file or directory of which only names, sizes and dates are shown
INSIDE                a file or directory inside the project
"""

from __future__ import annotations

from errands.judge.programs.entry import NUMERIC, PLUS, Usage, ask, table, unlisted
from errands.judge.programs.globs import Glob
from errands.judge.programs.name_patterns import AMONG, is_among_settings, is_only_possible
from errands.judge.programs.ordinary import is_ordinary
from errands.judge.programs.places import is_inside, objection_to_place
from errands.model.text.regex import regex
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Option, Program, Reasons, Table
    from errands.judge.workspace import Workspace

_NUMBER = regex(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_COUNT = regex(r"[+-]?(0x[0-9a-fA-F]+|\d+(\.\d*)?[A-Za-z]{0,3})")
_SIZE = regex(r"[+-]?(\d+(\.\d*)?|\.\d+)?[A-Za-z]{0,3}")
_SIGNATURE = regex(r"%[-+ ]?G|%\(\*?signature")
_SIGNATURE_KEY = regex(rf"(?s).*(?:{_SIGNATURE.pattern}|signature)")
# Formats built into git; any other name comes from the configuration.
_FORMATS = frozenset("oneline short medium full fuller reference email mboxrd raw".split())
# What is asked about a place for each kind of value.
_USES = {"READ": "READ", "LIST": "READ", "SEARCH": "SEARCH", "SUM": "SEARCH", "LOOK": "LOOK"}
_FREE = frozenset({"TEXT", "PATTERN"})
# A zone in a date that is not the name of one of the system's.
_ZONE_FILE = regex(r'(?s).*TZ="(?:[^"]*\.\.|:?[^A-Za-z0-9:<+-]|:[^A-Za-z])')
# What a refused option does is a kind of reason of its own, if no sandbox makes up for it.
_KINDS = {
    "names a program": "helper",
    "runs a program": "helper",
    "run a program": "helper",
    "files in a program": "helper",
    "runs git's own programs": "helper",
    "waits for a person": "waits",
    "public service": "network",
}


def objection(kind: str, value: str, workspace: Workspace) -> Reason | None:
    """Return what speaks against a value of this kind."""
    if kind in _FREE:
        return None
    if kind in _USES:
        # Half of the questions of a line are about a file that was asked about before: not asking again
        # saves a fifth of what judging takes.
        asked = kind, value, isinstance(value, Glob), workspace.cwd
        if asked not in workspace.known:
            workspace.known[asked] = _objection_to_place(kind, value, workspace)
        return workspace.known[asked]
    if kind == "FORMAT":
        return _objection_to_format(value)
    if kind == "KEY":
        is_checked = _SIGNATURE_KEY.match(value)
        said = "git checks signatures for it, which runs a program"
        return Reason(text=said, kind="program") if is_checked else None
    if kind == "DATE":
        is_file = _ZONE_FILE.match(value)
        return Reason(text=f"a time zone may be any file: {value}", kind="secret") if is_file else None
    if kind == "INSIDE":
        inside = is_inside(value, workspace)
        return None if inside else Reason(text=f"{value} is outside the project", kind="script")
    if kind == "NUMBER":
        fits, wrong = _NUMBER.fullmatch(value), "not a number"
    elif kind in ("SIZE", "COUNT"):
        fits, wrong = (_SIZE if kind == "SIZE" else _COUNT).fullmatch(value), "not a number or size"
    else:
        choices = kind.split("|")
        if value in choices:
            return None
        fits, wrong = ("NUMBER" in choices and _NUMBER.fullmatch(value)) or None, "unknown value"
    return None if fits else Reason(text=f"{wrong}: {value}", kind="option")


def _objection_to_place(kind: str, value: str, workspace: Workspace) -> Reason | None:
    use = _USES[kind]
    said = objection_to_place(value, use, workspace)
    if said is None and kind == "READ" and not is_ordinary(value, workspace):
        said = f"reads {value}, {AMONG}"
    if said is None:
        return None
    if is_among_settings(said):
        # Numbers about such a file, and the names in an archive, show no password.
        return Reason(text=said, kind="settings") if kind == use else None
    # A sandbox shows nothing but the project, whose own files its work may read.
    return Reason(text=said, kind="glob" if is_only_possible(value, said) else "secret")


def _objection_to_format(value: str) -> Reason | None:
    if _SIGNATURE.search(value):
        return Reason(text="the format checks signatures, which runs a program", kind="program")
    if "%" in value or value.startswith(("format:", "tformat:")) or value in _FORMATS or not value:
        return None
    return Reason(text=f"the format {value} comes from the configuration", kind="option")


def reasons_by_entry(name: str, words: tuple[str, ...], program: Program, workspace: Workspace) -> Reasons:
    """Judge the words after the name of a program or subcommand by its entry."""
    usage = read(name, words, program, workspace)
    # What a file is called says nothing about the rest.
    if program.check is not None and all(each.kind == "settings" for each in usage.reasons):
        return (*program.check(usage, workspace), *usage.reasons)
    return tuple(usage.reasons)


def read(name: str, words: tuple[str, ...], program: Program, workspace: Workspace) -> Usage:
    """Split words into options and operands; whatever the entry does not know becomes a reason."""
    reader = _Reader(Usage(name), table(program), workspace)
    reader.read(words, permutes=program.permutes)
    return reader.usage


class _Reader:
    def __init__(self, usage: Usage, table: Table, workspace: Workspace) -> None:
        self.usage, self.table, self.workspace = usage, table, workspace

    def read(self, words: tuple[str, ...], *, permutes: bool) -> None:
        usage, place = self.usage, 0
        while place < len(words):
            word = words[place]
            place += 1
            if isinstance(word, Glob):
                self._glob(word)
            elif word == "--":
                usage.operands.extend(words[place:])
                break
            elif word.startswith("--"):
                place += self._long(word, words[place] if place < len(words) else None)
            elif word.startswith("-") and word != "-":
                place += self._short(word, words[place] if place < len(words) else None)
            elif word.startswith("+") and word[1:].isdigit() and PLUS in self.table.options:
                usage.options.append((PLUS, word[1:]))
            else:
                usage.operands.append(word)
                if not permutes:
                    usage.operands.extend(words[place:])
                    break
        self._check_operands()

    def _object(self, text: str) -> None:
        self.usage.reasons.extend(ask(text, "option"))

    def _glob(self, word: Glob) -> None:
        # `--include=*.py` stays that option, whatever it expands to.
        name, equals, value = word.partition("=")
        option = self.table.options.get(name)
        if equals and word.prefix.startswith(name + "=") and option and option.kind in _FREE:
            self.usage.options.append((name, value))
            return
        if not word.prefix or word.prefix.startswith("-"):
            self._object(f"`{word}` may become an option of `{self.usage.name}`")
        self.usage.operands.append(word)

    def _long(self, word: str, after: str | None) -> int:
        """Read a long option; return how many of the following words it took."""
        name, equals, value = word.partition("=")
        option = self.table.options.get(name)
        if option is None:
            self._refuse(name)
        elif option.need == "none" and equals:
            self._object(f"`{self.usage.name}`: `{name}` takes no value")
        elif equals:
            self._take(name, option, value)
        elif option.need == "value":
            return self._take_next(name, option, after)
        elif option.need == "attached":
            self._object(f"`{self.usage.name}`: `{name}` needs its value after `=`")
        else:
            self.usage.options.append((name, None))
        return 0

    def _short(self, word: str, after: str | None) -> int:
        """Read a bundle of short options; return how many of the following words it took."""
        if word[1:].isdigit() and NUMERIC in self.table.options:
            self.usage.options.append((NUMERIC, word[1:]))
            return 0
        for place, letter in enumerate(word[1:], start=2):
            name, rest = "-" + letter, word[place:]
            option = self.table.options.get(name)
            if option is None:
                self._refuse(name)
                return 0
            if option.need == "none":
                self.usage.options.append((name, None))
            elif rest:
                self._take(name, option, rest)
                return 0
            elif option.need == "value":
                return self._take_next(name, option, after)
            elif option.need == "attached":
                self._object(f"`{self.usage.name}`: `{name}` needs its value attached")
            else:
                self.usage.options.append((name, None))
        return 0

    def _check_operands(self) -> None:
        usage, kinds = self.usage, self.table.operands
        if self.table.instead and usage.has(*self.table.instead):
            kinds = kinds[1:]
        for place, word in enumerate(usage.operands):
            if place >= len(kinds) and not (self.table.repeats and kinds):
                return self._object(f"`{usage.name}` takes no such operand: {word}")
            kind = kinds[min(place, len(kinds) - 1)]
            # A wildcard becomes several words, so only the repeated kind may be one.
            if isinstance(word, Glob) and not (self.table.repeats and place >= len(kinds) - 1):
                self._object(f"`{word}` may become several operands of `{usage.name}`")
            self._check(kind, word, "")
        return None

    def _refuse(self, name: str) -> None:
        why = self.table.refused.get(name)
        if why is None:
            self.usage.reasons.extend(unlisted(self.usage.name, name))
        else:
            kind = next((kind for sign, kind in _KINDS.items() if sign in why), "option")
            self.usage.reasons.extend(ask(f"`{self.usage.name}`: `{name}` {why}", kind))

    def _take(self, name: str, option: Option, value: str) -> None:
        self.usage.options.append((name, value))
        self._check(option.kind, value, f" ({name})")

    def _take_next(self, name: str, option: Option, after: str | None) -> int:
        if after is None:
            self._object(f"`{self.usage.name}`: `{name}` lacks its value")
            return 0
        if isinstance(after, Glob):
            self._object(f"`{self.usage.name}`: the value of `{name}` is a wildcard: {after}")
        # Programs differ about a value that looks like an option; where a pattern is expected they agree.
        elif after.startswith("-") and len(after) > 1 and not _may_begin_with_dash(option.kind, after):
            self._object(f"`{self.usage.name}`: the value of `{name}` looks like an option: {after}")
        self._take(name, option, after)
        return 1

    def _check(self, kind: str, value: str, where: str) -> None:
        reason = objection(kind, value, self.workspace)
        if reason is not None and reason.kind == "option":
            self._object(f"`{self.usage.name}`{where}: {reason.text}")
        elif reason is not None:
            self.usage.reasons.append(reason)


def _may_begin_with_dash(kind: str, value: str) -> bool:
    return kind in ("PATTERN", "DATE") or (kind in ("NUMBER", "SIZE", "COUNT") and value[1:2].isdigit())
