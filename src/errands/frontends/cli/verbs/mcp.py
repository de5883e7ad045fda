"""mcp: the tools of Errands for clients of the Model Context Protocol."""

from __future__ import annotations

from errands.frontends.cli.parser import Operand, Option, Usage, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments


def mcp(context: Context, arguments: Arguments) -> int:
    if arguments.address is not None and not arguments.http:
        raise Usage("an address is for --http; over stdio the client starts the server itself")
    http = (arguments.address or "") if arguments.http else None
    return context.bootstrap.serve_mcp(arguments.dialect, http=http, everything=arguments.all)


VERBS = (
    Verb(
        name="mcp",
        summary="serve the tools of Errands to an agent's client, over MCP",
        run=mcp,
        details="Over stdio the client starts it, as its own server, and it ends with the client; what was "
        "launched goes on. Over HTTP it listens on this machine, prints its address, and wants the token in "
        "mcp/token of the home, or in ERRANDS_MCP_TOKEN, as a bearer token. A client sees the tasks of its "
        "own session: that of ERRANDS_SESSION, or else its name and the directory. See docs/mcp.md.",
        options=(
            Option(
                flags=("--dialect",),
                metavar="NAME",
                default="native",
                help="the words that the agent knows: native, opencode, claude, co or egirl",
            ),
            Option(flags=("--http",), help="listen for clients over HTTP instead of stdio"),
            Option(flags=("--all",), help="show the tasks of all sessions, not only those of its own"),
        ),
        operands=(
            Operand(
                metavar="ADDRESS", optional=True, help="HOST:PORT for --http; without one 127.0.0.1:7878"
            ),
        ),
        examples=(
            ("errands mcp", "what a client is told to start"),
            ("errands mcp --dialect claude", "with the tools that Claude Code has"),
            ("errands mcp --http 127.0.0.1:0", "on any free port"),
        ),
    ),
)
