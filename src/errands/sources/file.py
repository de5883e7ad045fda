"""Files as a source: files that match a pattern were created, modified or deleted.

The watcher only says that it is time to scan. Changes are found by comparison with the last scan, so none is
missed, however many there are and whether or not the listener was running. A change while the task itself
runs counts as its own. A harmless task gets the benefit of the doubt, but not twice in a row: it sees what a
person saved meanwhile, and can never trigger itself forever.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime

import watchfiles

from errands.model.errors import SourceError
from errands.model.schedule.event_trigger import option
from errands.model.trigger import On
from errands.ports.source import Observation, SourceEvent
from errands.sources.paths import Seen, check_root, pack, pattern_of, scan, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import SourceContext

HEARTBEAT = 60.0  # seconds after which we scan in any case
UNDECIDED = 1.0  # seconds between scans while a run is not over that may have caused a change
PACE = 5  # pause this many times as long as a scan takes
SHORTEST_PAUSE = 0.05
NAMED = 100  # files that an event names
LAG = 0.01  # seconds by which file times may lag: a tick of the kernel


class File:
    def __init__(self, trigger: On, context: SourceContext) -> None:
        self._context = context
        self._pattern = pattern_of(trigger.subject, cwd=context.cwd, hidden=context.home)
        self._events = option(trigger, "events").split(",")
        self._sees_own = option(trigger, "during") == "heard"
        self._marks: dict[str, str] | None = None
        self._is_undecided = False
        self._was_doubted = False
        self._changed = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    async def open(self, baseline: str | None) -> None:
        self._marks = unpack(self._pattern, baseline)
        check_root(self._pattern)
        # It watches from its first step on, before the first scan, so no change in between is missed.
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        await asyncio.sleep(0)

    async def observe(self) -> AsyncIterator[Observation]:
        assert self._watching is not None
        while True:
            self._changed.clear()
            if self._watching.done():
                self._watching.result()
                raise SourceError("the watcher has ended")
            began = time.monotonic()
            seen = await asyncio.to_thread(scan, self._pattern)
            took = time.monotonic() - began
            events = self._compared(seen)
            assert self._marks is not None
            yield Observation(baseline=pack(self._pattern, self._marks), events=events)
            await asyncio.sleep(max(SHORTEST_PAUSE, took * PACE))
            await self._rest()

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await self._watching

    async def _watch(self) -> None:
        try:
            async for _ in watchfiles.awatch(
                self._pattern.root,
                watch_filter=None,
                debounce=400,
                step=100,  # ms between wake-ups, even if nothing changes
                recursive=self._pattern.is_deep,
                ignore_permission_denied=True,
            ):
                self._changed.set()
        finally:
            self._changed.set()

    async def _rest(self) -> None:
        """Wait for a change or, while it is open who caused one, for news of the task's run."""
        if self._is_undecided and not self._changed.is_set():
            await self._context.wait(UNDECIDED)
            return
        try:
            async with asyncio.timeout(HEARTBEAT):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _compared(self, seen: dict[str, Seen]) -> tuple[SourceEvent, ...]:
        """Return the changes and remember them; leave those that may be the task's own for later."""
        known, since = self._marks, self._context.since.timestamp()
        if known is None:
            # The first scan: what changed since the task was created still counts.
            known = {name: each.mark for name, each in seen.items() if each.changed < since - LAG}
            changes = [(name, "modified", each.changed) for name, each in seen.items() if name not in known]
        else:
            changes = [
                (name, "modified" if name in known else "created", each.changed)
                for name, each in seen.items()
                if known.get(name) != each.mark
            ]
            changes += [(name, "deleted", self._deleted_at(name)) for name in known.keys() - seen.keys()]
        others: list[tuple[str, str]] = []
        own: list[tuple[str, str]] = []
        self._is_undecided = False
        for (name, event, _), is_own in zip(changes, self._are_own(changes), strict=True):
            if is_own is None:
                self._is_undecided = True
                continue
            if name in seen:
                known[name] = seen[name].mark
            else:
                known.pop(name, None)
            if event in self._events:
                (own if is_own else others).append((name, event))
        self._marks = known
        if own and self._context.is_harmless and not self._was_doubted:
            others, own, self._was_doubted = others + own, [], True
        elif others:
            self._was_doubted = False
        return tuple(self._event(sorted(each), is_own=each is own) for each in (others, own) if each)

    def _are_own(self, changes: list[tuple[str, str, float]]) -> list[bool | None]:
        if self._sees_own or not changes:
            return [False] * len(changes)
        return list(self._context.ran_at([datetime.fromtimestamp(at, UTC) for _, _, at in changes]))

    def _deleted_at(self, name: str) -> float:
        """Return when a file was deleted, judging by its nearest directory that still exists."""
        place = os.path.dirname(os.path.join(self._pattern.root, name))
        while True:
            try:
                return os.stat(place).st_mtime
            except OSError:
                if place == "/":
                    return time.time()
                place = os.path.dirname(place)

    def _event(self, changes: list[tuple[str, str]], *, is_own: bool) -> SourceEvent:
        root = self._pattern.root
        few = ", ".join(f"{name} {event}" for name, event in changes[:3])
        more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
        named = [{"path": _text(os.path.join(root, name)), "event": event} for name, event in changes[:NAMED]]
        return SourceEvent(
            text=_text(few + more),
            facts={"root": _text(root), "count": len(changes), "changes": named},
            is_own=is_own,
        )


def _text(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
