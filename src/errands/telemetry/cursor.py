"""The cursor: which runs have been exported.

These are all runs up to a place, except those that had not ended yet, so it stays short. It advances after
the collector accepted the spans: a span that is exported twice has the same id both times.
"""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime, timedelta

from errands.model.errors import BadValue
from errands.model.record import evolve, record
from errands.ports.own_file import replace_file
from errands.telemetry import settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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


_MARGIN = timedelta(seconds=5)  # transactions are not committed in the order they began


@record
class Cursor:
    place: int
    run: str = ""  # the run at that place
    at: datetime = datetime.min.replace(tzinfo=UTC)  # when that run was created
    open: tuple[int, ...] = ()


def begin(path: str, spans: Spans) -> None:
    """Create the cursor if there is none yet; runs that have ended by now are not exported."""
    if os.path.exists(path):
        return
    place = spans.last_place()
    for _, run, _, at in spans.traced(after=place - 1, among=(), limit=1):
        write(path, Cursor(place=place, run=run, at=at, open=tuple(spans.live_places())))
        return
    write(path, Cursor(place=0))


def begin_or_log(path: str, spans: Spans, environ: Mapping[str, str]) -> bool:
    """Create the cursor if spans can be exported; otherwise log why not, and return False."""
    try:
        settings.read(environ)
        begin(path, spans)
    except (BadValue, OSError) as error:
        logging.getLogger("errands.telemetry").error("no spans are exported: %s", error)
        return False
    return True


def read(path: str, spans: Spans) -> Cursor:
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        cursor = Cursor(
            place=int(values["place"]),
            run=str(values["run"]),
            at=datetime.fromisoformat(values["at"]),
            open=tuple(map(int, values["open"])),
        )
    except (OSError, ValueError, KeyError, TypeError):
        # Unreadable: better to export everything again than to miss anything.
        return Cursor(place=0)
    if cursor.place and [each[1] for each in spans.traced(after=cursor.place - 1, among=(), limit=1)] != [
        cursor.run
    ]:
        # The newest runs were removed and their places reused: what is there now is new.
        return evolve(cursor, place=spans.last_place(by=cursor.at - _MARGIN))
    return cursor


def write(path: str, cursor: Cursor) -> None:
    values = {"place": cursor.place, "run": cursor.run, "at": cursor.at.isoformat(), "open": cursor.open}
    replace_file(path, json.dumps(values).encode())
