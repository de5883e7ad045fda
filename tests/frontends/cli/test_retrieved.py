"""A result that a person has read is marked, with the time of the first read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.daemons import eventually
from tests.frontends.cli.person import Person


@pytest.mark.spec("O5")
def test_a_result_that_was_looked_at_is_marked_retrieved(person: Person) -> None:
    task_id = person.starts("true")

    def listed() -> dict[str, Any]:  # a list shows no result
        return next(each for each in person.types("ls", "--json").objects if each["id"] == task_id)

    eventually(lambda: listed()["state"] == "completed")
    assert listed()["retrieved_at"] is None
    person.types("show", task_id)
    first = listed()

    assert first["retrieved_at"] >= first["completed_at"]
    assert person.sees(task_id)["retrieved_at"] == first["retrieved_at"]
