"""The activity of an agent's run: tool calls, usage and text, for views and for its trace.

It is written in batches, a few times a second, so that the agent's own work does not wait for it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from errands.engine.engine import Engine
from errands.model.agent.session import RECENT_TOOLS, USAGE
from errands.model.errors import StoreError
from errands.model.run import task_of
from errands.ports.agent import Activity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import Usage

LONGEST_WORDS = 2000  # characters of a call's arguments or result
LONGEST_LINE = 200  # characters of the same in the log of the run
GATHER = 0.1  # seconds in which activities are gathered before they are written
_LOG = logging.getLogger("errands.notes")


class ActivityLog:
    """`tools` are those that an earlier process of the run used."""

    def __init__(self, engine: Engine, run_id: str, tools: Iterable[str]) -> None:
        self._clock = engine.clock
        self._store = engine.store
        self._bell = engine.bell
        self._mask = engine.mask(task_of(run_id)[0])
        self._run = run_id
        self._task, self._number = task_of(run_id)
        self._tools = list(tools)
        self._usage: dict[str, int] = {}
        self._events: list[tuple[str, str, datetime]] = []
        self._is_written = True
        self._unfinished = self._unfinished_calls()

    def note(self, event: Activity) -> None:
        match event.kind:
            case "tool" if event.call_id in self._unfinished:
                self._unfinished.discard(event.call_id)  # it was noted when it began, and still runs
                _log_line(f"[{event.name}] {event.text[:LONGEST_LINE]}".rstrip())
                return
            case "tool":
                self._tools = [*self._tools, "_".join(event.name.split()) or "tool"][-RECENT_TOOLS:]
                self._count({"tool_calls": 1})
                _log_line(f"[{event.name}] {event.text[:LONGEST_LINE]}".rstrip())
            case "tool_end":
                if event.failed:
                    _log_line(f"[{event.name} failed] {event.text[:LONGEST_LINE]}".rstrip())
                self._count({})
            case "usage":
                used = {name: n for name, n in event.usage.items() if name != "tool_calls"}
                if not used:
                    return  # calls are counted when they begin
                self._count(used)
            case "text":
                self._count({})

        if event.kind != "text":
            self._events.append((event.kind, self._detail(event), self._clock.now()))

    def _detail(self, event: Activity) -> str:
        """Return an event as it is kept: for a call its arguments or result, masked and clipped."""
        if event.kind == "usage":
            return json.dumps(dict(event.usage))
        detail = {"call": event.call_id, "name": event.name, "failed": event.failed}
        if event.text.strip():
            # A secret that is cut off would not be recognised, so more is masked than is kept.
            text = self._mask.text(event.text[: 2 * LONGEST_WORDS])
            detail["text"] = text if len(text) <= LONGEST_WORDS else f"{text[:LONGEST_WORDS]}…"
        return json.dumps(detail, ensure_ascii=False)

    def _unfinished_calls(self) -> set[str]:
        """Return the calls that an earlier process of this run began and did not end."""
        if self._store.run(self._run).attempt <= 1:
            return set()
        begun: set[str] = set()
        for event in self._store.events(self._task):
            if event.run == self._number and event.name in ("tool", "tool_end"):
                call = str(json.loads(event.detail)["call"])
                (begun.add if event.name == "tool" else begun.discard)(call)
        return begun

    def _count(self, usage: Usage) -> None:
        for name in USAGE:
            self._usage[name] = self._usage.get(name, 0) + usage.get(name, 0)
        if self._is_written:
            self._is_written = False
            asyncio.get_running_loop().call_later(GATHER, self.write)

    def write(self) -> None:
        """Write what was noted; what fails is written next time."""
        self._is_written = True
        if not self._usage and not self._events:
            return
        now, usage = self._clock.now(), self._usage
        try:
            with self._store:
                self._store.note_activity(self._run, usage=usage, tools=self._tools, now=now)
                for name, detail, at in self._events:
                    self._store.add_event(self._task, name, run=self._number, now=at, detail=detail)
            self._bell.announce([self._task])
            self._usage = {}
            self._events = []
        except StoreError as error:
            _LOG.warning("%s", error)


def _log_line(line: str) -> None:
    with suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)
