"""An entry: what a person has to know about one program to call a use of it harmless.

Only what stands in an entry is accepted. Options are written as in a manual, parted by blanks:

    -a --all              a flag
    -n=NUMBER             needs a value: glued (`-n5`) or the next word (`-n 5`)
    --lines=NUMBER        needs a value: `--lines=5` or the next word
    --color[=WHEN]        may have a value, glued only
    --format==TEXT        needs a value, glued only (`--format=x`; the next word is no value of it)
    --when=always|never   one of these words
    -NUMBER  +NUMBER      a word such as `-20` or `+5`

Operands are kinds in order; the last one may be repeated (`READ...`). What the kinds mean stands in `values`.
"""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from errands.judge.programs.usage import Usage
    from errands.judge.surroundings import Surroundings
    from errands.model.verdict import Reason

    Check = Callable[[Usage, Surroundings], tuple[Reason, ...]]
    Need = Literal["none", "value", "glued", "maybe"]

NUMERIC = "-NUMBER"
PLUS = "+NUMBER"


@record
class Program:
    """One program (or subcommand): options, operands, and what its manual warns of."""

    options: str = ""
    operands: str = ""
    # Options that take the place of the first operand: with `grep -e PATTERN` every operand is a file.
    instead: str = ""
    # Options that are known and not harmless, with what they do: {"-o --output": "writes a file"}.
    refused: dict[str, str] = {}  # a record keeps its default to itself
    # Whether options are recognised after the first operand, as GNU programs do.
    permutes: bool = True
    # Whether `--help` and `--version` are known.
    helps: bool = True
    # What the table cannot say.
    check: Check | None = None


if TYPE_CHECKING:
    # What a table holds: an entry, or a function for what no entry can say.
    Entry = Program | Callable[[tuple[str, ...], Surroundings], tuple[Reason, ...]]


@record
class Option:
    """One option: whether it has a value, and of which kind."""

    need: Need
    kind: str


@record
class Table:
    """An entry, read: every spelling of every option, the kinds of the operands."""

    options: dict[str, Option]
    operands: tuple[str, ...]
    repeats: bool
    instead: frozenset[str]
    refused: dict[str, str]


_FLAG = Option(need="none", kind="")
_tables: dict[int, tuple[Program, Table]] = {}


def table(program: Program) -> Table:
    """Read an entry, once."""
    known = _tables.get(id(program))
    if known is None:
        known = _tables[id(program)] = (program, _read(program))
    return known[1]


def _read(program: Program) -> Table:
    options = dict(_option(token) for token in program.options.split())
    if program.helps:
        options.setdefault("--help", _FLAG)
        options.setdefault("--version", _FLAG)
    kinds = program.operands.split()
    repeats = bool(kinds) and kinds[-1].endswith("...")
    return Table(
        options=options,
        operands=tuple(kind.removesuffix("...") for kind in kinds),
        repeats=repeats,
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
        return name, Option(need="glued", kind=kind)
    name, equals, kind = token.partition("=")
    return name, Option(need="value", kind=kind) if equals else _FLAG
