"""What the tests of the viewer share."""

from __future__ import annotations

import pytest
import textual.app
import textual.pilot
from textual._wait import SLEEP_GRANULARITY, wait_for_idle

from errands.frontends.top.task import question_view


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a key be an answer as soon as the whole question was drawn; one test is about the pause."""
    monkeypatch.setattr(question_view, "SETTLE", 0.0)


async def _wait_briefly(
    min_sleep: float = SLEEP_GRANULARITY, max_sleep: float = 2 * SLEEP_GRANULARITY
) -> None:
    await wait_for_idle(min_sleep, min(max_sleep, 2 * SLEEP_GRANULARITY))


@pytest.fixture(autouse=True)
def _brief_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a key be over soon: Textual waits up to two seconds until this process, engine included, is idle.

    Tests wait for what they want to see.
    """
    monkeypatch.setattr(textual.app, "wait_for_idle", _wait_briefly)
    monkeypatch.setattr(textual.pilot, "wait_for_idle", _wait_briefly)
