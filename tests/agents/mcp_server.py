"""A small MCP server over standard input and output: it counts, it fails, and it writes down what it did."""

from __future__ import annotations

import os
import sys

from mcp.server import MCPServer

server = MCPServer("counting")


@server.tool()
def count(word: str) -> str:
    """Count the letters of a word."""
    with open(sys.argv[1], "a") as file:
        file.write(
            f"{word} {os.getcwd()} {os.environ.get('FLAVOUR', '')} {os.environ.get('ERRANDS_HOME', '')}\n"
        )
    return f"{word} has {len(word)} letters"


@server.tool()
def fail() -> str:
    """Fail, always."""
    raise ValueError("as expected")


if __name__ == "__main__":
    server.run("stdio")
