"""The part of the fleet that is about notices: delivered once, even while the home of a task is asleep."""

from __future__ import annotations

from errands.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    class NoticeFleet(Protocol):
        async def unreported(self, host: str, channels: Sequence[str]) -> list[Unreported]:
            """List ends that their homes cannot report now, for which one of these channels is wanted."""

        async def claim_notices(self, number: int, host: str, addresses: Sequence[str]) -> list[str]:
            """Say that this host reports a run to these addresses; return those that another one reports."""

        async def queued_notice(self, number: int, host: str, address: str) -> None:
            """Note that a notice which this host claimed is in its outbox."""

        async def post(self, home: str, *, sender: str, token: str, body: Mapping[str, Any]) -> bool:
            """Send a letter to the home of this name, once per sender and token; False if there is none."""

        async def letters(self, home: str) -> list[Letter]:
            """List the letters to a home, oldest first."""

        async def take_letters(self, home: str, numbers: Sequence[int]) -> None:
            """Note that a home has these letters."""


@record
class Unreported:
    """The end of a run, and an address it is to be reported to; `body` is what its home offered."""

    number: int
    channel: str
    target: str
    key: str
    task: str
    home_name: str
    outcome: Mapping[str, Any]
    body: Mapping[str, Any]


@record
class Letter:
    number: int
    body: Mapping[str, Any]
