"""What our HTTP servers share: the types of applications, their origins, and connections that time out.

A server for one machine is still reached by every process of that machine, so idle connections and half-sent
requests must not fill it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from errands.ports.server_socket import host_names

MOST = 200  # connections at the same time
HEAD_WITHIN = 5.0  # seconds

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def authority(host: str, port: int) -> str:
    """Return `HOST:PORT` as a URL has it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def origins_of(host: str, port: int) -> list[str]:
    """Return what the Origin header of a request to a server without TLS can be."""
    return [f"http://{each}" for each in host_names(host, port)]


def connection_class() -> Any:
    """Return the class of a connection that ends if no request comes soon, or if others need its place.

    The server itself waits for the first request forever, so idle connections would fill it.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    known: dict[Any, asyncio.TimerHandle | None] = {}  # oldest first

    class Connection(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            known[self] = None
            self._wait()
            if len(known) >= MOST and (oldest := next((each for each in known if each.is_idle), None)):
                oldest.transport.abort()
                oldest.leave()

        def connection_lost(self, error: Exception | None) -> None:
            self.leave()
            super().connection_lost(error)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait()

        @property
        def is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def leave(self) -> None:
            if timer := known.pop(self, None):
                timer.cancel()

        def _wait(self) -> None:
            if self in known:
                self.leave()
                known[self] = asyncio.get_running_loop().call_later(HEAD_WITHIN, self._give_up)

        def _give_up(self) -> None:
            if self.is_idle:
                self.transport.abort()

    return Connection
