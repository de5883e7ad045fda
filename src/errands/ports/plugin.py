"""A plugin: a class found by its name, one of ours or an installed entry point.

Agents, channels, sources and dialects are all found this way. Ours are entry points too, but are found
without package metadata, so that a plain copy of the source is enough.
"""

from __future__ import annotations

from errands.model.errors import installing
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from errands.model.errors import ErrandsError

AGENTS = "errands.agents"
CHANNELS = "errands.channels"
DIALECTS = "errands.dialects"
SOURCES = "errands.sources"


def installed(group: str) -> list[str]:
    """Return the names of the installed entry points of a group."""
    from importlib.metadata import entry_points

    return [each.name for each in entry_points(group=group)]


def find(
    group: str,
    built_in: Mapping[str, str],
    name: str,
    *,
    noun: str,
    error: type[ErrandsError],
    user: str = "",
    extras: Mapping[str, str] | None = None,
) -> Any:
    """Load the class with this name; raise `error` if there is none, or if what it needs is not installed.

    `noun` says what the name stands for, `user` what cannot work without it; `extras` are our own extras.
    """
    try:
        if name in built_in:
            return load(built_in[name])
        from importlib.metadata import entry_points

        for each in entry_points(group=group):
            if each.name == name:
                return each.load()
    except ModuleNotFoundError as missing:
        extra = (extras or {}).get(name)
        how = "install what it needs" if extra is None else f"install it with: {installing(extra)}"
        what = user or f"the {noun} {name!r}"
        raise error(f"{what} needs {missing.name}, which is not installed; {how}") from missing
    raise error(unknown(group, built_in, name, noun=noun))


def unknown(group: str, built_in: Iterable[str], name: str, *, noun: str) -> str:
    known, asked = tuple(dict.fromkeys((*built_in, *installed(group)))), name[:80]
    near = did_you_mean(asked, known)
    return f"unknown {noun} {asked!r}{near}; known: {', '.join(known)}; plugins can add more"


def load(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)
