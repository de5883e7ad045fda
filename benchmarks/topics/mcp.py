"""MCP: how soon our server says hello beside a bare one on the same SDK, and what its tools cost a client."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time

from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import milliseconds, times
from errands.dialects import BUILT_IN

_BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def greet(name: str) -> str:
    return f"Hello, {name}!"
server.run()
"""
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
_LONGEST = Bar(limit=1.3, at_most=True)
_DEAREST = Bar(limit=3000, at_most=True, unit=" tokens")
# What a tokenizer makes of a text, on the high side: it knows most words whole, and signs in groups.
_TOKENS = re.compile(r"[A-Za-z]{1,6}|[0-9]{1,3}|[^A-Za-z0-9\s]|\n")


def measure(scale: Scale) -> list[Table]:
    count = max(3, scale.starts // 4)
    return [_hello(count), _cost()]


def _hello(count: int) -> Table:
    ours: list[float] = []
    bare: list[float] = []
    for number in range(-1, count):
        for samples, words in ((ours, ["-m", "errands", "mcp"]), (bare, ["-c", _BARE])):
            taken = _answered(words)
            if number >= 0:  # the first ones only warm everything up
                samples.append(taken)
    ratios = Spread(ours).over(Spread(bare))
    figure = Figure(
        what="from the start of the process to the answer to `initialize`",
        value=Spread(ours).text(milliseconds),
        beside=f"bare server {Spread(bare).text(milliseconds)}",
        ratio=ratios.middle,
        ratio_text=ratios.text(times),
        bar=_LONGEST,
    )
    notes = (f"Median of {count} interleaved starts, both with the official SDK, over stdio.",)
    return Table(title="The MCP server beside a bare one", figures=(figure,), notes=notes)


def _cost() -> Table:
    figures = []
    for dialect in BUILT_IN:
        listed = _listed(dialect)
        tokens = len(_TOKENS.findall(listed))
        figures.append(
            Figure(
                what=f"the tools of the dialect `{dialect}`",
                value=f"{tokens:,} tokens",
                beside=f"{len(listed.encode()):,} bytes",
                judged=tokens,
                bar=_DEAREST,
            )
        )
    notes = (
        "Counted in the answer to `tools/list`, as it is sent. Tokens are estimated on the high side, as no "
        "vocabulary is the one of all models: six letters, three digits and every sign are one each.",
    )
    return Table(title="What listing the tools costs a client", figures=tuple(figures), notes=notes)


def _answered(words: list[str]) -> float:
    """Return the seconds until a server that was started cold answers."""
    began = time.perf_counter()
    with _server(words) as server:
        _ask(server, 1, "initialize", _HELLO)
        taken = time.perf_counter() - began
        assert server.stdin is not None
        server.stdin.close()
        return taken


def _listed(dialect: str) -> str:
    with _server(["-m", "errands", "mcp", "--dialect", dialect]) as server:
        _ask(server, 1, "initialize", _HELLO)
        assert server.stdin is not None
        server.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        answer = _ask(server, 2, "tools/list", {})
        server.stdin.close()
    return json.dumps(json.loads(answer)["result"]["tools"], separators=(",", ":"))


def _server(words: list[str]) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "ERRANDS_HOME": os.path.join(tempfile.gettempdir(), "errands-benchmark-mcp")}
    return subprocess.Popen(
        [sys.executable, *words], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _ask(server: subprocess.Popen[bytes], number: int, method: str, params: object) -> bytes:
    assert server.stdin is not None
    assert server.stdout is not None
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    if b'"result"' not in answer:
        raise RuntimeError(f"{method} was not answered: {answer!r}")
    return answer
