"""An entry: what must be known about one program to call a use of it harmless.

Only what an entry lists is accepted. Options are written as in a manual, separated by blanks:

    -a --all              a flag
    -n=NUMBER             needs a value: attached (`-n5`) or the next word (`-n 5`)
    --lines=NUMBER        needs a value: `--lines=5` or the next word
    --color[=WHEN]        may have a value, attached only
    --format==TEXT        needs a value, attached only (the next word is never its value)
    --when=always|never   one of these words
    -NUMBER  +NUMBER      a word such as `-20` or `+5`

Operands are kinds in order; the last one may repeat (`READ...`). `usage` explains the kinds.
"""

from __future__ import annotations

from errands.model.record import record
from errands.model.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    from errands.judge.workspace import Workspace
    from errands.model.verdict import Undo

    Reasons = tuple[Reason, ...]
    Check = Callable[["Usage", Workspace], Reasons]
    Need = Literal["none", "value", "attached", "maybe"]

NUMERIC = "-NUMBER"
PLUS = "+NUMBER"


@record
class Program:
    """One program or subcommand: its options, its operands and what to refuse."""

    options: str = ""
    operands: str = ""
    # Options that replace the first operand: with `grep -e PATTERN` every operand is a file.
    instead: str = ""
    # Options that are known and not harmless, with what they do: {"-o --output": "writes a file"}.
    refused: dict[str, str] = {}  # a record keeps its default to itself
    # Whether options may follow the first operand, as in GNU programs.
    permutes: bool = True
    # Whether `--help` and `--version` exist.
    helps: bool = True
    # What the table cannot express.
    check: Check | None = None


if TYPE_CHECKING:
    # What a table holds: an entry, or a function where an entry is not enough.
    Entry = Program | Callable[[tuple[str, ...], Workspace], Reasons]


class Usage:
    """Options and operands of one command, and the reasons to ask that came up while reading them."""

    __slots__ = ("name", "operands", "options", "reasons")

    def __init__(self, name: str) -> None:
        self.name = name
        self.options: list[tuple[str, str | None]] = []
        self.operands: list[str] = []
        self.reasons: list[Reason] = []

    def has(self, *names: str) -> bool:
        """Return whether one of these options is given."""
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        """Return the values of these options, in order."""
        return [value for name, value in self.options if name in names and value is not None]


def ask(text: str, kind: str, undo: Undo = "unknown") -> Reasons:
    """Return the one reason to ask a person."""
    return (Reason(text=text, kind=kind, undo=undo),)


def ask_each(texts: Iterable[str | None], kind: str) -> Reasons:
    """Return a reason for every text; None means that there is nothing to ask."""
    return tuple(Reason(text=text, kind=kind) for text in texts if text is not None)


def objection_to_home(name: str, workspace: Workspace) -> Reasons:
    """Return the reason for a program that loads code or options from a home that a caller may have made."""
    if workspace.is_own_home:
        return ()
    return ask(f"`{name}` loads settings from {workspace.home}, which is not your home directory", "program")


def unlisted(name: str, option: str) -> Reasons:
    """Return the reason for an option that an entry does not have."""
    return ask(f"`{name}`: `{option}` is not on the list of its harmless options", "option")


@record
class Option:
    """Whether an option takes a value, and of which kind."""

    need: Need
    kind: str


@record
class Table:
    """An entry after parsing: every spelling of every option, the kinds of the operands."""

    options: dict[str, Option]
    operands: tuple[str, ...]
    repeats: bool
    instead: frozenset[str]
    refused: dict[str, str]


_FLAG = Option(need="none", kind="")
_tables: dict[int, tuple[Program, Table]] = {}


def table(program: Program) -> Table:
    """Parse an entry, once."""
    known = _tables.get(id(program))
    if known is None:
        known = _tables[id(program)] = (program, _parse(program))
    return known[1]


def _parse(program: Program) -> Table:
    options = dict(_option(token) for token in program.options.split())
    if program.helps:
        options.setdefault("--help", _FLAG)
        options.setdefault("--version", _FLAG)
    kinds = program.operands.split()
    return Table(
        options=options,
        operands=tuple(kind.removesuffix("...") for kind in kinds),
        repeats=bool(kinds) and kinds[-1].endswith("..."),
        instead=frozenset(program.instead.split()),
        refused={name: said for names, said in program.refused.items() for name in names.split()},
    )


def _option(token: str) -> tuple[str, Option]:
    if token in (NUMERIC, PLUS):
        return token, _FLAG
    if "[=" in token:
        name, _, kind = token.removesuffix("]").partition("[=")
        return name, Option(need="maybe", kind=kind)
    if "==" in token:
        name, _, kind = token.partition("==")
        return name, Option(need="attached", kind=kind)
    name, equals, kind = token.partition("=")
    return name, Option(need="value", kind=kind) if equals else _FLAG
