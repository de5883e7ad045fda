"""Schedules through all clock changes of all zones in sixteen years."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.engine.triggers.test_schedules_time import (
    changing_zones,
    test_a_cron_line_follows_the_clock_of_every_zone_through_every_change,
    test_every_slot_around_every_change_has_one_record,
)

__all__ = [
    "test_a_cron_line_follows_the_clock_of_every_zone_through_every_change",
    "test_every_slot_around_every_change_has_one_record",
]


@pytest.fixture(scope="module")
def changing() -> dict[str, list[tuple[datetime, timedelta, timedelta]]]:
    found = changing_zones(2036)
    assert sum(map(len, found.values())) > 1000
    return found
