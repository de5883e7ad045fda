"""Carriers: the ways by which a call reaches a dialect, so that one suite can be run through all of them.

A way is opened for one engine and gives carriers, each of which speaks one dialect for one caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from errands.dialects import named
from errands.ports.dialect import Caller, Reply, Tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from errands.testing.engines import TestEngine


class Carrier(Protocol):
    """What a way does not carry of a reply, such as the ids beside the text, it may leave empty."""

    async def tools(self) -> Sequence[Tool]: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply: ...


class Way(Protocol):
    """`open` gives a carrier that is good until the way ends."""

    async def open(self, dialect: str, caller: Caller) -> Carrier: ...


# How a way is opened: for a test's engine, as a context.
OpenWay = Callable[["TestEngine"], AbstractAsyncContextManager[Way]]


class EngineCarrier:
    """The shortest way: the dialect is called in this process."""

    def __init__(self, engine: TestEngine, dialect: str, caller: Caller) -> None:
        self._engine = engine
        self._dialect = named(dialect)
        self._caller = caller

    async def tools(self) -> Sequence[Tool]:
        return self._dialect.tools(self._caller)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        return await self._dialect.call(self._engine, self._caller, tool, arguments)


class EngineWay:
    def __init__(self, engine: TestEngine) -> None:
        self._engine = engine

    async def open(self, dialect: str, caller: Caller) -> Carrier:
        return EngineCarrier(self._engine, dialect, caller)


@asynccontextmanager
async def through_the_engine(engine: TestEngine) -> AsyncIterator[Way]:
    yield EngineWay(engine)
