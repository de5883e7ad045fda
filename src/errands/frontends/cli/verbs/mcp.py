"""mcp: the tools of Errands over the Model Context Protocol."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Usage, Verb, operand, option


def mcp(context: Context, arguments: Arguments) -> int:
    if arguments.address is not None and not arguments.http:
        raise Usage("an address needs --http; add it, or leave out the address")
    http = (arguments.address or "") if arguments.http else None
    return context.bootstrap.serve_mcp(arguments.dialect, http=http, everything=arguments.all)


VERBS = (
    Verb(
        name="mcp",
        summary="serve the tools of Errands to agents over MCP",
        run=mcp,
        details="Over stdio, the client starts the server, which ends with the client; the tasks it launched "
        "continue. Over HTTP, it listens on this machine, prints its address, and requires a bearer token: "
        "the one in mcp/token of the home, or ERRANDS_MCP_TOKEN. A client sees the tasks of its own session, "
        "which is ERRANDS_SESSION, or else its name and directory. See docs/reference/mcp.md.",
        options=(
            option(
                "--dialect NAME",
                "the tools to offer: native, opencode, claude, co or egirl",
                default="native",
            ),
            option("--http", "listen over HTTP instead of stdio"),
            option("--all", "show the tasks of all sessions, not only the client's own"),
        ),
        operands=(operand("[ADDRESS]", "HOST:PORT for --http (default 127.0.0.1:7878)"),),
        examples=(
            ("errands mcp", "what a client starts"),
            ("errands mcp --dialect claude", "with the tools of Claude Code"),
            ("errands mcp --http 127.0.0.1:0", "on any free port"),
        ),
    ),
)
