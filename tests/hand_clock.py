"""A manual clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


class HandClock:
    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return (self._now - START).total_seconds()

    def turn(self, span: timedelta) -> None:
        self._now += span
