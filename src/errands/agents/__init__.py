"""Agents: the backends that answer prompts, each a stranger to the others.

A backend is a class that takes one mapping of settings. Those that come with Errands are registered the same
way as anybody else's: as entry points of the group `errands.agents`.
"""

from __future__ import annotations

import os
from importlib.metadata import entry_points

from errands.model.agent_errors import UnknownAgent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.ports.agent import Agent

GROUP = "errands.agents"
# They are found without metadata, too, so that a copy of the source is enough.
BUILT_IN = {
    "offline": "errands.agents.offline:Offline",
    "builtin": "errands.agents.builtin:Builtin",
    "acp": "errands.agents.acp:Acp",
    "opencode": "errands.agents.opencode:OpenCode",
    "command": "errands.agents.command:Command",
}
# What a backend needs that the base install has not.
EXTRAS = {"builtin": "agents", "acp": "acp"}


def make(name: str, settings: Mapping[str, Any], home: str) -> Agent:
    """Make the agent that the configuration knows by a name; `home` is where it may keep files."""
    kind = backend_of(name, str(settings.get("backend", name)))
    directory = os.path.join(home, "agents", name)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    agent: Agent = kind({**settings, "home": directory})
    return agent


def backend_of(name: str, backend: str) -> Any:
    """Find the backend of an agent; one that is not installed says how to get it."""
    try:
        return _find(backend)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(backend)
        advice = (
            f"install it with: pip install 'errands[{extra}]' (from a clone: '.[{extra}]')"
            if extra
            else "install what it needs"
        )
        raise UnknownAgent(
            f"the agent {name!r} needs {error.name}, which is not installed; {advice}"
        ) from error


def _find(backend: str) -> Any:
    where = BUILT_IN.get(backend)
    if where is None:
        for each in entry_points(group=GROUP):
            if each.name == backend:
                return each.load()
        raise UnknownAgent(
            f"there is no backend {backend!r} for agents; there are: {', '.join(BUILT_IN)}, "
            f"and whatever is installed as an entry point of {GROUP}"
        )
    return load(where)


def load(where: str) -> Any:
    """Load a part of a backend by its name, `module:name`: backends are strangers to all that imports us."""
    module, _, name = where.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)
