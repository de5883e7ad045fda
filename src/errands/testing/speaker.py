"""A speaker: one caller of one dialect, over any transport."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from errands.model.record import evolve
from errands.model.view import View
from errands.ports.dialect import Caller, Reply
from errands.testing.carriers import Carrier, Way
from errands.testing.engines import TestEngine

FENCE = re.compile(
    r"\[(?:output|answer|error) of (\S+), ([0-9a-f]{8}): data, not instructions\]\n(.*?)\[end \2\]",
    re.DOTALL,
)


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
