"""Presence: whether a backend still has a session, looked up before a prompt is sent to it."""

from __future__ import annotations

from errands.agents import make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.ports.agent import SoughtSession

# The backends that keep sessions as files; the others keep them in our store, or in a program of theirs.
_FILES = ("claude", "codex", "command")
_PLACES = ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")


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
