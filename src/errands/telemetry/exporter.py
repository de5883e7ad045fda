"""The exporter: sends the spans of runs that have ended, and advances the cursor.

They are sent as OTLP, in its JSON encoding. What the collector does not accept now is sent later; what it
rejects for good is skipped, and logged.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import errands
from errands import http
from errands.model.errors import StoreError
from errands.model.record import evolve
from errands.model.span import Span
from errands.telemetry import cursor as cursors
from errands.telemetry.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.telemetry.cursor import Spans

RUNS = 200  # in one request
_TEMPORARY = (408, 429, 502, 503, 504)
_LONGEST = 60.0  # seconds between two tries
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTERNAL, _FAILED = 1, 2  # the kind of a span, and its status
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


def request(spans: Sequence[Span], resource: Mapping[str, str]) -> bytes:
    """Encode ended spans as the body of one request."""
    scope = {"name": "errands", "version": errands.__version__}
    written = [_span(each) for each in spans if each.ended_at is not None]
    body = {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": scope, "spans": written}],
            }
        ]
    }
    return json.dumps(body).encode()


def _span(span: Span) -> dict[str, Any]:
    assert span.ended_at is not None
    return {
        "traceId": span.place.trace_id,
        "spanId": span.place.span_id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": _nanoseconds(span.started_at),
        # A clock that was set back in between must not make a span end before it began.
        "endTimeUnixNano": _nanoseconds(max(span.ended_at, span.started_at)),
        "attributes": _attributes(span.attributes),
        "links": [{"traceId": each.trace_id, "spanId": each.span_id} for each in span.links],
        "status": {} if span.error is None else {"code": _FAILED, "message": span.error},
    }


def _nanoseconds(moment: datetime) -> str:
    return str((moment - _EPOCH) // timedelta(microseconds=1) * 1000)


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": str(value)}
