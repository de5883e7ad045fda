"""Presence: whether a backend still has a session, looked up without starting anything.

An agent that speaks ACP is not asked: it would have to be started for that.
"""

from __future__ import annotations

from errands.agents import make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The backends that keep sessions as files; the others keep them in our store, or in a program of theirs.
_FILES = ("claude", "codex", "command")
_PLACES = ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")


def has_session(
    name: str, settings: Mapping[str, Any], home: str, session: str, environ: Mapping[str, str]
) -> bool:
    """Return whether an agent has a session; True if that cannot be known without asking it.

    `environ` is that of the task, which says where the program keeps its files.
    """
    backend = settings.get("backend", name)
    if backend == "opencode":
        opencode: Any = make(name, settings, home)
        return bool(opencode.knows(session, environ, is_own="/" in name))
    if backend not in _FILES:
        return True
    places = {each: environ.get(each, "") for each in _PLACES}
    agent: Any = make(name, {**settings, "env": {**places, **settings.get("env", {})}}, home)
    return bool(agent.knows(session))
