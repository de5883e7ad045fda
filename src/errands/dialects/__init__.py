"""Dialects: the tools of Errands in the words that callers know, each a thin translation over one engine.

Those that come with Errands are registered the same way as anybody else's: as entry points of the group
`errands.dialects`, each a class that takes nothing.
"""

from __future__ import annotations

from errands.model.errors import BadValue
from errands.ports.plugin import find
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.dialect import Dialect

GROUP = "errands.dialects"
BUILT_IN = {
    "native": "errands.dialects.native:Native",
    "opencode": "errands.dialects.opencode:OpenCode",
    "claude": "errands.dialects.claude:Claude",
    "co": "errands.dialects.co:Co",
    "egirl": "errands.dialects.egirl:Egirl",
}


def names() -> tuple[str, ...]:
    """Name the dialects that come with Errands, and those that are installed besides."""
    from importlib.metadata import entry_points

    return tuple(dict.fromkeys((*BUILT_IN, *(each.name for each in entry_points(group=GROUP)))))


def named(name: str) -> Dialect:
    """Return the dialect of a name."""
    kind = find(GROUP, BUILT_IN, name)
    if kind is not None:
        dialect: Dialect = kind()
        return dialect
    known, asked = names(), name[:80]
    raise BadValue(
        f"there is no dialect {asked!r}{did_you_mean(asked, known)}; there are: {', '.join(known)}"
    )
