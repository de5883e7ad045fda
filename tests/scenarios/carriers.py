"""The transports through which the scenarios of the dialects run. One more is one more line here."""

from __future__ import annotations

from errands.testing.speaker import OpenWay, through_the_engine
from tests.scenarios.mcp_ways import over_http, over_stdio

WAYS: dict[str, OpenWay] = {
    "engine": through_the_engine,
    "mcp-stdio": over_stdio,
    "mcp-http": over_http,
}
