"""Developers' tools: the few subcommands that neither run, fetch nor write anything.

Not here, although they look harmless: what reads a project's configuration that can name programs (cargo, go,
yarn, pnpm, tox, flake8, pylint, mypy), what edits when the configuration says so (ruff), what talks to a
daemon or a network (docker, kubectl, gh).
"""

from __future__ import annotations

from errands.model.risk.programs.entry import Program
from errands.model.risk.programs.usage import reasons_by_entry
from errands.model.risk.programs.versions import VERSIONS
from errands.model.risk.verdict import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.risk.programs.entry import Entry
    from errands.model.risk.surroundings import Surroundings

_PIP = {
    "list": Program(
        options="""
        -e --editable -l --local --user --not-required --exclude-editable --include-editable --pre
        --format=columns|freeze|json --exclude=TEXT -v --verbose -q --quiet --disable-pip-version-check
        --no-color
        """,
        refused={"-o --outdated -u --uptodate": "asks the package index over the network"},
    ),
    "show": Program(options="-f --files -v --verbose -q --quiet --no-color", operands="TEXT..."),
    "freeze": Program(options="-l --local --user --all --exclude-editable --exclude=TEXT -v -q --no-color"),
    "check": Program(options="-v --verbose -q --quiet --no-color"),
    "--version": Program(),
    "-V": Program(),
}

_NPM = Program(
    options="""
    --depth=NUMBER --all -a --json --long -l --parseable -p --global -g --omit=TEXT --include=TEXT --link
    --package-lock-only --no-unicode
    """,
    operands="TEXT...",
)


def _subcommand(
    words: tuple[str, ...], entries: dict[str, Program], surroundings: Surroundings
) -> tuple[Reason, ...]:
    name, second = words[0], words[1] if len(words) > 1 else ""
    entry = entries.get(second)
    if entry is None:
        said = f"`{name} {second}`".replace(" `", "`")
        return (Reason(text=f"{said} is not on the list of harmless subcommands", kind="program"),)
    return reasons_by_entry(f"{name} {second}", words[2:], entry, surroundings)


def _pip(words: tuple[str, ...], surroundings: Surroundings) -> tuple[Reason, ...]:
    return _subcommand(words, _PIP, surroundings)


def _npm(words: tuple[str, ...], surroundings: Surroundings) -> tuple[Reason, ...]:
    if len(words) == 2 and words[1] in VERSIONS["npm"]:
        return ()
    return _subcommand(words, {"ls": _NPM, "list": _NPM, "ll": _NPM, "la": _NPM}, surroundings)


_DPKG = Program(
    options="""
    -l --list -L --listfiles -s --status -S --search -p --print-avail --get-selections --print-architecture
    """,
    operands="TEXT...",
    check=lambda usage, surroundings: (
        () if usage.options else (Reason(text="`dpkg` without a question", kind="option"),)
    ),
)

PROGRAMS: dict[str, Entry] = {
    "pip": _pip,
    "pip3": _pip,
    "npm": _npm,
    "dpkg": _DPKG,
    "dpkg-query": Program(
        options="-l --list -L --listfiles -s --status -S --search -W --show -f=TEXT --showformat=TEXT",
        operands="TEXT...",
    ),
}
