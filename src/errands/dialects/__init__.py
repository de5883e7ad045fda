"""Dialects: the tools of Errands under the names that callers know, each a thin translation.

A dialect is a class without arguments, registered as an entry point of the group `errands.dialects`.
"""

from __future__ import annotations

from errands.model.errors import BadValue
from errands.ports.plugin import DIALECTS, find, installed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.dialect import Dialect

BUILT_IN = {
    "native": "errands.dialects.native:Native",
    "opencode": "errands.dialects.opencode:OpenCode",
    "claude": "errands.dialects.claude:Claude",
    "co": "errands.dialects.co:Co",
    "egirl": "errands.dialects.egirl:Egirl",
}


def names() -> tuple[str, ...]:
    """Return the names of our dialects and of the installed ones."""
    return tuple(dict.fromkeys((*BUILT_IN, *installed(DIALECTS))))


def named(name: str) -> Dialect:
    dialect: Dialect = find(DIALECTS, BUILT_IN, name, noun="dialect", error=BadValue)()
    return dialect
