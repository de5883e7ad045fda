"""The part of the fleet that is about what a home wants of a run on another host: its input, and pauses."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class InputFleet(Protocol):
        async def send(self, home: str, key: str, piece: Input) -> None:
            """Send input to a run that has not ended; pieces are numbered from 1, and each counts once."""

        async def inputs(self, number: int, *, since: int) -> list[Input]:
            """List the pieces of input that were sent to a run after the piece `since`, in order."""

        async def answer_input(
            self, number: int, *, attempt: int, host: str, epoch: int, piece: int, reply: str
        ) -> bool:
            """Say that a run took a piece of its input, or why not; False as in `Fleet.report`."""

        async def input_replies(self, number: int, *, since: int) -> dict[int, str]:
            """Return what became of the pieces after `since`: nothing if the run took it, else why not."""

        async def pause(self, home: str, key: str, *, wanted: bool) -> None:
            """Pause a run, or continue it; a paused one that no host has is not taken. Idempotent."""


KEPT_BACK = "(paused)"  # the selector of a run that is paused before a host has it


@record
class Input:
    """A piece of the input of a run; nothing follows the one that `is_last`."""

    piece: int
    content: bytes
    is_last: bool
