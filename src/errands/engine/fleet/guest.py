"""A guest: a run of another home that this host has, its note, its input, and what is said about it."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from errands.engine.live.growth import marks
from errands.engine.triggers import event_payload
from errands.model.approval import FLEET
from errands.model.ending import OUT_OF_TOUCH
from errands.model.errors import FleetUnreachable, NotFound, StoreError
from errands.model.record import fields
from errands.model.text.json_text import plain_text
from errands.ports.fleet import Piece, Taken
from errands.ports.own_file import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from errands.engine.engine import Engine
    from errands.engine.live.growth import Marks
    from errands.model.view import View
    from errands.ports.fleet import Fleet
    from errands.ports.fleet.agents import Step
    from errands.ports.home import Home

    class ExitFacts(Protocol):
        def __call__(self, directory: str, attempt: int) -> dict[str, str]: ...

    class SendInput(Protocol):
        async def __call__(self, directory: str, number: int, content: bytes, *, eof: bool) -> str: ...


NOTES = "notes"
AT_ONCE = 64 << 10  # bytes of output of a run that are sent in one go
BEHIND = 256 << 10  # bytes of output that are sent later; of more, the beginning is left out
GIVEN_UP = "the fleet, which gave it up"  # who cancels a run that another host may have by now
MOST_NOTES = 8 << 20  # bytes of lines that are added before those that are over are left out
_MOMENT = 0.05  # seconds until a run that is about to start is looked at again
_LOG = logging.getLogger("errands.host")


class Guest:
    """A run of another home that this host has; `outcome` is how it ended."""

    def __init__(self, taken: Taken, *, now: float) -> None:
        self.taken = taken
        self.since = now
        self.number = taken.number
        self.attempt = taken.attempt
        self.body = taken.body
        self.task_id = ""
        self.sent = 0
        self._marks: Marks | None = None  # of the files that grow with what it prints
        # What its home was told; of a run taken ahead nothing yet, so the first report is always sent.
        self.reported: dict[str, object] | None = None if taken.ahead else {}
        self.pause: bool | None = None  # what its home wants
        self.view: View | None = None  # as of the last look
        self.taken_inputs = 0
        self.passing: asyncio.Task[None] | None = None  # its input on
        self.sent_events = 0
        self.sent_steps = 0
        self.steps: list[Step] | None = None  # what the agent did on hosts that were lost
        self.outcome: dict[str, object] | None = None
        self.is_given_back = False  # it must not begin here; the fleet may not know that yet

    @property
    def waits(self) -> bool:
        """Whether it was taken ahead, and had not begun at the last look."""
        return self.taken.ahead and (self.view is None or self.view.state == "pending")

    @property
    def is_unstarted(self) -> bool:
        """Whether its task still has to be submitted."""
        return not self.task_id and self.outcome is None and not self.is_given_back

    @property
    def is_agent(self) -> bool:
        return "prompt" in self.body

    @property
    def needs_steps(self) -> bool:
        """Whether another host may have begun it, and what happened there is not known yet."""
        return self.is_agent and self.attempt > 1 and self.steps is None and not self.body.get("resume")

    def has_grown(self, directory: str) -> bool:
        """Return whether it may have printed something since the last call; most have ended by the second."""
        before, self._marks = self._marks, () if self._marks is None else marks(directory)
        return before is not None and before != self._marks

    @property
    def key(self) -> str:
        return f"{FLEET}:{self.number}:{self.attempt}"


def next_output(engine: Engine, guest: Guest, outcome: Mapping[str, object] | None) -> Piece | None:
    """Return the next piece of output; leave some out if the run prints more than can be sent."""
    has_ended = outcome is not None
    if outcome is not None and outcome.get("bytes") == str(guest.sent):
        return None
    try:
        total = engine.tail(guest.task_id, 0).next_offset
        most = BEHIND if has_ended else AT_ONCE
        start = total - most if total - guest.sent > BEHIND else guest.sent
        if start >= total:
            return None
        piece = engine.output(guest.task_id, offset=start, limit=AT_ONCE)
    except OSError:
        return None  # the task removed its log
    if not piece.content:
        return None
    return Piece(number=guest.number, attempt=guest.attempt, start=piece.offset, content=piece.content)


def outcome_of(engine: Engine, view: View, exit_facts: ExitFacts) -> dict[str, object]:
    run = view.latest
    if run.state == "cancelled" and GIVEN_UP in (engine.store.run(run.id).stop_by or run.error or ""):
        # The fleet asks only if it has lost the commits about that.
        return {"lost": OUT_OF_TOUCH}
    facts: Mapping[str, object] = exit_facts(engine.home.run(run.id), run.attempt)
    if facts.get("stop") == "fuse":
        return {"lost": OUT_OF_TOUCH}
    if run.failure in ("lost", "interrupted"):
        return {"lost": run.error or "its host does not know how it ended"}
    if facts:
        return dict(facts)
    return {"stop": "cancel"} if run.state == "cancelled" else {"error": run.error or run.state}


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


class GuestNotes:
    """A file that says what this host has by its own account: runs, and the numbers of those that ended.

    Lines are added, because a file for each run would cost more than all else that is done about a short one.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = f"{home.guests}/{NOTES}"
        self._noted: dict[int, bytes] = {}
        self._size = math.inf  # as if there was much to leave out, because its last line may be cut off
        with suppress(FileNotFoundError), open(self._path, "rb") as file:
            for line in file:
                self._read(line)

    def read(self) -> list[Taken]:
        return [Taken(**json.loads(line)) for line in self._noted.values()]

    def write(self, several: Sequence[Taken]) -> None:
        lines = [plain_text({name: getattr(each, name) for name in fields(each)}) for each in several]
        new = {each.number: f"{line}\n".encode() for each, line in zip(several, lines, strict=True)}
        self._noted |= new
        self._add(b"".join(new.values()))

    def write_event(self, taken: Taken) -> None:
        """Keep the payload of the event that led to a run, if one did."""
        if "event" in taken.body:
            event_payload.keep(self._event_path(taken.number), taken.body["event"])

    def forget(self, *numbers: int) -> None:
        """Note that runs are over; what is not known is left out."""
        gone = {number: self._noted.pop(number) for number in numbers if number in self._noted}
        if gone:
            self._add(b"".join(b"%d\n" % number for number in gone))
        for number, line in gone.items():
            if b'"event"' in line:
                with suppress(FileNotFoundError):
                    os.unlink(self._event_path(number))

    def _read(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            _LOG.error("a note about a run of the fleet was cut off, and is left out")
            return
        if isinstance(said, int):
            self._noted.pop(said, None)
        else:
            self._noted[said["number"]] = line

    def _add(self, lines: bytes) -> None:
        if not self._noted or self._size > MOST_NOTES:
            return self._write_anew()
        with open(self._path, "ab", buffering=0) as file:
            file.write(lines)
        self._size += len(lines)

    def _write_anew(self) -> None:
        """Leave out what is over."""
        content = b"".join(self._noted.values())
        if content:
            replace_file(self._path, content)
        else:
            os.unlink(self._path)
        self._size = len(content)

    def _event_path(self, number: int) -> str:
        return event_payload.guest_file(self._home, number)
