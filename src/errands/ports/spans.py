"""What an exporter of spans needs from the engine."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Protocol

    from errands.model.span import Span
    from errands.ports.store.retention import Traced

    class Spans(Protocol):
        """The places of runs as the store has them, and the spans of each."""

        def traced(self, *, after: int, among: Sequence[int], limit: int) -> list[Traced]: ...
        def last_place(self, *, by: datetime | None = None) -> int: ...
        def live_places(self) -> list[int]: ...

        def spans(self, run_id: str) -> list[Span]:
            """Return the spans of one run; none when it is gone."""
