"""A usage: the words of one command, read as the program itself reads them.

The rules are those of GNU `getopt_long`: bundles of short flags, glued values, options after operands, `--`.
One rule is ours: an abbreviated long option is not recognised.
"""

from __future__ import annotations

from errands.judge.programs.entry import NUMERIC, PLUS, table
from errands.judge.programs.values import FREE, objection
from errands.judge.programs.words import Glob
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Option, Program, Table
    from errands.judge.surroundings import Surroundings


class Usage:
    """Options and operands of one command, and the reasons found on the way."""

    __slots__ = ("name", "operands", "options", "reasons", "separated")

    def __init__(self, name: str) -> None:
        self.name = name
        self.options: list[tuple[str, str | None]] = []
        self.operands: list[str] = []
        self.reasons: list[Reason] = []
        # How many operands stand before `--`; None without one.
        self.separated: int | None = None

    def has(self, *names: str) -> bool:
        """Say whether one of these options is there."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        """Give the values of these options, in order."""
        return [value for name, value in self.options if name in names and value is not None]

    def object(self, text: str, kind: str = "option") -> None:
        """Add a reason."""
        self.reasons.append(Reason(text=text, kind=kind))


def reasons_by_entry(
    name: str, words: tuple[str, ...], program: Program, surroundings: Surroundings
) -> tuple[Reason, ...]:
    """Judge the words after a program's name (or subcommand) by its entry."""
    usage = read(name, words, program, surroundings)
    if program.check is not None and not usage.reasons:
        usage.reasons.extend(program.check(usage, surroundings))
    return tuple(usage.reasons)


def read(name: str, words: tuple[str, ...], program: Program, surroundings: Surroundings) -> Usage:
    """Part words into options and operands; whatever the entry does not know becomes a reason."""
    usage = Usage(name)
    reader = _Reader(usage, table(program), surroundings)
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if isinstance(word, Glob):
            reader.glob(word)
        elif word == "--":
            usage.separated = len(usage.operands)
            reader.operands(words[place:])
            break
        elif word.startswith("--"):
            place += reader.long(word, words[place] if place < len(words) else None)
        elif word.startswith("-") and word != "-":
            place += reader.short(word, words[place] if place < len(words) else None)
        elif word.startswith("+") and word[1:].isdigit() and PLUS in reader.table.options:
            usage.options.append((PLUS, word[1:]))
        else:
            usage.operands.append(word)
            if not program.permutes:
                reader.operands(words[place:])
                break
    reader.check_operands()
    return usage


class _Reader:
    def __init__(self, usage: Usage, table: Table, surroundings: Surroundings) -> None:
        self.usage, self.table, self.surroundings = usage, table, surroundings

    def glob(self, word: Glob) -> None:
        # `--include=*.py` stays that option, whatever it becomes.
        name, equals, value = word.partition("=")
        option = self.table.options.get(name)
        if equals and word.prefix.startswith(name + "=") and option and option.kind in FREE:
            self.usage.options.append((name, value))
            return
        if not word.prefix or word.prefix.startswith("-"):
            self.usage.object(f"`{word}` may become an option of `{self.usage.name}`")
        self.usage.operands.append(word)

    def operands(self, words: tuple[str, ...]) -> None:
        self.usage.operands.extend(words)

    def long(self, word: str, after: str | None) -> int:
        name, equals, value = word.partition("=")
        option = self.table.options.get(name)
        if option is None:
            self._refuse(name)
        elif option.need == "none" and equals:
            self.usage.object(f"`{self.usage.name}`: `{name}` takes no value")
        elif equals:
            self._take(name, option, value)
        elif option.need == "value":
            return self._take_next(name, option, after)
        elif option.need == "glued":
            self.usage.object(f"`{self.usage.name}`: `{name}` needs its value after `=`")
        else:
            self.usage.options.append((name, None))
        return 0

    def short(self, word: str, after: str | None) -> int:
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
            elif option.need == "glued":
                self.usage.object(f"`{self.usage.name}`: `{name}` needs its value glued to it")
            else:
                self.usage.options.append((name, None))
        return 0

    def check_operands(self) -> None:
        usage, kinds = self.usage, self.table.operands
        if self.table.instead and usage.has(*self.table.instead):
            kinds = kinds[1:]
        for place, word in enumerate(usage.operands):
            if place >= len(kinds) and not (self.table.repeats and kinds):
                usage.object(f"`{usage.name}` takes no such operand: {word}")
                return
            kind = kinds[min(place, len(kinds) - 1)]
            # A wildcard becomes several words, so it must stand where the repeated kind stands.
            if isinstance(word, Glob) and not (self.table.repeats and place >= len(kinds) - 1):
                usage.object(f"`{word}` may become several operands of `{usage.name}`")
            self._check(kind, word, "")

    def _refuse(self, name: str) -> None:
        why = self.table.refused.get(name, "is not on the list of its harmless options")
        self.usage.object(f"`{self.usage.name}`: `{name}` {why}")

    def _take(self, name: str, option: Option, value: str) -> None:
        self.usage.options.append((name, value))
        self._check(option.kind, value, f" ({name})")

    def _take_next(self, name: str, option: Option, after: str | None) -> int:
        if after is None:
            self.usage.object(f"`{self.usage.name}`: `{name}` lacks its value")
            return 0
        if isinstance(after, Glob):
            self.usage.object(f"`{self.usage.name}`: the value of `{name}` is a wildcard: {after}")
        # Programs differ about a value that looks like an option; where a pattern is expected they agree.
        elif after.startswith("-") and len(after) > 1 and not _may_begin_with_dash(option.kind, after):
            self.usage.object(f"`{self.usage.name}`: the value of `{name}` looks like an option: {after}")
        self._take(name, option, after)
        return 1

    def _check(self, kind: str, value: str, where: str) -> None:
        found = objection(kind, value, self.surroundings)
        if found is not None:
            said, group = found
            self.usage.object(f"`{self.usage.name}`{where}: {said}" if group == "option" else said, group)


def _may_begin_with_dash(kind: str, value: str) -> bool:
    return kind in ("PATTERN", "DATE") or (kind in ("NUMBER", "SIZE", "COUNT") and value[1:2].isdigit())
