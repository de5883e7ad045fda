"""Schedules: recurring tasks run when they are due, and record what happened to every slot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import errands
from errands import bootstrap
from errands.engine.engine import Engine
from errands.model.errors import AlreadyActive, BadValue, IllegalMove
from errands.model.options.draft import Draft
from errands.model.view import View
from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded, until
from tests.hand_clock import HandClock

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
TICK: dict[str, Any] = {"daemon.tick": "20ms"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    clock = HandClock(datetime(2026, 3, 2, 12, 0, tzinfo=UTC))
    monkeypatch.setattr(bootstrap, "SystemClock", lambda: clock)
    return clock


async def ran(engine: TestEngine, task_id: str, number: int) -> View:
    """Wait until the run with that number has ended."""

    def is_over() -> bool:
        runs = engine.engine.store.history(task_id)
        return any(run.number == number and run.completed_at is not None for run in runs)

    await until(is_over)
    return await engine.get(task_id)


def outcomes(engine: TestEngine, task_id: str) -> list[tuple[str, int]]:
    return [(each.outcome, each.count) for each in engine.engine.schedules.ledger(task_id)]


@pytest.mark.spec("T1", "T2", "T8")
@pytest.mark.trap(47)
async def test_an_interval_keeps_its_grid_across_engines(
    home: Home, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "start_daemon", lambda home: None)  # it would use another clock
    async with errands.connect(home.path, yes=True, **TICK) as connected:
        engine = TestEngine(connected.engine, ensure_daemon=lambda: None)
        task = await engine.submit("true", every=timedelta(hours=6))
        assert (task.state, task.standing and task.standing.next_at) == ("active", clock.now() + 6 * HOUR)
        clock.turn(6 * HOUR + 10 * MINUTE)
        first = await ran(engine, task.id, 1)
        assert first.standing is not None
        assert first.standing.next_at == task.created_at + 12 * HOUR
    clock.turn(3 * HOUR)
    async with embedded(home.path, **TICK) as engine:  # as if it were up for a few hours a day
        clock.turn(3 * HOUR)
        view = await ran(engine, task.id, 2)
        assert view.standing is not None
        assert (view.state, view.standing.runs) == ("active", 2)


@pytest.mark.spec("T2")
async def test_a_task_is_done_after_its_last_run(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("true", every=MINUTE, max_runs=2)
        clock.turn(MINUTE)
        assert (await ran(engine, task.id, 1)).state == "active"
        clock.turn(MINUTE)
        done = await engine.wait(task.id, timeout=60)

        assert (done.state, done.runs) == ("done", 2)
        assert done.standing is not None
        assert done.standing.next_at is None
        clock.turn(HOUR)
        await engine.finished("true")
        assert (await engine.get(task.id)).runs == 2


@pytest.mark.spec("T4")
async def test_a_slot_that_overlaps_the_previous_run_is_skipped_with_a_record(
    home: Home, clock: HandClock
) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("read line", every=MINUTE, input="pipe")
        clock.turn(MINUTE)
        await until(lambda: engine.engine.store.view(task.id).latest.state == "running")
        clock.turn(MINUTE)
        await until(lambda: len(outcomes(engine, task.id)) == 2)
        await until(lambda: _sent(engine, task.id))
        await ran(engine, task.id, 1)
        clock.turn(MINUTE)
        await until(lambda: engine.engine.store.view(task.id).latest.number == 2)

        assert outcomes(engine, task.id) == [("ran", 1), ("skipped", 1), ("ran", 1)]
        skipped = engine.engine.schedules.ledger(task.id)[1]
        assert skipped.reason == "the run before it had not ended"


def _sent(engine: TestEngine, task_id: str) -> bool:
    from errands.model.errors import ErrandsError

    try:
        engine.engine.send(task_id, b"\n")
    except ErrandsError:
        return False
    return True


@pytest.mark.spec("T5")
async def test_firing_runs_now_and_leaves_the_schedule_unchanged(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("true", every=HOUR)
        await engine.fire(task.id)
        view = await ran(engine, task.id, 1)
        assert view.standing is not None
        assert (view.latest.cause, view.standing.next_at) == ("manual", task.created_at + HOUR)
        await engine.pause(task.id)
        await engine.fire(task.id)
        assert (await ran(engine, task.id, 2)).state == "paused"

        late = await engine.submit("true", at=clock.now() + HOUR)
        await engine.fire(late.id)
        assert (await engine.wait(late.id)).state == "completed"
        with pytest.raises(IllegalMove, match="errands restart"):
            await engine.fire(late.id)


@pytest.mark.spec("T5")
async def test_a_running_task_cannot_be_fired(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("read line", every=HOUR, input="pipe")
        await engine.fire(task.id)
        with pytest.raises(AlreadyActive):
            await engine.fire(task.id)


@pytest.mark.spec("L11")
@pytest.mark.trap(51)
async def test_a_failure_is_retried_once_and_a_second_one_pauses_the_task_and_is_reported(
    home: Home, clock: HandClock
) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("exit 3", every=HOUR, notify="never")
        clock.turn(HOUR)
        await ran(engine, task.id, 1)
        waiting = await engine.get(task.id)
        assert (waiting.state, waiting.latest.cause, waiting.latest.state) == ("active", "retry", "pending")
        assert waiting.retry is not None
        assert waiting.retry.at == clock.now() + MINUTE
        clock.turn(MINUTE)
        await until(lambda: engine.engine.store.view(task.id).state == "paused")

        runs = (await engine.get(task.id)).history
        assert [(run.cause, run.state) for run in runs] == [("schedule", "failed"), ("retry", "failed")]
        (notice,) = await engine.take_notices()
        assert (notice.event, "errands unpause" in notice.body) == ("paused", True)


@pytest.mark.spec("L11")
async def test_a_successful_retry_resets_the_failures(home: Home, clock: HandClock, tmp_path: Path) -> None:
    async with embedded(home.path, **TICK) as engine:
        flag = tmp_path / "flag"
        task = await engine.submit(f"test -e {flag}", every=HOUR)
        clock.turn(HOUR)
        await ran(engine, task.id, 1)
        flag.touch()
        clock.turn(MINUTE)
        good = await ran(engine, task.id, 2)
        assert good.standing is not None
        assert (good.state, good.standing.failures, good.standing.runs) == ("active", 0, 1)
        flag.unlink()
        clock.turn(HOUR)
        await ran(engine, task.id, 3)
        assert (await engine.get(task.id)).state == "active"


@pytest.mark.spec("N1")
async def test_changed_output_is_reported_and_unchanged_output_is_not(
    home: Home, clock: HandClock, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit(f"cat {said}", every=HOUR)
        reported = []
        words_of_runs = ("red in 0.1s", "red in 2.0s", "green", "", "green")  # how long it took is no change
        for number, words in enumerate(words_of_runs, start=1):
            said.write_text(words)
            clock.turn(HOUR)
            await ran(engine, task.id, number)
            reported.append(len(await engine.take_notices()))

        assert task.notify == "on_change"
        assert reported == [1, 0, 1, 0, 1]


@pytest.mark.spec("N1")
@pytest.mark.parametrize(
    ("policy", "reported"),
    [("always", [1, 1]), ("on_failure", [0, 1]), ("on_change", [0, 1]), ("never", [0, 0])],
)
async def test_the_policy_decides_whether_silence_and_failure_are_reported(
    engine: TestEngine, policy: Any, reported: list[int]
) -> None:
    found = []
    for command in ("true", "exit 1"):
        await engine.finished(command, notify=policy)
        found.append(len(await engine.take_notices()))

    assert found == reported


@pytest.mark.spec("T7")
async def test_the_number_of_schedules_is_limited_and_the_error_says_what_to_do(
    home: Home, clock: HandClock
) -> None:
    async with embedded(home.path, **{"schedules.most": "2"}) as engine:
        first = await engine.submit("true", every=HOUR)
        await engine.submit("true", every=HOUR)
        with pytest.raises(BadValue, match=r"schedules\.most allows 2; pause or cancel one"):
            await engine.submit("true", every=HOUR)
        await engine.pause(first.id)
        await engine.submit("true", cron="@daily")
        with pytest.raises(BadValue, match="allows 2"):
            await engine.unpause(first.id)


@pytest.mark.spec("T7")
async def test_cancelling_ends_the_task_and_its_live_run(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("sleep 600", every=HOUR)
        clock.turn(HOUR)
        await until(lambda: engine.engine.store.view(task.id).latest.state == "running")
        await engine.cancel(task.id)
        over = await engine.wait(task.id, timeout=60)

        assert (over.state, over.latest.state) == ("cancelled", "cancelled")
        clock.turn(HOUR)
        await engine.finished("true")
        assert (await engine.get(task.id)).runs == 1
        assert await engine.clear(task.id) == [task.id]


@pytest.mark.spec("L9")
async def test_stopping_a_run_keeps_the_schedule(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("sleep 600", every=HOUR)
        clock.turn(HOUR)
        await until(lambda: engine.engine.store.view(task.id).latest.state == "running")
        engine.engine.stop(task.id)
        stopped = await ran(engine, task.id, 1)

        assert (stopped.state, stopped.latest.state) == ("active", "cancelled")
        with pytest.raises(IllegalMove, match="errands fire"):
            await engine.restart(task.id)


@pytest.mark.spec("O13")
async def test_an_active_schedule_is_neither_cleared_nor_expired(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit("true", every=HOUR)
        clock.turn(HOUR)
        await ran(engine, task.id, 1)
        assert engine.engine.store.expired_tasks(before=clock.now() + 100 * HOUR, limit=10) == []
        with pytest.raises(Exception, match="has not ended; cancel it first"):
            await engine.clear(task.id)


@pytest.mark.spec("T10")
async def test_reading_a_schedule_writes_nothing(clock: HandClock, client: Engine) -> None:
    task = client.submit(Draft(command="true", every=HOUR, hours="0-23", jitter=MINUTE))
    before = _rows(client)
    clock.turn(5 * HOUR)
    client.get(task.id)
    client.schedules.coming(task.id)
    client.schedules.ledger(task.id)
    client.schedules.preview(Draft(command="true", cron="@hourly"))

    assert _rows(client) == before


def _rows(client: Engine) -> list[Any]:
    db = client.store.db  # type: ignore[attr-defined]
    return [db.read(f"SELECT * FROM {table}") for table in ("tasks", "runs", "hearings", "slots", "events")]


@pytest.mark.spec("T1")
@pytest.mark.trap(48)
def test_the_next_five_times_are_shown_before_anything_starts(clock: HandClock, client: Engine) -> None:
    _, times = client.schedules.preview(Draft(command="true", cron="30 2 28-30 3 *", zone="Europe/Vienna"))

    assert [f"{each:%m-%d %H:%M}" for each in times[:3]] == ["03-28 01:30", "03-29 01:00", "03-30 00:30"]
    assert len(times) == 5
    task = client.submit(Draft(command="true", cron="30 2 * * *", zone="Europe/Vienna"))
    assert len(client.schedules.coming(task.id)) == 5


@pytest.mark.spec("A10", "T7")
@pytest.mark.trap(66, 70)
async def test_a_harmful_schedule_waits_for_approval_and_starts_counting_from_it(
    home: Home, clock: HandClock, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    async with embedded(home.path, yes=False, **TICK) as engine:
        task = await engine.submit(("rm", "-f", str(victim)), every=HOUR)
        assert (task.state, task.runs) == ("proposed", 0)
        assert [each.id for each in await engine.list(states=["proposed"])] == [task.id]
        clock.turn(90 * MINUTE)
        await engine.finished("true")
        assert (await engine.get(task.id)).runs == 0

        active = await engine.approve(task.id, by="ada")
        assert (active.state, active.standing and active.standing.next_at) == (
            "active",
            task.created_at + 2 * HOUR,
        )
        victim.touch()
        clock.turn(30 * MINUTE)
        await ran(engine, task.id, 1)
        assert not victim.exists()
        no = await engine.submit(("rm", "-rf", str(victim)), every=HOUR)
        assert (await engine.reject(no.id, by="ada")).state == "rejected"
        assert not [each for each in await engine.list() if each.id == no.id]


@pytest.mark.spec("A10")
@pytest.mark.fault("F59")
@pytest.mark.trap(69)
async def test_a_script_changed_since_its_approval_needs_a_new_one_and_slots_are_skipped_meanwhile(
    home: Home, clock: HandClock, tmp_path: Path
) -> None:
    script = tmp_path / "script.sh"
    script.write_text("echo one\n")
    async with embedded(home.path, **TICK) as engine:
        task = await engine.submit(("sh", str(script)), every=HOUR)
        clock.turn(HOUR)
        await ran(engine, task.id, 1)
        script.write_text("echo two\n")
        clock.turn(HOUR)
        await until(lambda: engine.engine.store.view(task.id).state == "proposed")
        clock.turn(HOUR)
        await until(lambda: len(outcomes(engine, task.id)) == 3)
        assert outcomes(engine, task.id)[0] == ("skipped", 1)

        await engine.approve(task.id, by="ada")
        await ran(engine, task.id, 2)
        assert (await engine.text(task.id)) == "two\n"
        clock.turn(HOUR)
        assert (await ran(engine, task.id, 3)).state == "active"


@pytest.mark.spec("L15", "T1")
def test_a_template_can_have_a_schedule(clock: HandClock, client: Engine) -> None:
    client.save_template("nightly", Draft(command="echo {{what}}", cron="0 3 * * *", zone="UTC", jitter=HOUR))
    task = client.submit_template("nightly", {"what": "x"})

    assert task.standing is not None
    assert task.standing.rule == "cron 0 3 * * * (UTC), up to 1h later"
    assert client.templates()["nightly"].jitter == HOUR


@pytest.mark.spec("T1")
async def test_a_recurring_prompt_has_a_new_session_for_each_run(home: Home, clock: HandClock) -> None:
    async with embedded(home.path, **TICK) as engine:
        task = await engine.ask("run `echo news`", agent="offline", every=HOUR)
        for number in (1, 2):
            clock.turn(HOUR)
            view = await ran(engine, task.id, number)
            assert (view.state, view.latest.state) == ("active", "completed")
        assert len(engine.engine.sessions.sessions(limit=10)) == 2
        assert len(await engine.take_notices()) == 1


def test_no_task_can_depend_on_a_recurring_task(clock: HandClock, client: Engine) -> None:
    task = client.submit(Draft(command="true", every=HOUR))
    with pytest.raises(BadValue, match="is a recurring task"):
        client.submit(Draft(command="true", after=(task.id,)))
