"""Background calls: an agent of a conversation starts tasks and follows them, as part of its run.

A call that waits long for a task lends the slot of its run meanwhile, so that background agents, which may
need the same model, can work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.engine import Engine
    from errands.ports.dialect import Caller, Reply, Tool

    # Returns the tools for a caller; they are a dialect's, so a frontend makes them.
    Offer = Callable[[Engine, Caller], "ToolCalls"]

QUICK = 0.2  # seconds in which most calls and commands end; a slot is not lent for less


class ToolCalls(Protocol):
    @property
    def tools(self) -> Sequence[Tool]: ...

    async def call(
        self, key: str, name: str, arguments: Mapping[str, Any], environ: Mapping[str, str]
    ) -> Reply: ...


class BackgroundCalls:
    """`away` lends the slot; `environ` returns the variables for what a call launches."""

    def __init__(
        self,
        tools: ToolCalls,
        run_id: str,
        *,
        away: Callable[[], AbstractAsyncContextManager[None]],
        environ: Callable[[str], Mapping[str, str]],
    ) -> None:
        self._tools = tools
        self._run = run_id
        self._away = away
        self._environ = environ

    @property
    def tools(self) -> Sequence[Tool]:
        return self._tools.tools

    async def call(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> Reply:
        key = f"{self._run}:{call_id}"
        calling = asyncio.ensure_future(self._tools.call(key, name, arguments, self._environ(call_id)))
        try:
            await asyncio.wait([calling], timeout=QUICK)
            if not calling.done():
                async with self._away():
                    await asyncio.wait([calling])
            return calling.result()
        finally:
            calling.cancel()
