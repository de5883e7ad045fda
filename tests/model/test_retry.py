"""Retry: how often, and how long each wait is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.retry import Retry

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.mark.spec("L27")
def test_the_wait_doubles_with_every_failure_until_there_are_no_tries_left() -> None:
    retry = Retry(retries=3, backoff=MINUTE)

    assert [retry.next_delay(failures) for failures in (1, 2, 3, 4)] == [MINUTE, 2 * MINUTE, 4 * MINUTE, None]


def test_without_retries_the_first_failure_is_the_last() -> None:
    assert Retry(retries=0, backoff=MINUTE).next_delay(1) is None


@given(st.integers(1, 10**6), st.timedeltas(timedelta(), timedelta(days=365)))
def test_no_wait_is_longer_than_the_longest_unless_the_first_one_is(
    failures: int, backoff: timedelta
) -> None:
    delay = Retry(retries=10**6, backoff=backoff, longest=HOUR).next_delay(failures)

    assert delay is not None
    assert backoff <= delay <= max(HOUR, backoff)
