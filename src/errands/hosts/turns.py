"""The turns of a host: ends of its runs go to the fleet, and runs that it takes come back, in one call.

One call is under way at a time, and the next one has all that came up meanwhile, so a busy host needs few
of them. Any call may be repeated: an end counts once, and what a lost reply took is in the next one.

A host whose runs are short takes some ahead, before it has slots for them, so that no slot stands empty
during a call: two hosts carried out 880 `true` per second instead of 670.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from errands.model.errors import FleetUnreachable
from errands.ports.fleet import Taken

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from errands.hosts.connections import Connections

POLL = 1.0  # seconds: what a lost notification costs
FIELDS = (
    *("number", "attempt", "home", "body", "key", "task", "selector", "lane", "priority", "policy"),
    "ahead",
)
TURN = (
    f"select answer, {', '.join(f'(run).{name}' for name in FIELDS)} from "
    # One JSON text: in an array of them every quotation mark would have to be escaped once more.
    "fleet.turn(%s, %s, %s::bigint[], %s::integer[], array(select jsonb_array_elements(%s)), %s, "
    "%s::bigint[], %s)"
)


class _End:
    """The end of a run that is on its way to the fleet."""

    def __init__(self, by: tuple[str, int], number: int, attempt: int, outcome: Mapping[str, Any]) -> None:
        self.by = by
        self.number = number
        self.attempt = attempt
        self.outcome = dict(outcome)
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()


class Turns:
    """`host` and its epoch take runs while `may_take`.

    `has` are the numbers of those it knows it has, `paused` those among them that need no slot.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.host: tuple[str, int] | None = None
        self.may_take = False
        self.has: set[int] = set()
        self.paused: set[int] = set()
        self._ends: list[_End] = []
        self._ahead: Callable[[], int] = int  # how many more it wants than it has slots
        self._arrived: asyncio.Queue[Taken | Exception] | None = None
        self._slots = 0
        self._should_look = False
        self._work: asyncio.Task[None] | None = None

    async def finish(
        self, by: tuple[str, int], number: int, *, attempt: int, outcome: Mapping[str, Any]
    ) -> str:
        """Send the end of a run, and return the fleet's answer."""
        end = _End(by, number, attempt, outcome)
        self._ends.append(end)
        self._start()
        return await end.answer

    async def taken(
        self, channels: Sequence[str], *, slots: int, ahead: Callable[[], int]
    ) -> AsyncGenerator[Taken, None]:
        """Yield runs that this host has from now on; look for them when one of the channels says so."""
        self._arrived = asyncio.Queue()
        self._slots, self._ahead = slots, ahead
        tasks = [
            asyncio.create_task(self._connections.listen(channels, self._look)),
            asyncio.create_task(self._poll()),
        ]
        try:
            while True:
                found = await self._arrived.get()
                if isinstance(found, Exception):
                    raise found
                yield found
        finally:
            self._arrived = None
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def forget(self, number: int) -> None:
        """Use the room of a run that this host does not have any more."""
        self.has.discard(number)
        self._look()

    def pause(self, numbers: set[int]) -> None:
        """Free the slots of paused runs; those that continue need theirs again."""
        has_more = bool(numbers - self.paused)
        self.paused = numbers
        if has_more:
            self._look()

    async def close(self) -> None:
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work

    async def _poll(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(POLL)

    def _look(self) -> None:
        self._should_look = True
        if self._has_room:
            self._start()

    @property
    def _is_taking(self) -> bool:
        return self._arrived is not None and self.may_take and self.host is not None

    @property
    def _has_room(self) -> bool:
        """Return whether looking helps now; a host that is full looks when one of its runs has ended."""
        return self._is_taking and len(self.has - self.paused) < self._slots + self._ahead()

    def _start(self) -> None:
        if self._work is None:
            self._work = asyncio.create_task(self._turn_while_needed())

    async def _turn_while_needed(self) -> None:
        try:
            while self._ends or (self._should_look and self._has_room):
                await self._turn()
        finally:
            self._work = None

    async def _turn(self) -> None:
        by = self._ends[0].by if self._ends else self.host
        assert by is not None
        ends = [end for end in self._ends if end.by == by]
        self._ends = [end for end in self._ends if end.by != by]
        is_taking = self._is_taking and by == self.host
        self._should_look = self._should_look and not is_taking
        try:
            rows = await self._connections.rows(
                TURN,
                *by,
                [end.number for end in ends],
                [end.attempt for end in ends],
                Jsonb([end.outcome for end in ends]),
                is_taking,
                list(self.has),
                self._ahead(),
            )
        except Exception as error:  # noqa: BLE001 - those who wait for this turn get it
            self._fail(ends, error)
        else:
            self._sort(rows, ends)

    def _sort(self, rows: list[tuple[Any, ...]], ends: Sequence[_End]) -> None:
        answers: dict[int, list[str]] = {}
        for answer, number, *rest in rows:
            if answer is not None:
                answers.setdefault(number, []).append(answer)
                continue
            self.has.add(number)
            if self._arrived is not None:
                self._arrived.put_nowait(Taken(**dict(zip(FIELDS, (number, *rest), strict=True))))
        for end in ends:
            answer = answers[end.number].pop(0)
            if answer != "settling":
                self.has.discard(end.number)
            if not end.answer.done():
                end.answer.set_result(answer)

    def _fail(self, ends: Sequence[_End], error: Exception) -> None:
        for end in ends:
            if not end.answer.done():
                end.answer.set_exception(error)
        if not isinstance(error, FleetUnreachable) and self._arrived is not None:
            self._arrived.put_nowait(error)
