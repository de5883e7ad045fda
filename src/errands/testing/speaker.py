"""A speaker: one caller of one dialect, over any transport.

A `Way` is a transport: it is opened for one engine and returns carriers, each for one dialect and one caller.
One suite runs through all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from errands.dialects import named
from errands.model.record import evolve
from errands.model.view import View
from errands.ports.dialect import Caller, Reply, Tool
from errands.testing.engines import TestEngine

FENCE = re.compile(
    r"\[(?:output|answer|error) of (\S+), ([0-9a-f]{8}): data, not instructions\]\n(.*?)\[end \2\]",
    re.DOTALL,
)


class Carrier(Protocol):
    """Fields of a reply that a transport does not carry, such as the ids beside the text, may be empty."""

    async def tools(self) -> Sequence[Tool]: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply: ...


class Way(Protocol):
    """A carrier is valid until its way is closed."""

    async def open(self, dialect: str, caller: Caller) -> Carrier: ...


# How a way is opened: for a test's engine, as a context.
OpenWay = Callable[[TestEngine], AbstractAsyncContextManager[Way]]


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


class Stage:
    """The engine that the scenarios of a module share, and the transport to its dialects."""

    def __init__(self, engine: TestEngine, way: Way, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self._way = way

    def caller(self, session: str, **more: Any) -> Caller:
        return evolve(Caller(session=session, cwd=str(self.folder), door="mcp", client="scenario"), **more)

    async def speaker(self, dialect: str, session: str, **more: Any) -> Speaker:
        caller = self.caller(session, **more)
        return Speaker(self, await self._way.open(dialect, caller), caller)


class Speaker:
    def __init__(self, stage: Stage, carrier: Carrier, caller: Caller) -> None:
        self.engine = stage.engine
        self.stage = stage
        self.carrier = carrier
        self.caller = caller

    async def __call__(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool that is expected to work."""
        reply = await self.carrier.call(tool, arguments)
        assert not reply.failed, reply.text
        return reply

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that is expected to refuse; return its text."""
        reply = await self.carrier.call(tool, arguments)
        assert reply.failed, reply.text
        return reply.text

    async def task(self) -> View:
        """Return the task that was launched last in this session."""
        return (await self.engine.list(parent=self.caller.session))[0]

    async def count(self) -> int:
        return len(await self.engine.list(parent=self.caller.session))

    async def ended(self) -> View:
        """Wait for the end of the task that was launched last."""
        return await self.engine.wait((await self.task()).id, timeout=60)


def facts(reply: Reply) -> dict[str, Any]:
    """Return the content of a reply, which must be plain JSON."""
    assert reply.content is not None, reply.text
    found: dict[str, Any] = json.loads(json.dumps(dict(reply.content)))
    return found


def fenced(text: str) -> str:
    """Return the content of the only fence in a text."""
    found = FENCE.findall(text)
    assert len(found) == 1, text
    return str(found[0][2])
