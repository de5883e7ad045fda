"""Readiness: whether an agent could start now, checked without sending it anything.

It looks for the program, imports the extra, connects to the address once. It does not ask the model.
"""

from __future__ import annotations

import shlex
import shutil
import socket
from urllib.parse import urlsplit

from errands.agents import backend_of
from errands.model.agent.install_hints import OLLAMA, OPENCODE, SERVER, no_program, no_server
from errands.model.errors import AgentUnavailable
from errands.ports.bridges import URL
from errands.ports.plugin import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WITHIN = 1.0  # seconds for an address to be reached


def ready(name: str, settings: Mapping[str, Any]) -> str:
    """Return why an agent could start; raise an error that says why not, and what to do."""
    backend = str(settings.get("backend", name))
    backend_of(name, backend)
    match backend:
        case "offline":
            return "needs nothing"
        case "builtin":
            return _builtin(settings)
        case "opencode":
            return _listens(str(settings.get("url", URL)), OPENCODE)
        case "command":
            return _program(settings.get("command", settings.get("preset", "claude")))
        case "claude" | "codex":
            return _program(settings.get("command", backend))
        case "acp":
            if "command" not in settings:
                raise AgentUnavailable('it has no command; write one, such as command = ["opencode", "acp"]')
            return _program(settings["command"])
        case _:
            return f"the backend {backend!r} is installed"


def _builtin(settings: Mapping[str, Any]) -> str:
    made = load("errands.agents.builtin.models:model")(settings)
    is_ollama = made.system == "ollama"
    # A name without a provider is read as one of Ollama's, so say which server will be asked.
    what = f"{made.model_name} of Ollama" if is_ollama else made.model_name
    for name, server in settings.get("mcp", {}).items():
        _served(name, server)
    if not is_ollama and not settings.get("url"):
        return f"{what} of {made.system}, with a key"
    try:
        return f"{what} at {_listens(made.base_url or '', OLLAMA if is_ollama else SERVER)}"
    except AgentUnavailable as error:
        raise AgentUnavailable(f"{what} at {error}") from error


def _served(name: str, server: Mapping[str, Any]) -> None:
    try:
        _program(server["command"]) if "command" in server else _listens(server["url"], SERVER)
    except AgentUnavailable as error:
        raise AgentUnavailable(f"the MCP server {name!r} is not there: {error}") from error


def _program(command: str | list[str]) -> str:
    words = shlex.split(command) if isinstance(command, str) else command
    found = shutil.which(words[0])
    if found is None:
        raise AgentUnavailable(f"{words[0]}: {no_program(words[0])}")
    return f"{found} is there"


def _listens(url: str, advice: str) -> str:
    place = urlsplit(url)
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        socket.create_connection((place.hostname or "127.0.0.1", port), timeout=WITHIN).close()
    except OSError as error:
        raise AgentUnavailable(f"{url.rstrip('/')}: {no_server(advice)}") from error
    return f"{url.rstrip('/')} answers"
