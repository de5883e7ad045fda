"""Developer tools: the few subcommands that neither run, fetch nor write anything.

Missing although they look harmless: tools whose configuration in the project can name programs (cargo, go,
yarn, pnpm, tox, flake8, pylint, mypy) or make them edit (ruff), and tools that use a daemon or a network
(docker, kubectl, gh; `npm ls` writes a log and looks for a newer npm).
"""

from __future__ import annotations

from errands.judge.programs.entry import Program, ask, objection_to_home
from errands.judge.programs.usage import reasons_by_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.judge.programs.entry import Entry, Reasons, Usage
    from errands.judge.workspace import Workspace

_PIP = {
    "list": Program(
        options="""
        -e --editable -l --local --user --not-required --exclude-editable --include-editable --pre
        --format=columns|freeze|json --exclude=TEXT -v --verbose -q --quiet --disable-pip-version-check
        --no-color
        """,
        refused={"-o --outdated -u --uptodate": "queries the package index over the network"},
    ),
    "show": Program(options="-f --files -v --verbose -q --quiet --no-color", operands="TEXT..."),
    "freeze": Program(
        options="-l --local --user --all --exclude-editable --exclude=TEXT -v -q --no-color",
        check=lambda usage, workspace: (
            ()
            if usage.has("--exclude-editable")
            else ask("asks git about the packages that are installed from a checkout", "script")
        ),
    ),
    "check": Program(options="-v --verbose -q --quiet --no-color"),
    "--version": Program(),
    "-V": Program(),
}


def _pip(words: tuple[str, ...], workspace: Workspace) -> Reasons:
    name = " ".join(words[:2])
    entry = _PIP.get(words[1]) if len(words) > 1 else None
    if entry is None:
        return ask(f"`{name}` is not on the list of harmless subcommands", "program")
    # Python loads packages of the home directory before pip does anything.
    return (*objection_to_home("pip", workspace), *reasons_by_entry(name, words[2:], entry, workspace))


def _query(usage: Usage, workspace: Workspace) -> Reasons:
    # dpkg reads options from ~/.dpkg.cfg.
    return objection_to_home("dpkg", workspace) if usage.options else ask("`dpkg` without a query", "option")


_DPKG = Program(
    options="""
    -l --list -L --listfiles -s --status -S --search -p --print-avail --get-selections --print-architecture
    """,
    operands="TEXT...",
    check=_query,
)

PROGRAMS: dict[str, Entry] = {
    "pip": _pip,
    "pip3": _pip,
    "dpkg": _DPKG,
    "dpkg-query": Program(
        options="-l --list -L --listfiles -s --status -S --search -W --show -f=TEXT --showformat=TEXT",
        operands="TEXT...",
    ),
}
