"""Rollup: every ending means something, and never more than is known."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.model.action import Shell
from errands.model.ending import Ending
from errands.model.limits import Limits
from errands.model.record import evolve
from errands.model.rollup import SIGNALS, rollup
from errands.model.schedule.cursor import ScheduleCursor
from errands.model.states import ENDED, FAILURES, TASK_MOVES
from errands.model.trigger import Every
from tests.hand_clock import START
from tests.samples import sample_ending, sample_run, sample_task

LIMITED = sample_task(
    limits=Limits(
        timeout=timedelta(minutes=5),
        idle=timedelta(seconds=30),
        memory=1000,
        cpu=timedelta(seconds=2),
        processes=3,
    )
)

endings = st.builds(
    Ending,
    code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    error=st.none() | st.just("no such program"),
    stop=st.sampled_from([None, "cancel", "timeout", "idle", "memory", "cpu", "processes"]),
    lost=st.none() | st.just("its shim was killed"),
    interrupted=st.booleans(),
    peak=st.none() | st.just("5"),
    step=st.integers(0, 1),
    survivors=st.sampled_from([(), (4711,), (4711, 4712)]),
)


@pytest.mark.spec("L7", "L8")
@pytest.mark.trap(20)
@given(endings)
def test_every_ending_has_one_meaning_and_only_a_known_zero_is_success(ending: Ending) -> None:
    outcome = rollup(LIMITED, sample_run(), ending)

    assert outcome.run_state in set(ENDED) - {"skipped"}
    assert (outcome.run_state == "cancelled") == (ending.stop == "cancel")
    assert (outcome.failure is not None) == (outcome.run_state == "failed")
    assert outcome.failure in (None, *FAILURES)
    assert bool(outcome.error) == (outcome.run_state != "completed")
    if outcome.run_state == "completed":
        unknown = ending.lost or ending.error or ending.interrupted
        assert (ending.code, ending.signal, ending.stop, unknown) == (0, None, None, False)


@given(endings)
def test_a_one_shot_task_ends_with_its_run(ending: Ending) -> None:
    outcome = rollup(LIMITED, sample_run(), ending)

    ended = {"completed": "done", "failed": "failed", "cancelled": "cancelled"}
    assert outcome.task_state == ended[outcome.run_state]


@given(endings, st.sampled_from([state for state in TASK_MOVES if state != "active"]))
def test_a_task_that_is_not_active_stays_as_it_is(ending: Ending, state: str) -> None:
    assert rollup(sample_task(state=state), sample_run(), ending).task_state == state


@given(endings)
def test_survivors_of_a_stop_are_always_named(ending: Ending) -> None:
    outcome = rollup(LIMITED, sample_run(), ending)

    stopped = outcome.failure in ("timeout", "idle", "limit", "lost") or outcome.run_state == "cancelled"
    if ending.survivors and stopped:
        assert "4711" in (outcome.error or "")


@pytest.mark.spec("L8")
@pytest.mark.parametrize(
    ("ending", "failure", "error"),
    [
        (sample_ending(code=3), "exit", "exit code 3"),
        (sample_ending(code=None, error="make: command not found"), "spawn", "make: command not found"),
        (Ending(interrupted=True), "interrupted", "the machine restarted while this ran"),
        (Ending(lost="its shim was killed"), "lost", "its shim was killed"),
    ],
)
def test_a_failure_keeps_its_kind_and_its_details(ending: Ending, failure: str, error: str) -> None:
    outcome = rollup(sample_task(), sample_run(), ending)
    assert (outcome.run_state, outcome.failure, outcome.error) == ("failed", failure, error)


@pytest.mark.spec("L7")
@pytest.mark.trap(20)
@pytest.mark.parametrize(("signal", "name"), [*SIGNALS.items(), (40, "signal 40")])
def test_a_death_by_signal_is_a_failure_that_names_the_signal(signal: int, name: str) -> None:
    outcome = rollup(sample_task(), sample_run(), sample_ending(code=None, signal=signal))
    assert (outcome.failure, outcome.error) == ("signal", f"killed by {name}")


@pytest.mark.parametrize(
    ("stop", "failure", "words"),
    [
        pytest.param("timeout", "timeout", "time-out of 300 s", marks=pytest.mark.spec("L10")),
        pytest.param("idle", "idle", "no output for 30 s", marks=pytest.mark.spec("L26")),
        pytest.param("memory", "limit", "memory limit exceeded", marks=pytest.mark.spec("L17")),
        pytest.param("cpu", "limit", "CPU time limit exceeded", marks=pytest.mark.spec("L17")),
        pytest.param("processes", "limit", "process limit exceeded", marks=pytest.mark.spec("L17")),
    ],
)
def test_a_limit_that_was_exceeded_is_named(stop: str, failure: str, words: str) -> None:
    outcome = rollup(LIMITED, sample_run(), sample_ending(code=None, signal=9, stop=stop))
    assert (outcome.run_state, outcome.failure) == ("failed", failure)
    assert words in (outcome.error or "")


@pytest.mark.spec("A2")
def test_a_failure_at_a_wall_says_what_to_do_if_that_can_be_done() -> None:
    contained = sample_task(verdict="contained", approved_by="judge")
    ending = sample_ending(code=1, wall="network")
    once = rollup(contained, sample_run(), ending).error or ""
    each = rollup(evolve(contained, trigger=STANDING), sample_run(), ending).error or ""

    assert "it seems to need the network, which its sandbox does not allow" in each
    assert "errands approve" not in each
    assert once == f"{each}: errands approve {contained.id} runs it without one"


@pytest.mark.spec("L9")
def test_a_cancelled_run_says_who_stopped_it_even_if_it_left_with_zero() -> None:
    outcome = rollup(sample_task(), sample_run(stop_by="ada"), sample_ending(code=0, stop="cancel"))
    assert (outcome.run_state, outcome.error) == ("cancelled", "stopped by ada")


@pytest.mark.spec("L19")
def test_a_failed_sequence_names_the_step_that_failed() -> None:
    sequence = sample_task(action=Shell(commands=("make", "make test"), cwd="/", environment="none"))
    outcome = rollup(sequence, sample_run(), sample_ending(code=2, step=1))
    assert outcome.error == "exit code 2 in step 2 of 2"


@pytest.mark.parametrize(
    ("policy", "told"), [("always", (True, True)), ("on_failure", (False, True)), ("never", (False, False))]
)
def test_the_policy_of_the_task_decides_who_is_notified(policy: str, told: tuple[bool, bool]) -> None:
    task = sample_task(notify=policy)
    outcomes = [rollup(task, sample_run(), sample_ending(code=code)) for code in (0, 1)]
    assert tuple(outcome.notify for outcome in outcomes) == told


STANDING = Every(span=timedelta(hours=1), anchor=START)


@pytest.mark.spec("L11", "T2")
@pytest.mark.parametrize(
    ("changes", "cursor", "code", "cause", "expected"),
    [
        ({}, {"runs": 1}, 0, "schedule", ("active", False, 0)),
        ({}, {"runs": 1}, 1, "schedule", ("active", True, 1)),
        ({}, {"runs": 1, "failures": 1}, 1, "retry", ("paused", False, 2)),
        ({}, {"runs": 1, "failures": 1}, 0, "retry", ("active", False, 0)),
        ({}, {"runs": 1, "failures": 1}, 1, "resume", ("active", False, 1)),
        ({"state": "paused"}, {"runs": 1}, 1, "manual", ("paused", False, 1)),
        ({"trigger": evolve(STANDING, max_runs=1)}, {"runs": 1}, 0, "schedule", ("done", False, 0)),
        ({"trigger": evolve(STANDING, max_runs=1)}, {"runs": 1}, 1, "schedule", ("active", True, 1)),
        (
            {"trigger": evolve(STANDING, max_runs=1)},
            {"runs": 1, "failures": 1},
            1,
            "retry",
            ("failed", False, 2),
        ),
    ],
)
def test_a_recurring_task_goes_on_tries_again_pauses_or_is_done(
    changes: dict[str, Any], cursor: dict[str, Any], code: int, cause: Any, expected: tuple[str, bool, int]
) -> None:
    task = sample_task(**{"trigger": STANDING, **changes})
    outcome = rollup(
        task,
        sample_run(cause=cause),
        sample_ending(code=code),
        cursor=ScheduleCursor(processed_until=START, **cursor),
    )

    assert (outcome.task_state, outcome.retry_in is not None, outcome.failures) == expected


@pytest.mark.spec("N1")
@pytest.mark.parametrize(
    ("before", "result", "code", "is_told"),
    [
        (None, "abc", 0, True),  # the first run counts as a change
        ("abc", "abc", 0, False),
        ("abc", "def", 0, True),
        (None, "", 0, False),
        ("abc", "", 0, False),
        ("abc", "abc", 1, True),  # it failed, which is new
        ("failed exit code 1 abc", "abc", 1, False),
        ("failed exit code 1 abc", "abc", 0, True),
    ],
)
def test_only_a_change_is_reported(before: str | None, result: str, code: int, is_told: bool) -> None:
    task = sample_task(trigger=STANDING, notify="on_change")
    cursor = ScheduleCursor(processed_until=START, runs=1, result=before)

    assert (
        rollup(task, sample_run(), sample_ending(code=code), cursor=cursor, result=result).notify is is_told
    )


RETRYING = sample_task(limits=Limits(retries=2))
MINUTE = timedelta(minutes=1)


@pytest.mark.spec("L27")
@pytest.mark.parametrize(
    ("ending", "earlier", "cause", "delay"),
    [
        (sample_ending(code=1), 0, "submit", MINUTE),
        (sample_ending(code=1), 1, "retry", 2 * MINUTE),
        (sample_ending(code=1), 2, "retry", None),
        (sample_ending(code=0), 1, "retry", None),
        (sample_ending(code=1), 0, "resume", None),
        (sample_ending(code=1, stop="cancel"), 0, "submit", None),
        (sample_ending(code=None, signal=9), 0, "submit", MINUTE),
        (sample_ending(code=None, signal=9, stop="timeout"), 0, "submit", MINUTE),
        (sample_ending(code=None, signal=9, stop="memory"), 0, "submit", None),
        (sample_ending(code=None, error="make: command not found"), 0, "submit", None),
    ],
)
def test_a_one_shot_task_is_retried_where_that_makes_sense(
    ending: Ending, earlier: int, cause: Any, delay: timedelta | None
) -> None:
    outcome = rollup(RETRYING, sample_run(cause=cause), ending, earlier_failures=earlier, backoff=MINUTE)

    assert outcome.retry_in == delay
    assert (outcome.task_state == "active") == (delay is not None)
    assert outcome.notify == (delay is None)


@pytest.mark.spec("L27")
def test_a_failure_after_a_request_to_stop_is_not_retried() -> None:
    asked = sample_run(stop_requested_at=START, stop_by="ada")
    outcome = rollup(RETRYING, asked, sample_ending(code=1), backoff=MINUTE)

    assert (outcome.run_state, outcome.task_state, outcome.retry_in) == ("failed", "failed", None)
