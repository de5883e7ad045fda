"""What the verbs for tasks of other homes share: reaching the fleet, finding a task, and asking its home.

Loaded only in a home that belongs to a fleet, and only for an id that is unknown here.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from errands.engine.fleet import far_task, member
from errands.frontends.cli.context import Context
from errands.frontends.cli.display.far_tasks import flat
from errands.frontends.cli.parser import Arguments
from errands.model.errors import FleetUnreachable, IllegalMove, UnknownTask
from errands.model.text.sanitise import line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping

    from errands.ports.fleet import Fleet, FoundRun, Reply, Wish

    T = TypeVar("T")

PACE = 0.1  # seconds between two checks, however much happens in a home
REPLIES = 5.0  # seconds in which a home that is in touch answers


class FleetCalls:
    """`unknown` is what is said about an id that the fleet does not know either."""

    def __init__(self, context: Context, unknown: UnknownTask) -> None:
        self._context = context
        self._unknown = unknown

    def _ask(self, work: Callable[[Fleet], Coroutine[Any, Any, T]]) -> T:
        async def asked() -> T:
            async with member.opened(self._context.home, self._context.bootstrap.open_fleet) as fleet:
                return await work(fleet)

        try:
            return asyncio.run(asked())
        except FleetUnreachable as error:
            raise FleetUnreachable(
                f"no task of this home has that id, and {error}; try again later"
            ) from None

    async def _find(self, fleet: Fleet, given: str) -> FoundRun:
        try:
            return await far_task.find(fleet, given)
        except UnknownTask:
            raise self._unknown from None

    def _split(
        self, given: tuple[str, ...], resolve: Callable[[str], str]
    ) -> tuple[dict[str, str], list[str]]:
        """Return the ids of this home, by what was given, and what is left for the fleet."""
        own: dict[str, str] = {}
        far: list[str] = []
        for each in dict.fromkeys(given):
            try:
                own[each] = resolve(each)
            except UnknownTask as error:
                self._unknown = error
                far.append(each)
        return own, far

    async def _looks(self, fleet: Fleet, run: FoundRun, name: str) -> AsyncGenerator[FoundRun]:
        """Yield a run, or the newest of a task, whenever something of its home may have changed.

        A fleet that cannot be reached for a while is waited for.
        """
        has_said = False
        async with aclosing(fleet.changes(home=run.home)) as changes:
            async for _ in changes:
                try:
                    run = await self._find(fleet, name)
                    has_said = False
                    yield run
                except FleetUnreachable as error:
                    if not has_said:
                        self._context.note(f"errands: {line(str(error))}; trying again")
                    has_said = True
                await asyncio.sleep(PACE)

    async def _request(
        self, fleet: Fleet, run: FoundRun, wish: Wish, body: Mapping[str, Any], *, is_patient: bool = False
    ) -> Reply | None:
        """Ask the home of a task for something; return its answer, or None as `_reply` does."""
        author, token = member.require(self._context.home).name, os.urandom(8).hex()

        async def ask() -> int:
            return await fleet.request(run.home, run.task, wish, author=author, token=token, body=body)

        return await self._reply(fleet, run, await ask(), again=ask if is_patient else None)

    async def _reply(
        self,
        fleet: Fleet,
        run: FoundRun,
        number: int,
        *,
        again: Callable[[], Awaitable[int]] | None = None,
    ) -> Reply | None:
        """Wait for what the home of a task says; None if it is out of touch, and will do it later.

        `again` repeats a request that may take its time, because the fleet may have lost its last commits.
        """
        patience = time.monotonic() + REPLIES
        async with aclosing(self._looks(fleet, run, run.task)) as looks:
            async for found in looks:
                with suppress(FleetUnreachable):
                    reply = await fleet.reply_to(number)
                    if reply is not None and reply.refusal:
                        raise IllegalMove(reply.refusal)
                    if reply is not None:
                        return reply
                    is_late = time.monotonic() >= patience
                    if is_late and found.home_is_up and again is not None:
                        number, patience = await again(), time.monotonic() + REPLIES
                    elif is_late or not found.home_is_up:
                        home = f"its home {line(found.home_name)}"
                        self._context.note(f"{home} is out of touch; it will do this when it is back")
                        return None
        raise AssertionError("the changes of a fleet do not end")

    def _bold(self, text: str) -> str:
        return self._context.look.paint(text, "bold")

    def _say(self, run: FoundRun, arguments: Arguments, text: str) -> None:
        if arguments.json:
            self._context.print_json(flat(run))
        elif not getattr(arguments, "quiet", False):
            self._context.say(text)
        else:
            self._context.say(run.task)
