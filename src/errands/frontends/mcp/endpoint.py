"""The MCP endpoint for a server that is there anyway."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from errands.dialects import named
from errands.engine.engine import Engine
from errands.frontends.mcp.frontend import Frontend
from errands.frontends.mcp.http import make_app
from errands.frontends.mcp.server import LARGEST, make_server
from errands.frontends.tools.http_server import App
from errands.ports.listening import secret


def endpoint(
    open_engine: Callable[[], Engine], origins: list[str], environ: Mapping[str, str]
) -> tuple[App, int]:
    """Return the application for a server with these origins, and the largest message it takes."""
    frontend = Frontend(named("native"), open_engine=open_engine, environ=environ)
    token = environ.get("ERRANDS_MCP_TOKEN") or secret(frontend.engine.engine.home.mcp, "token")
    return make_app(make_server(frontend), origins, token, LARGEST), LARGEST
