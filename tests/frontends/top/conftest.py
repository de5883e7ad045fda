"""What the tests of the viewer share."""

from __future__ import annotations

import pytest

from errands.frontends.top.task import question_view


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a key be an answer as soon as the whole question was drawn; one test is about the pause."""
    monkeypatch.setattr(question_view, "SETTLE", 0.0)
