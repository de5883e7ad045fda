"""A guest: a run of another home that this host has, and the input that its home sends it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from errands.model.approval import FLEET
from errands.model.errors import FleetUnreachable, NotFound, StoreError

if TYPE_CHECKING:
    from typing import Protocol

    from errands.engine.engine import Engine
    from errands.model.view import View
    from errands.ports.fleet import Fleet, Taken
    from errands.ports.fleet.agents import Step

    class SendInput(Protocol):
        async def __call__(self, directory: str, number: int, content: bytes, *, eof: bool) -> str: ...


_MOMENT = 0.05  # seconds until a run that is about to start is looked at again
_LOG = logging.getLogger("errands.host")


class Guest:
    """A run of another home that this host has; `outcome` is how it ended."""

    def __init__(self, taken: Taken) -> None:
        self.taken = taken
        self.number = taken.number
        self.attempt = taken.attempt
        self.body = taken.body
        self.task_id = ""
        self.sent = 0
        self.reported: dict[str, object] = {}  # what its home knows about it
        self.pause: bool | None = None  # what its home wants
        self.view: View | None = None  # as of the last look
        self.taken_inputs = 0
        self.passing: asyncio.Task[None] | None = None  # its input on
        self.sent_events = 0
        self.sent_steps = 0
        self.steps: list[Step] | None = None  # what the agent did on hosts that were lost
        self.outcome: dict[str, object] | None = None

    @property
    def is_agent(self) -> bool:
        return "prompt" in self.body

    @property
    def needs_steps(self) -> bool:
        """Whether another host may have begun it, and what happened there is not known yet."""
        return self.is_agent and self.attempt > 1 and self.steps is None and not self.body.get("resume")

    @property
    def key(self) -> str:
        return f"{FLEET}:{self.number}:{self.attempt}"


class GuestInput:
    """Passes input on to guests."""

    def __init__(self, engine: Engine, fleet: Fleet, host: str, send: SendInput) -> None:
        self._engine = engine
        self._fleet = fleet
        self._host = host
        self._send = send

    def pass_on(self, guest: Guest, *, epoch: int) -> None:
        """Pass on all there is, unless that is under way."""
        if guest.passing is None or guest.passing.done():
            guest.passing = asyncio.create_task(self._pass_on(guest, epoch))

    async def _pass_on(self, guest: Guest, epoch: int) -> None:
        """Pass pieces on in order; one that was passed on before its answer was stored counts once."""
        try:
            for each in await self._fleet.inputs(guest.number, since=guest.taken_inputs):
                while (run := self._engine.view(guest.task_id).latest).state == "pending":
                    await asyncio.sleep(_MOMENT)
                directory = self._engine.home.run(run.id)
                reply = await self._send(directory, each.piece, each.content, eof=each.is_last)
                await self._fleet.answer_input(
                    guest.number,
                    attempt=guest.attempt,
                    host=self._host,
                    epoch=epoch,
                    piece=each.piece,
                    reply=reply,
                )
                guest.taken_inputs = each.piece
        except (FleetUnreachable, StoreError, NotFound) as error:
            _LOG.warning("input of run %d is passed on later: %s", guest.number, error)
