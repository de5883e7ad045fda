"""A plugin: a class that comes with Errands or is installed besides, found by its name.

Agents, channels, sources and dialects are all found this way. Ours are entry points like anybody else's, and
found without metadata, too, so that a copy of the source is enough.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def find(group: str, built_in: Mapping[str, str], name: str) -> Any | None:
    """Load the class of a name; None if nothing of a group has it."""
    if name in built_in:
        return load(built_in[name])
    from importlib.metadata import entry_points

    return next((each.load() for each in entry_points(group=group) if each.name == name), None)


def load(where: str) -> Any:
    """Load a part by its place, `module:name`."""
    module, _, name = where.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)


def advice(extra: str | None) -> str:
    """Say how to get what is not installed."""
    if extra is None:
        return "install what it needs"
    return f"install it with: pip install 'errands[{extra}]' (from a clone: '.[{extra}]')"
