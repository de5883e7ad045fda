"""Retries of a one-shot task: every attempt is a run, and only the last one ends the task."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from errands.dialects.native import Native
from errands.engine.daemon.outcome import Effects, OutcomeWriter
from errands.engine.engine import Engine
from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.model.rollup import rollup
from errands.ports.dialect import Caller
from errands.ports.home import Home
from errands.ports.store import Query
from errands.testing.engines import WITHIN, TestEngine, embedded, until
from tests.engine.daemons import Daemons, eventually, finished, lines
from tests.hand_clock import START
from tests.samples import sample_ending

pytestmark = pytest.mark.spec("L27")

# It counts its runs in a file, and fails until there are enough.
FLAKY = "echo run >> {file}; test $(wc -l < {file}) -ge {good}"


@pytest.fixture
async def quick(home: Home) -> AsyncIterator[TestEngine]:
    """An engine that retries almost at once."""
    async with embedded(home.path, **{"schedules.backoff": "20ms"}) as engine:
        yield engine


@pytest.fixture
async def patient(home: Home) -> AsyncIterator[TestEngine]:
    """An engine whose retries wait until the test has looked at them."""
    async with embedded(home.path, **{"schedules.backoff": "1h"}) as engine:
        yield engine


async def test_a_task_that_fails_is_run_again_until_it_succeeds(quick: TestEngine, tmp_path: Path) -> None:
    task = await quick.submit(FLAKY.format(file=tmp_path / "runs", good=3), retries=5)
    ended = await quick.wait(task.id)

    assert (ended.state, ended.task_state) == ("completed", "done")
    history = (await quick.get(task.id)).history
    assert [(run.number, run.cause, run.state) for run in history] == [
        (1, "submit", "failed"),
        (2, "retry", "failed"),
        (3, "retry", "completed"),
    ]
    assert lines(tmp_path / "runs") == ["run"] * 3


async def test_a_task_that_never_succeeds_ends_with_its_last_retry(quick: TestEngine, tmp_path: Path) -> None:
    task = await quick.submit(FLAKY.format(file=tmp_path / "runs", good=99), retries=2)
    ended = await quick.wait(task.id)

    assert (ended.state, ended.task_state, ended.latest.exit_code) == ("failed", "failed", 1)
    assert lines(tmp_path / "runs") == ["run"] * 3


async def test_a_failure_without_retries_ends_the_task(quick: TestEngine, tmp_path: Path) -> None:
    ended = await quick.finished(FLAKY.format(file=tmp_path / "runs", good=99))

    assert (ended.state, ended.runs) == ("failed", 1)


async def test_the_delays_between_retries_double(home: Home, tmp_path: Path) -> None:
    async with embedded(home.path, **{"schedules.backoff": "200ms"}) as engine:
        task = await engine.submit("exit 1", retries=2)
        await engine.wait(task.id)
        first, second, third = (await engine.get(task.id)).history

    assert first.completed_at is not None
    assert second.started_at is not None
    assert second.completed_at is not None
    assert third.started_at is not None
    assert second.started_at - first.completed_at >= timedelta(milliseconds=190)
    assert third.started_at - second.completed_at >= timedelta(milliseconds=390)


async def test_only_the_last_ending_is_reported(quick: TestEngine, tmp_path: Path) -> None:
    task = await quick.submit(FLAKY.format(file=tmp_path / "runs", good=99), retries=2)
    ended = await quick.wait(task.id)
    notices = await quick.take_notices("user", reader="test")

    assert [(each.run_id, each.event) for each in notices] == [(ended.latest.id, "failed")]


async def test_a_success_after_failures_is_reported_as_a_success(quick: TestEngine, tmp_path: Path) -> None:
    task = await quick.submit(FLAKY.format(file=tmp_path / "runs", good=2), retries=2, notify="on_failure")
    await quick.wait(task.id)

    assert await quick.take_notices("user", reader="test") == []


async def test_dependents_wait_for_the_last_retry(quick: TestEngine, tmp_path: Path) -> None:
    flaky = await quick.submit(FLAKY.format(file=tmp_path / "runs", good=2), retries=1)
    good = await quick.submit(f"wc -l < {tmp_path / 'runs'}", after=(flaky.id,))
    hopeless = await quick.submit("exit 1", retries=1)
    skipped = await quick.submit("true", after=(hopeless.id,))

    assert (await quick.wait(good.id)).state == "completed"
    assert (await quick.output(good.id)).content.strip() == b"2"
    assert (await quick.wait(skipped.id)).state == "skipped"
    assert (await quick.get(hopeless.id)).runs == 2


async def waiting_to_retry(engine: TestEngine, command: str = "exit 1") -> str:
    task = await engine.submit(command, retries=2)
    await until(lambda: engine.engine.store.view(task.id).runs == 2)
    return task.id


async def test_a_task_that_waits_for_a_retry_says_so(patient: TestEngine) -> None:
    task_id = await waiting_to_retry(patient)
    view = await patient.get(task_id)

    assert (view.state, view.task_state, view.is_live) == ("pending", "active", True)
    assert view.retry is not None
    assert (view.retry.number, view.retry.of) == (2, 3)
    assert view.retry.at is not None
    assert timedelta(minutes=59) < view.retry.at - view.latest.created_at <= timedelta(hours=1)
    assert [each.id for each in patient.engine.list(Query(states=("pending",)))] == [task_id]
    assert await patient.take_notices("user", reader="test") == []


async def test_cancelling_ends_the_retries(patient: TestEngine) -> None:
    task_id = await waiting_to_retry(patient)
    await patient.cancel(task_id)
    view = await patient.get(task_id)

    assert (view.state, view.task_state) == ("cancelled", "cancelled")
    assert [run.state for run in view.history] == ["failed", "cancelled"]
    notices = await patient.take_notices("user", reader="test")
    assert [each.event for each in notices] == ["cancelled"]


@pytest.mark.parametrize("verb", ["cancel", "stop"])
async def test_a_run_that_a_person_stopped_is_not_retried(quick: TestEngine, verb: str) -> None:
    task = await quick.submit("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done", retries=5)
    await until(lambda: b"ready" in quick.engine.output(task.id).content)
    if verb == "cancel":
        await quick.cancel(task.id)
    else:
        quick.engine.stop(task.id)
    ended = await quick.wait(task.id)

    assert (ended.state, ended.runs) == ("cancelled", 1)


async def test_a_retry_can_be_started_at_once(patient: TestEngine, tmp_path: Path) -> None:
    task_id = await waiting_to_retry(patient, FLAKY.format(file=tmp_path / "runs", good=2))
    await patient.fire(task_id)

    assert (await patient.wait(task_id)).state == "completed"


async def test_a_restart_has_all_its_retries_again(quick: TestEngine) -> None:
    task = await quick.submit("exit 1", retries=1)
    await quick.wait(task.id)
    await quick.restart(task.id)
    await quick.wait(task.id)

    history = (await quick.get(task.id)).history
    assert [run.cause for run in history] == ["submit", "retry", "restart", "retry"]


@pytest.mark.parametrize(
    ("command", "options", "failure"),
    [
        (("no-such-program-anywhere",), {}, "spawn"),
        ("while :; do :; done", {"cpu": 0.1}, "limit"),
    ],
)
async def test_a_run_that_would_only_fail_again_is_not_retried(
    quick: TestEngine, command: str, options: dict[str, Any], failure: str
) -> None:
    task = await quick.submit(command, retries=3, **options)
    ended = await quick.wait(task.id)

    assert (ended.latest.failure, ended.runs) == (failure, 1)


@pytest.mark.parametrize(("command", "options"), [("sleep 100", {"timeout": 0.1}), ("kill -9 $$", {})])
async def test_timeouts_and_deaths_by_signal_are_retried(
    quick: TestEngine, command: str, options: dict[str, Any]
) -> None:
    task = await quick.submit(command, retries=1, **options)

    assert (await quick.wait(task.id)).runs == 2


async def test_a_prompt_is_retried_in_a_new_session(quick: TestEngine) -> None:
    task = await quick.ask("`sleep 300`", timeout=1, retries=1)
    ended = await quick.wait(task.id, timeout=WITHIN)

    assert (ended.latest.failure, ended.runs) == ("timeout", 2)
    asked = quick.engine.store.exchanges(task.id)
    assert [(number, exchange.text) for number, exchange in asked] == [(1, "`sleep 300`"), (2, "`sleep 300`")]


async def test_a_run_that_used_up_its_budget_is_not_retried(quick: TestEngine) -> None:
    task = await quick.ask("`echo a` `echo b`", budget={"tool_calls": 1}, retries=2)
    ended = await quick.wait(task.id, timeout=WITHIN)

    assert (ended.latest.failure, ended.runs) == ("budget", 1)


async def test_an_approval_covers_the_retries(home: Home, tmp_path: Path) -> None:
    async with embedded(home.path, yes=False, **{"schedules.backoff": "20ms"}) as engine:
        task = await engine.submit(f"rm {tmp_path / 'missing'}", retries=1)
        assert task.state == "proposed"
        engine.engine.approve(task.id, by="ada", door="cli")
        ended = await engine.wait(task.id)

    assert (ended.state, ended.runs, ended.approved_by) == ("failed", 2, "ada")


def test_a_recurring_task_has_no_retries_of_its_own(client: Engine) -> None:
    with pytest.raises(BadValue, match="retries"):
        client.submit(Draft(command="true", every=timedelta(hours=1), retries=1))
    with pytest.raises(BadValue, match="retries"):
        client.submit(Draft(command="true", retries=-1))


def test_an_ending_that_is_already_recorded_leads_to_no_retry(client: Engine) -> None:
    task_id = client.submit(Draft(command="false", retries=2)).id
    store, ending = client.store, sample_ending(code=1)
    with store:
        ((task, run),) = store.claim("shell", limit=1, now=START)
        store.end(run, rollup(task, run, sample_ending()), sample_ending(), summary=None, now=START)
        writer = OutcomeWriter(store, client._output(), client.home, backoff=timedelta())
        effects = Effects()
        assert not writer.write(task, run, ending, effects, now=START, anyone_waits=False)

    assert (client.get(task_id).state, client.get(task_id).runs) == ("completed", 1)
    assert effects.ended == effects.changed == []


@pytest.mark.fault("F2")
@pytest.mark.parametrize(
    ("place", "when"),
    [
        ("errands.engine.daemon.outcome.OutcomeWriter.write", "before"),
        ("errands.stores.sqlite.store.SqliteStore.add_run", "before"),  # the end is written, not committed
        ("errands.stores.sqlite.store.SqliteStore.add_run", "after"),
        ("errands.engine.daemon.supervisor.Supervisor.forget", "before"),  # committed
    ],
)
def test_a_daemon_that_dies_between_an_ending_and_its_retry_loses_neither(
    daemons: Daemons,
    client: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    when: str,
) -> None:
    monkeypatch.setenv("ERRANDS_SCHEDULES_BACKOFF", "20ms")
    daemons.start_doomed(place, when)
    task = client.submit(Draft(command=FLAKY.format(file=tmp_path / "runs", good=2), retries=1))
    daemons.wait_for_doom()
    daemons.start()
    ended = finished(client, task.id)

    assert (ended.state, ended.runs) == ("completed", 2)
    assert [run.state for run in client.get(task.id).history] == ["failed", "completed"]
    assert lines(tmp_path / "runs") == ["run"] * 2
    eventually(lambda: client.store.undelivered() == [])
    assert [each.event for each in client.take_notices("user", reader="test")] == ["completed"]


@pytest.mark.spec("S7")
async def test_a_caller_that_waited_for_a_retried_task_is_not_notified_again(
    quick: TestEngine, tmp_path: Path
) -> None:
    dialect = Native()
    caller = Caller(session="chat-1", cwd=str(tmp_path), door="test", client="test")
    line = FLAKY.format(file=tmp_path / "runs", good=2)
    await dialect.call(quick, caller, "run", {"command": line, "retries": 2, "wait": 20_000})

    assert lines(tmp_path / "runs") == ["run"] * 2
    assert quick.engine.notices.unread("chat-1") == []


async def test_a_recurring_task_says_when_its_failed_run_is_tried_again(patient: TestEngine) -> None:
    task = await patient.submit("false", every=timedelta(hours=1))
    await patient.fire(task.id)

    retry = await until(lambda: patient.engine.get(task.id).retry)

    assert retry is not None
    assert (retry.number, retry.of) == (2, 2)
    assert retry.at is not None
