"""A task that prints faster than it can be read can still be inspected."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from errands.frontends.cli.live.follow import show_from
from errands.ports.output import Piece
from tests.frontends.cli.person import Person


@pytest.mark.spec("O6", "O7", "O9")
@pytest.mark.timeout(200)
def test_a_task_that_floods_can_be_inspected(person: Person) -> None:
    task_id = person.starts("--output-cap", "100k", "yes on and on")
    person.waits_for_output(task_id, "on and on")
    for _ in range(10):
        assert task_id in person.types("ls").out
    assert "on and on" in person.types("logs", "-n", "3", task_id).out
    assert "on and on" in person.types("show", task_id).out
    assert person.types("logs", task_id).out.startswith("on and on\non and on\n")
    followed: list[str] = []
    reader = threading.Thread(target=lambda: followed.append(person.types("logs", "-f", task_id).out))
    reader.start()
    person.types("cancel", task_id)
    reader.join(60)

    assert "on and on" in followed[0]


@pytest.mark.spec("O9")
@pytest.mark.timeout(60)
def test_what_is_printed_while_a_log_is_shown_is_not_waited_for() -> None:
    shown: list[Piece] = []
    ends = iter(range(5, 10**9))

    class Flood:
        def tail(self, run_id: str, lines: int) -> Piece:
            end = next(ends)
            return Piece(content=b"", offset=end, next_offset=end)

        def output(self, run_id: str, *, offset: int, limit: int) -> Piece:
            return Piece(content=b"y", offset=offset, next_offset=offset + 1)

    context: Any = SimpleNamespace(engine=Flood())
    lens: Any = SimpleNamespace(show=shown.append)

    assert show_from(context, "yes-222222.1", lens, 0) == 5
    assert [each.content for each in shown] == [b"y"] * 5
