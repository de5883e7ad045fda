"""What whoever exports spans asks of the store and of the engine."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from typing import Protocol

    from errands.model.span import Span

    Traced = tuple[int, str, bool, datetime]  # the place of a run, its id, whether it ended, when it was made

    class SpanStore(Protocol):
        """The few questions that only traces ask of the store."""

        def launched_by(self, run_id: str) -> list[str]:
            """Name the tasks that a run has launched, oldest first."""

        def run_with_span(self, prefix: str, ids: Callable[[str, datetime], Sequence[str]]) -> str | None:
            """Find a run by the beginning of a span's id; `ids` tells those of a run."""

        def traced(self, *, after: int, among: Sequence[int], limit: int) -> list[Traced]:
            """Give the runs after a place and those at certain places, in order."""

        def last_place(self) -> int:
            """Give the place of the newest run."""

        def place_at(self, time: datetime) -> int:
            """Give the place of the newest run that was made by then."""

        def live_places(self) -> list[int]:
            """Give the places of the runs that have not ended."""

    class Spans(Protocol):
        """What an exporter asks for."""

        def traced(self, *, after: int, among: Sequence[int], limit: int) -> list[Traced]: ...
        def last_place(self) -> int: ...
        def place_at(self, time: datetime) -> int: ...
        def live_places(self) -> list[int]: ...

        def spans(self, run_id: str) -> list[Span]:
            """Give the spans of one run; none when it is gone."""
