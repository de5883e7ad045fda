"""`errands mcp`: serve one client over stdio, many over HTTP, or as a part of another server."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping

from errands.dialects import named
from errands.engine.engine import Engine
from errands.frontends.mcp.frontend import Frontend
from errands.frontends.mcp.server import LARGEST, make_server
from errands.frontends.tools.http_server import App
from errands.ports.server_socket import address, secret


def serve(
    dialect: str,
    *,
    http: str | None,
    everything: bool,
    open_engine: Callable[[], Engine],
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Serve until the client disconnects or, over HTTP, until this process is stopped."""
    # A long-lived process needs garbage collection, which the command line turns off.
    gc.enable()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="errands mcp: %(message)s")
    frontend = Frontend(named(dialect), open_engine=open_engine, everything=everything, environ=environ)
    server = make_server(frontend)
    if http is None:
        from errands.frontends.mcp import stdio

        async def serve_client() -> None:
            staying = asyncio.create_task(frontend.stay())
            try:
                await stdio.serve(server, LARGEST)
            finally:
                staying.cancel()

        asyncio.run(serve_client())
        return 0
    from errands.frontends.mcp import http as web

    host, port = address(http, web.DEFAULT)

    def token() -> str:
        if token := environ.get("ERRANDS_MCP_TOKEN"):
            return token
        directory = frontend.engine.engine.home.mcp
        token = secret(directory, "token")
        sys.stderr.write(f"errands mcp: clients need the token in {directory}/token\n")
        return token

    asyncio.run(web.serve(server, host, port, token, LARGEST))
    return 0


def endpoint(
    open_engine: Callable[[], Engine], origins: list[str], environ: Mapping[str, str]
) -> tuple[App, int]:
    """Return the application for a server with these origins, and the largest message it takes."""
    from errands.frontends.mcp.http import make_app

    frontend = Frontend(named("native"), open_engine=open_engine, environ=environ)
    token = environ.get("ERRANDS_MCP_TOKEN") or secret(frontend.engine.engine.home.mcp, "token")
    return make_app(make_server(frontend), origins, token, LARGEST), LARGEST
