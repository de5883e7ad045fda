"""Whether OpenCode still has a session: asked of the servers that run, without starting one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from errands.agents.opencode.server import Server
from errands.model.errors import AgentError, SessionGone
from errands.ports import bridges

ANSWERING = 5.0  # seconds: a person waits for it


def has_session(
    settings: Mapping[str, Any], session: str, environ: Mapping[str, str], *, is_own: bool
) -> bool:
    """Return whether a session is there; only if every place says that it is not, it is gone."""
    servers = _servers(settings, session, environ, is_own=is_own)
    with ThreadPoolExecutor(1) as pool:  # the caller may be in an event loop
        return not servers or pool.submit(asyncio.run, _is_in_one_of(servers, session)).result()


def _servers(
    settings: Mapping[str, Any], session: str, environ: Mapping[str, str], *, is_own: bool
) -> list[Server]:
    """Return where the session can be: in the OpenCode of a caller, or at the configured server."""
    brief = {**settings, "retries": 0, "timeout": ANSWERING}
    notes = os.path.join(str(settings["home"]), bridges.NOTES)
    known = bridges.found(notes, bridges.data_directory(environ), session)
    living = next((each for each in known if each.is_alive), None)
    servers = [] if living is None else [Server({**brief, "url": "http://opencode"}, socket=living.socket)]
    return servers if is_own and "url" not in settings else [*servers, Server(brief)]


async def _is_in_one_of(servers: list[Server], session: str) -> bool:
    for server in servers:
        try:
            await server.session(session)
        except SessionGone:
            continue
        except AgentError:
            pass  # no answer is not a no
        return True
    return False
