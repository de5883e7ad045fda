"""Agents: the backends that answer prompts; none knows another.

A backend is a class that takes a mapping of settings, registered as an entry point of the group
`errands.agents`.
"""

from __future__ import annotations

import os

from errands.model.errors import UnknownAgent
from errands.ports.home import Home
from errands.ports.plugin import AGENTS, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.ports.agent import Agent

BUILT_IN = {
    "offline": "errands.agents.offline:Offline",
    "builtin": "errands.agents.builtin:Builtin",
    "acp": "errands.agents.acp:Acp",
    "opencode": "errands.agents.opencode:OpenCode",
    "claude": "errands.agents.command:ClaudeCode",
    "codex": "errands.agents.command:CodexCli",
    "command": "errands.agents.command:Command",
}
# The extra that a backend needs.
EXTRAS = {"builtin": "agents", "acp": "acp"}


def make(name: str, settings: Mapping[str, Any], home: str) -> Agent:
    """Create the agent with this name in the configuration; it may keep files below `home`.

    `opencode/NAME` is OpenCode's own agent of that name, `claude/NAME` is Claude Code's.
    """
    base, _, own = name.partition("/")
    kind = backend_of(base, str(settings.get("backend", base)))
    directory = Home(path=home).agent(base)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    agent: Agent = kind({**settings, "home": directory, **({"agent": own} if own else {})})
    return agent


def backend_of(name: str, backend: str) -> Any:
    """Return the class of a backend; raise `UnknownAgent` if it cannot be loaded."""
    user = f"the agent {name!r}"
    return find(AGENTS, BUILT_IN, backend, noun="backend", error=UnknownAgent, user=user, extras=EXTRAS)
