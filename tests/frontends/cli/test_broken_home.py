"""What commands say when a part of the home is missing, or its daemon cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frontends.cli.person import Person


@pytest.mark.spec("X15")
def test_a_daemon_that_cannot_start_says_why_and_nothing_of_an_earlier_one(newcomer: Person) -> None:
    newcomer.finishes("true")
    newcomer.types("daemon", "stop")
    refused = newcomer.types("daemon", "start", code=1, ERRANDS_RUNS_GRACE="x").err

    assert refused.startswith(
        "errands: the daemon could not start:\nerrands: environment ERRANDS_RUNS_GRACE: "
    )
    assert "INFO" not in refused


@pytest.mark.spec("O1")
def test_output_that_was_removed_is_not_shown_as_none(person: Person) -> None:
    task_id = person.finishes("seq 3")
    log = Path(person.sees(task_id)["output_file"])
    log.unlink()

    assert (
        f"the output of {task_id}.1 (6 B) is gone: {log} was removed"
        in person.types("logs", task_id, code=3).err
    )
    assert "is gone" in person.types("logs", "--tail", "1", task_id, code=3).err
