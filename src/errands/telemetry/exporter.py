"""The exporter: sends the spans of runs that have ended, and advances the cursor.

What the collector does not accept now is sent later; what it rejects for good is skipped, and logged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from errands import http
from errands.model.errors import StoreError
from errands.model.record import evolve
from errands.model.span import Span
from errands.telemetry import cursor as cursors
from errands.telemetry.otlp import request
from errands.telemetry.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.spans import Spans

RUNS = 200  # in one request
_TEMPORARY = (408, 429, 502, 503, 504)
_LONGEST = 60.0  # seconds between two tries
_LOG = logging.getLogger("errands.telemetry")


class Exporter:
    def __init__(self, spans: Spans, settings: Settings, path: str) -> None:
        self._spans = spans
        self._settings = settings
        self._path = path

    def run(self, *, is_wanted: Callable[[], bool], every: float = 1.0) -> None:
        """Export spans while `is_wanted()`, and then what is left."""
        pause = every
        while is_wanted():
            try:
                while self.export():
                    pass
                pause = every
            except Exception as error:  # noqa: BLE001  # the loop's edge: nothing is lost, it is retried
                pause = min(pause * 2, _LONGEST)
                _LOG.warning("spans wait, the next try is in %g s: %s", pause, error)
            deadline = time.monotonic() + pause
            while time.monotonic() < deadline and is_wanted():
                time.sleep(min(every, 0.2))
        try:
            while self.export():
                pass
        except (OSError, StoreError) as error:
            _LOG.warning("spans wait until the exporter runs again: %s", error)

    def export(self) -> bool:
        """Export one batch; return whether there may be more."""
        cursor = cursors.read(self._path, self._spans)
        found = self._spans.traced(after=cursor.place, among=cursor.open, limit=RUNS)
        ended = [run_id for _, run_id, has_ended, _ in found if has_ended]
        passed = evolve(cursor, open=tuple(place for place, _, has_ended, _ in found if not has_ended))
        if found and found[-1][0] > cursor.place:
            place, run_id, _, at = found[-1]
            passed = evolve(passed, place=place, run=run_id, at=at)
        if ended:
            self._send([span for run_id in ended for span in self._spans.spans(run_id)])
        if passed != cursor:
            cursors.write(self._path, passed)
        return passed.place > cursor.place

    def _send(self, spans: Sequence[Span]) -> None:
        url, body = self._settings.url, request(spans, self._settings.resource)
        headers = {"Content-Type": "application/json", **self._settings.headers}
        response = http.request("POST", url, headers=headers, body=body, timeout=self._settings.timeout)
        if response.code in _TEMPORARY:
            raise http.HttpError(f"{url} answers {response.code}", was_sent=True)
        if response.code >= 300:
            said = response.body[:2000].decode("utf-8", "replace")
            _LOG.error("%s refuses %d spans: %d %s", url, len(spans), response.code, said)
