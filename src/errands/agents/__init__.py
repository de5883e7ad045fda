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

    from errands.ports.agent import Agent, SoughtSession

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
# The backends that keep sessions as files; the others keep them in our store, or in a program of theirs.
_FILES = ("claude", "codex", "command")
_PLACES = ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")


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


def has_session(sought: SoughtSession, settings: Mapping[str, Any], home: str) -> bool:
    """Return whether an agent has a session; True if that cannot be known.

    The environment of the task says where a program keeps its files.
    """
    name, environ = sought.agent, sought.environ
    backend = settings.get("backend", name)
    if backend == "opencode":
        opencode: Any = make(name, settings, home)
        return bool(opencode.knows(sought.name, environ, is_own="/" in name))
    if backend == "acp" and sought.may_start:
        program: Any = make(name, {**settings, "env": {**environ, **settings.get("env", {})}}, home)
        return bool(program.knows(sought.name, sought.messages, sought.cwd))
    if backend not in _FILES:
        return True
    places = {each: environ.get(each, "") for each in _PLACES}
    agent: Any = make(name, {**settings, "env": {**places, **settings.get("env", {})}}, home)
    return bool(agent.knows(sought.name))
