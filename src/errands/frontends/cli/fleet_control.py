"""Control of tasks of other homes while they run: input for them, and pauses."""

from __future__ import annotations

import binascii
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

from errands.engine.fleet import far_task
from errands.frontends.cli.fleet_calls import FleetCalls
from errands.frontends.cli.parser import Arguments
from errands.model.errors import ErrandsError
from errands.model.states import not_running
from errands.model.text.sanitise import line
from errands.ports.fleet.spool import PIECE

if TYPE_CHECKING:
    from collections.abc import Callable

    from errands.ports.fleet import Fleet, FoundRun, Wish

SETTLED_WITHIN = 10.0  # seconds for an order to reach a host, and its processes


class FleetControl(FleetCalls):
    def send(self, given: str, content: bytes, *, eof: bool) -> int:
        """Send input to a run of another home; return when the run has taken it."""

        async def act(fleet: Fleet) -> int:
            run = await self._find(fleet, given)
            if far_task.word(run) != "running":
                raise ErrandsError(not_running(run.task, far_task.word(run)))
            for start in range(0, max(len(content), 1), PIECE):
                body = {
                    "run": far_task.run_id(run),
                    "content": binascii.b2a_base64(content[start : start + PIECE], newline=False).decode(),
                    "eof": eof and start + PIECE >= len(content),
                }
                # The rest follows even if its home is out of touch now: what is asked for is done in order.
                await self._request(fleet, run, "send", body, is_patient=True)
            return 0

        return self._ask(act)

    def pause(
        self,
        arguments: Arguments,
        wish: Wish,
        resolve: Callable[[str], str],
        act_here: Callable[[list[str]], int],
    ) -> int:
        """Pause or continue tasks of other homes, and then those of this one."""
        own, far = self._split(arguments.id, resolve)

        async def act(fleet: Fleet) -> None:
            for run in [await self._find(fleet, each) for each in far]:
                reply = await self._request(fleet, run, wish, {"run": arguments.run})
                if reply is None:
                    continue
                if reply.result == "processes":
                    run = await self._settled(fleet, run, is_paused=wish == "pause")
                self._say(run, arguments, self._said(run, wish, reply.result, arguments))

        self._ask(act)
        return act_here(list(own.values())) if own else 0

    async def _settled(self, fleet: Fleet, run: FoundRun, *, is_paused: bool) -> FoundRun:
        """Wait until the processes of a run are suspended or continue, or the host is too slow to say so."""
        limit, found = time.monotonic() + SETTLED_WITHIN, run
        async with aclosing(self._looks(fleet, run, run.task)) as looks:
            async for found in looks:
                has_settled = far_task.is_paused(found) == is_paused or found.outcome is not None
                if has_settled or time.monotonic() >= limit:
                    break
        return found

    def _said(self, run: FoundRun, wish: Wish, what: str, arguments: Arguments) -> str:
        name, look = line(run.task), self._context.look
        if wish == "unpause":
            return {
                "schedule": f"{name} runs by its schedule again",
                "start": f"released {name}",
                "nothing": f"{name} is not paused",
            }.get(what, f"continued {name}  ({look.command('show')} {name})")
        undo = f"({look.command('unpause')} {'--run ' if arguments.run else ''}{name})"
        if what == "schedule":
            return f"paused {name}  {undo}"
        if what == "start":
            return f"held {name}: it does not start  {undo}"
        if far_task.is_paused(run):
            return f"paused {name}: its processes are suspended  {undo}"
        return f"pausing {name}: some of its processes still run  {undo}"
