"""Carriers: the transports by which a call reaches a dialect, so that one suite can run through all of them.

A `Way` is opened for one engine and returns carriers, each for one dialect and one caller.
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
    """Fields of a reply that a transport does not carry, such as the ids beside the text, may be empty."""

    async def tools(self) -> Sequence[Tool]: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply: ...


class Way(Protocol):
    """A carrier is valid until its way is closed."""

    async def open(self, dialect: str, caller: Caller) -> Carrier: ...


# How a way is opened: for a test's engine, as a context.
OpenWay = Callable[["TestEngine"], AbstractAsyncContextManager[Way]]


class EngineCarrier:
    """The shortest way: calls the dialect in this process."""

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
