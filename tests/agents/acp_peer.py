"""One side of the Agent Client Protocol over standard input and output: plain JSON-RPC, one message per line.

By hand, because a process needs half a second to load the library, and the tests start a hundred agents. The
library is on the other side, in our client: what is malformed here is refused there.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class RequestError(Exception):
    """A request was answered with an error, or has to be."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Peer:
    def __init__(self, handlers: dict[str, Handler]) -> None:
        self._handlers = handlers
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Answer requests until the input ends."""
        reader = asyncio.StreamReader(limit=1 << 26)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            message = json.loads(line)
            if "method" in message:
                answering = asyncio.ensure_future(self._answer(message))
                self._answering.add(answering)
                answering.add_done_callback(self._answering.discard)
            elif "error" in message:
                error = message["error"]
                failed = RequestError(error["code"], error["message"], error.get("data"))
                self._waiting.pop(message["id"]).set_exception(failed)
            else:
                self._waiting.pop(message["id"]).set_result(message["result"] or {})

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._number += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = answer
        self._write({"id": self._number, "method": method, "params": params})
        return await answer

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self._write({"method": method, "params": params})

    async def _answer(self, message: dict[str, Any]) -> None:
        try:
            if message["method"] not in self._handlers:
                raise RequestError(-32601, "Method not found", {"method": message["method"]})
            said = {"result": await self._handlers[message["method"]](message.get("params") or {})}
        except RequestError as error:
            said = {"error": {"code": error.code, "message": str(error), "data": error.data}}
        if "id" in message:
            self._write({"id": message["id"], **said})

    def _write(self, message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()
