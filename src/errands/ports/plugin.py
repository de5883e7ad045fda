"""A plugin: a class found by its name, one of ours or an installed entry point.

Agents, channels, sources and dialects are all found this way. Ours are entry points too, but are found
without package metadata, so that a plain copy of the source is enough.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


AGENTS = "errands.agents"
CHANNELS = "errands.channels"
DIALECTS = "errands.dialects"
SOURCES = "errands.sources"


def installed(group: str) -> list[str]:
    """Return the names of the installed entry points of a group."""
    from importlib.metadata import entry_points

    return [each.name for each in entry_points(group=group)]


def find(group: str, built_in: Mapping[str, str], name: str) -> Any | None:
    """Load the class with this name; return None if the group has none."""
    if name in built_in:
        return load(built_in[name])
    from importlib.metadata import entry_points

    return next((each.load() for each in entry_points(group=group) if each.name == name), None)


def load(where: str) -> Any:
    """Load an object from `module:name`."""
    module, _, name = where.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)


def install_hint(extra: str | None) -> str:
    """Return how to install what is missing."""
    if extra is None:
        return "install what it needs"
    return f"install it with: pip install 'errands[{extra}]' (from a clone: '.[{extra}]')"
