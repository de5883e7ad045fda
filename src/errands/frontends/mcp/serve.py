"""Serving: one process that speaks the protocol, for one client over stdio or for many over HTTP."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping

from errands.dialects import named
from errands.engine.engine import Engine
from errands.frontends.mcp.door import Door
from errands.frontends.mcp.server import LARGEST, make_server, secret


def serve(
    dialect: str,
    *,
    http: str | None,
    everything: bool,
    open_engine: Callable[[], Engine],
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Serve until the client hangs up or, over HTTP, until this process is told to end."""
    door = Door(
        named(dialect),
        open_engine=open_engine,
        everything=everything,
        environ=environ,
    )
    server = make_server(door)
    if http is None:
        from errands.frontends.mcp import stdio

        _settle_down()
        asyncio.run(stdio.serve(server, LARGEST))
        return 0
    from errands.frontends.mcp import http as web

    host, port = web.address(http)
    _settle_down()

    def token() -> str:
        given = environ.get("ERRANDS_MCP_TOKEN")
        if given:
            return given
        found = secret(door, "token")
        sys.stderr.write(f"errands mcp: clients need the token in {door.engine.engine.home.path}/mcp/token\n")
        return found

    asyncio.run(web.serve(server, host, port, token, LARGEST))
    return 0


def _settle_down() -> None:
    """Be a process that stays: it has garbage to look for, and something to say on standard error."""
    gc.enable()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="errands mcp: %(message)s")
