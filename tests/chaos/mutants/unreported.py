"""The end of a run puts no notice into the outbox."""

from __future__ import annotations

from typing import Any

from errands.stores.sqlite.notices import NoticeRows
from tests.chaos.patch import patch

SCENARIO = "ends"
CAUGHT_BY = "I5"


def break_engine() -> None:
    patch(NoticeRows, "add_notice", _say_nothing)


def _say_nothing(*_: Any, **__: Any) -> None: ...
