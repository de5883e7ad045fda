"""Views: what frontends show of a task, and the exit code of a waiter."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.record import evolve, fields
from errands.model.states import FAILURES, RUN_MOVES
from errands.model.text.progress import parse
from errands.model.view import RunView, View, as_json, exit_code
from tests.hand_clock import START
from tests.samples import sample_view

RUN = RunView(id="true-222222.1", number=1, cause="submit", state="completed", attempt=1, created_at=START)
VIEW = sample_view(RUN, state="completed", task_state="done")

# What scripts may rely on.
PROMISED = (
    "id kind state description command cwd created_at created_by updated_at started_at completed_at "
    "exit_code signal error output_file truncated approved_by approved_at resume_count forked batch "
    "parent wake runs task_state run_state"
).split()


def seen(**changes: Any) -> View:
    return evolve(VIEW, latest=evolve(RUN, **changes))


def test_the_keys_that_scripts_rely_on_are_there() -> None:
    assert [key for key in PROMISED if key not in as_json(VIEW)] == []


def test_everything_a_view_knows_is_plain_json_with_times_in_utc() -> None:
    progress = parse("3/10 compiling")
    whole = evolve(VIEW, progress=progress, details={"env": {"A": "1"}}, history=(RUN,), activity_at=START)
    flat = json.loads(json.dumps(as_json(whole)))

    assert flat["created_at"] == flat["activity_at"] == "2026-01-01T12:00:00Z"
    assert flat["env"] == {"A": "1"}
    assert flat["history"][0]["created_at"] == "2026-01-01T12:00:00Z"
    assert flat["progress"] is not None


def test_a_run_in_the_history_shows_every_field() -> None:
    flat = as_json(evolve(VIEW, details={}, history=(RUN,)))
    assert set(flat["history"][0]) == set(fields(RunView))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"state": "completed"}, 0),
        ({"state": "failed", "failure": "exit", "exit_code": 7}, 7),
        ({"state": "failed", "failure": "signal", "signal": 9}, 137),
        ({"state": "failed", "failure": "spawn"}, 1),
        ({"state": "failed", "failure": "timeout", "signal": 15}, 143),
        ({"state": "failed", "failure": "lost"}, 125),
        ({"state": "failed", "failure": "interrupted"}, 125),
        ({"state": "skipped"}, 125),
        ({"state": "cancelled"}, 143),
        ({"state": "cancelled", "signal": 9}, 137),
        ({"state": "running"}, 124),
        ({"state": "pending"}, 124),
    ],
)
def test_a_waiter_leaves_with_the_code_of_the_task_where_it_has_one(
    changes: dict[str, Any], code: int
) -> None:
    assert exit_code(seen(**changes)) == code


@pytest.mark.trap(20)
@given(
    state=st.sampled_from([state for state in RUN_MOVES if state != "completed"]),
    failure=st.none() | st.sampled_from(FAILURES),
    code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
)
def test_nothing_but_success_leaves_with_zero(
    state: str, failure: str | None, code: int | None, signal: int | None
) -> None:
    assert exit_code(seen(state=state, failure=failure, exit_code=code, signal=signal)) != 0


def test_a_stop_is_a_request_until_the_run_has_ended() -> None:
    assert seen(state="running", stop_requested_at=START).is_cancelling
    assert not seen(state="cancelled", stop_requested_at=START + timedelta(1)).is_cancelling
    assert [state for state in RUN_MOVES if seen(state=state).is_live] == ["pending", "running"]
