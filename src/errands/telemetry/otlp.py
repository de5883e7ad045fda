"""OTLP: the JSON encoding of spans for collectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import errands
from errands.model.span import Span

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTERNAL = 1
_FAILED = 2


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
