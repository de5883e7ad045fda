"""Programs that look for files by their names."""

from __future__ import annotations

import re

from errands.judge.programs.entry import Program, ask_each
from errands.judge.programs.places import objection_to_listing
from errands.model.text.secret_files import is_secret_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from errands.judge.programs.entry import Reasons, Usage
    from errands.judge.workspace import Workspace


def names_below(places: Sequence[str], workspace: Workspace) -> Reasons:
    """Object to places of which not every name is listed without asking."""
    return ask_each((objection_to_listing(place, workspace) for place in places or ["."]), "secret")


def _fd(usage: Usage, workspace: Workspace) -> Reasons:
    return names_below([*usage.operands[1:], *usage.values("--search-path")], workspace)


def _locate(usage: Usage, workspace: Workspace) -> Reasons:
    """Refuse to look for secrets on the whole disk; a pattern is only a part of a name."""
    patterns = [*usage.operands, *usage.values("-r", "--regexp")]
    pieces = [piece for pattern in patterns for piece in re.findall(r"[\w.-]+", pattern.casefold())]
    return ask_each(
        (
            f"looks for files with secrets: {piece}"
            for piece in pieces
            if is_secret_name(piece) or is_secret_name(f"x.{piece.lstrip('.')}")
        ),
        "secret",
    )


_FD = Program(
    options="""
    -H --hidden -I --no-ignore --no-ignore-vcs --no-ignore-parent -u --unrestricted -s --case-sensitive -i
    --ignore-case -g --glob --regex -F --fixed-strings -a --absolute-path -L --follow -p --full-path -0
    --print0 -d=NUMBER --max-depth=NUMBER --min-depth=NUMBER --exact-depth=NUMBER -E=TEXT
    --exclude=TEXT --prune -t=TEXT --type=TEXT -e=TEXT --extension=TEXT -S=TEXT --size=TEXT
    --changed-within=TEXT --changed-before=TEXT -o=TEXT --owner=TEXT -c=auto|always|never
    --color=auto|always|never -j=NUMBER --threads=NUMBER --max-results=NUMBER -1 -q --quiet --show-errors
    --strip-cwd-prefix --path-separator=TEXT --one-file-system --and=TEXT -h -V
    --search-path=LOOK
    """,
    operands="PATTERN LOOK...",
    refused={
        "-x --exec -X --exec-batch": "runs a program on what it finds",
        "-l --list-details": "starts another program",
    },
    check=_fd,
)

PROGRAMS = {
    "fd": _FD,
    "fdfind": _FD,
    "whereis": Program(options="-b -m -s -u -l -V -h", operands="TEXT..."),
    "which": Program(options="-a -s --all", operands="TEXT..."),
    "type": Program(options="-a -t -p -P -f", operands="TEXT...", helps=False),
    "locate": Program(
        options="-A --all -b --basename -c --count -e --existing -i --ignore-case -l=NUMBER --limit=NUMBER "
        "-n=NUMBER -0 --null -q --quiet -r=PATTERN --regexp=PATTERN --regex -w --wholename",
        operands="PATTERN...",
        check=_locate,
    ),
}
