"""A command as a source: its output or exit code changes, or it prints something that matches.

The shell line was judged together with the task; the context runs it, always with a time-out.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

from errands.model.schedule.event_trigger import option
from errands.model.text.duration import parse_duration
from errands.model.trigger import On
from errands.ports.source import CommandOutput, Observation, SourceEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import SourceContext

LONGEST_LINE = 2000  # characters of a line that are searched


class Command:
    def __init__(self, trigger: On, context: SourceContext) -> None:
        self._context = context
        self._line = trigger.subject
        self.every = parse_duration(option(trigger, "every")).total_seconds()
        self._timeout = parse_duration(option(trigger, "timeout")).total_seconds()
        self._when = option(trigger, "when")
        pattern = option(trigger, "match")
        self._pattern = re.compile(pattern) if pattern else None
        self._known: dict[str, Any] | None = None

    async def open(self, baseline: str | None) -> None:
        self._known = None if baseline is None else json.loads(baseline)

    async def observe(self) -> AsyncIterator[Observation]:
        while True:
            printed = await self._context.execute(self._line, timeout=self._timeout)
            found: dict[str, Any] = {
                "code": printed.code,
                "digest": printed.digest,
                "match": self._match(printed),
            }
            happened = self._what(found)
            self._known = found
            events = (self._event(happened, printed, found["match"]),) if happened else ()
            yield Observation(baseline=json.dumps(found, sort_keys=True), events=events)
            await asyncio.sleep(self.every)

    async def close(self) -> None: ...

    def _match(self, printed: CommandOutput) -> str | None:
        if self._pattern is None:
            return None
        lines = printed.output.splitlines()
        found = (self._pattern.search(line[:LONGEST_LINE]) for line in lines)
        return next((each[0][:200] for each in found if each), None)

    def _what(self, found: dict[str, Any]) -> str:
        """Describe what changed since the last observation; the first one can only match."""
        known = self._known or {}
        if self._pattern is not None:
            begins = found["match"] is not None and known.get("match") is None
            return f"printed {found['match']!r}" if begins else ""
        if not known:
            return ""
        if self._when != "output" and found["code"] != known["code"]:
            return f"exited with code {found['code']}, previously with {known['code']}"
        if self._when != "exit" and found["digest"] != known["digest"]:
            return "printed something else"
        return ""

    def _event(self, what: str, printed: CommandOutput, match: str | None) -> SourceEvent:
        facts: dict[str, Any] = {"exit_code": printed.code, "output": printed.output}
        if match is not None:
            facts["match"] = match
        return SourceEvent(text=f"{self._line[:100]} {what}", facts=facts)
