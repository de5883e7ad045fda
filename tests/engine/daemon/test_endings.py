"""Endings: how a run ended is recorded exactly and described in words."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta

import pytest

from errands.bootstrap import SystemClock
from errands.engine.daemon import loops
from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded, until
from tests.samples import moves


@pytest.mark.spec("L7")
async def test_a_run_has_its_times_in_order(engine: TestEngine) -> None:
    task = await engine.finished("true")
    run = task.latest

    assert run.started_at is not None
    assert run.completed_at is not None
    assert task.created_at <= run.created_at <= run.started_at <= run.completed_at
    assert moves(await engine.events(task.id)) == ["queued", "started", "completed"]


@pytest.mark.spec("L8")
@pytest.mark.parametrize("code", [1, 42, 255])
async def test_a_nonzero_exit_code_is_a_failure_with_that_code(engine: TestEngine, code: int) -> None:
    task = await engine.finished(f"exit {code}")

    assert (task.state, task.task_state) == ("failed", "failed")
    assert (task.latest.exit_code, task.latest.failure) == (code, "exit")
    assert task.latest.error == f"exit code {code}"


@pytest.mark.spec("L7")
@pytest.mark.trap(20)
@pytest.mark.parametrize(("signal", "name"), [(9, "SIGKILL"), (15, "SIGTERM"), (6, "SIGABRT")])
async def test_a_death_by_signal_is_recorded_as_such(engine: TestEngine, signal: int, name: str) -> None:
    task = await engine.finished(f"kill -{signal} $$")

    assert (task.state, task.latest.failure) == ("failed", "signal")
    assert (task.latest.signal, task.latest.exit_code) == (signal, None)
    assert name in (task.latest.error or "")


@pytest.mark.spec("L10")
async def test_a_run_past_its_timeout_is_stopped_and_fails_with_a_timeout(engine: TestEngine) -> None:
    task = await engine.finished("sleep 1000", timeout=0.2)

    assert (task.state, task.latest.failure) == ("failed", "timeout")
    assert task.latest.error == "ran longer than its time-out of 0.2 s"
    assert task.latest.elapsed is not None
    assert task.latest.elapsed >= 0.2


@pytest.mark.spec("L10")
async def test_the_configured_timeout_applies_unless_the_task_sets_its_own(home: Home) -> None:
    async with embedded(home.path, **{"runs.timeout": "200ms"}) as engine:
        bounded = await engine.submit("sleep 1000")
        unbounded = await engine.submit("sleep 0.4", timeout=30)

        assert (await engine.wait(bounded.id)).latest.failure == "timeout"
        assert (await engine.wait(unbounded.id)).state == "completed"


@pytest.mark.spec("L17")
@pytest.mark.parametrize(
    ("command", "limit", "words"),
    [
        ("head -c 300M /dev/zero | tail", {"memory": 60 << 20}, "limit 60 MiB"),
        ("while :; do :; done", {"cpu": 0.2}, "limit 0.2 s"),
        (
            "for i in 1 2 3 4 5 6; do sleep 1000 & done; wait",
            {"processes": 4},
            "limit 4",
        ),
    ],
)
@pytest.mark.trap(31)
async def test_a_run_beyond_a_limit_fails_and_names_it(
    engine: TestEngine, command: str, limit: dict[str, int], words: str
) -> None:
    task = await engine.finished(command, **limit)

    assert (task.state, task.latest.failure) == ("failed", "limit")
    assert words in (task.latest.error or "")
    assert (await engine.finished("true")).state == "completed"


@pytest.mark.spec("L26")
async def test_a_silent_run_is_stopped_after_its_idle_timeout(engine: TestEngine) -> None:
    task = await engine.finished("echo once; sleep 1000", idle=0.2)

    assert (task.state, task.latest.failure) == ("failed", "idle")
    assert task.latest.error == "no output for 0.2 s (idle time-out)"


@pytest.mark.spec("L26")
async def test_a_run_that_keeps_printing_is_not_idle(engine: TestEngine) -> None:
    task = await engine.finished("for i in 1 2 3 4 5 6; do echo $i; sleep 0.6; done", idle=3)
    assert task.state == "completed"


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "SILENCE", 0.05)


@pytest.mark.spec("L26")
@pytest.mark.usefixtures("often")
async def test_silence_is_reported_only_on_request_and_only_once(engine: TestEngine) -> None:
    task = await engine.started("echo ready; read line", input="pipe", idle=0.2, on_idle="report")
    await until(lambda: "silent" in names(engine, task.id))

    assert (await engine.get(task.id)).state == "running"
    await engine.send(task.id, b"\n")
    assert (await engine.wait(task.id)).state == "completed"
    assert names(engine, task.id).count("silent") == 1
    notified = [notice.event for notice in await engine.take_notices()]
    assert notified == ["silent", "completed"]


@pytest.mark.spec("L26")
@pytest.mark.usefixtures("often")
async def test_a_run_that_prints_beyond_its_cap_is_not_silent(engine: TestEngine) -> None:
    task = await engine.finished(
        "head -c 9000 /dev/zero; for i in 1 2 3 4 5 6; do echo $i; sleep 0.6; done",
        output=4096, idle=3, on_idle="report",
    )  # fmt: skip
    assert task.latest.truncated
    assert "silent" not in names(engine, task.id)


@pytest.mark.fault("F22")
@pytest.mark.trap(50)
async def test_a_clock_change_is_not_mistaken_for_silence(
    engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "SILENCE", 0.02)
    task = await engine.started("echo ready; read line", input="pipe", idle=60, on_idle="report")
    ahead = datetime.now(UTC) + timedelta(days=1)
    looks = []

    def look(clock: SystemClock) -> float:
        looks.append(clock)
        return time.monotonic()

    monkeypatch.setattr(SystemClock, "now", lambda clock: ahead)
    monkeypatch.setattr(SystemClock, "monotonic", look)
    await until(lambda: len(looks) > 3)

    assert "silent" not in names(engine, task.id)


def names(engine: TestEngine, task_id: str) -> list[str]:
    return [event.name for event in engine.engine.events(task_id)]


@pytest.mark.spec("L16")
async def test_hooks_run_around_the_task_and_see_its_facts(engine: TestEngine) -> None:
    task = await engine.finished(
        "echo main; exit 3",
        before=["echo before $ERRANDS_TASK_ID"],
        lastly=["echo finally $ERRANDS_EXIT_CODE $ERRANDS_OUTCOME $ERRANDS_RUN_ID"],
    )
    said = [line for line in (await engine.text(task.id)).splitlines() if not line.startswith("$ ")]

    assert said == [f"before {task.id}", "main", f"finally 3 failed {task.latest.id}"]
    assert (task.state, task.latest.exit_code) == ("failed", 3)


@pytest.mark.spec("L16")
async def test_a_failing_hook_is_reported_and_does_not_change_the_result(engine: TestEngine) -> None:
    task = await engine.finished("echo main", before=["exit 4"], lastly=["kill -9 $$", ["no-such-program"]])

    assert (task.state, task.latest.exit_code) == ("completed", 0)
    assert task.latest.hooks == "before:4,finally:-9,finally:error"
    assert "main\n" in await engine.text(task.id)


@pytest.mark.spec("L16")
async def test_a_final_hook_runs_after_a_cancel_too(engine: TestEngine) -> None:
    task = await engine.started("echo ready; sleep 1000", lastly=["echo finally $ERRANDS_OUTCOME"])
    await engine.cancel(task.id)
    await engine.wait(task.id)

    assert "finally cancelled\n" in await engine.text(task.id)


@pytest.mark.spec("L19", "L16")
async def test_the_failed_step_of_a_sequence_is_counted_without_its_hooks(engine: TestEngine) -> None:
    task = await engine.finished("true", then=["exit 5"], before=["true", "true"])

    assert task.latest.error == "exit code 5 in step 2 of 2"


@pytest.mark.spec("L19")
async def test_a_sequence_is_one_task_that_stops_at_its_first_failure(engine: TestEngine) -> None:
    task = await engine.finished("echo one", then=["echo two; exit 5", "echo three"])
    said = [line for line in (await engine.text(task.id)).splitlines() if not line.startswith("$ ")]

    assert said == ["one", "two"]
    assert (task.state, task.latest.error) == ("failed", "exit code 5 in step 2 of 3")
    assert task.command == "echo one && echo two; exit 5 && echo three"
    assert len(await engine.list()) == 1


@pytest.mark.spec("L19")
async def test_a_sequence_that_succeeds_is_completed(engine: TestEngine) -> None:
    task = await engine.finished(["echo", "one"], then=[["echo", "two"], "echo three"])
    said = [line for line in (await engine.text(task.id)).splitlines() if not line.startswith("$ ")]

    assert (task.state, said) == ("completed", ["one", "two", "three"])


@pytest.mark.trap(35)
async def test_the_output_is_complete_as_soon_as_a_run_has_ended(engine: TestEngine) -> None:
    async def seen_by_a_reader() -> int:
        task = await engine.submit("seq 20000")
        async with asyncio.timeout(60):
            while not engine.engine.store.ended(task.id):
                await asyncio.sleep(0)
        return (await engine.get(task.id)).latest.lines

    assert [await seen_by_a_reader() for _ in range(5)] == [20000] * 5


@pytest.mark.trap(26)
async def test_processes_that_a_command_leaves_running_are_ended_and_counted(engine: TestEngine) -> None:
    task = await engine.finished("sleep 1000 & sleep 1000 & exit 0")
    assert (task.state, task.latest.leftovers) == ("completed", 2)


@pytest.mark.spec("L8")
async def test_the_notice_of_a_failure_keeps_its_details(engine: TestEngine) -> None:
    task = await engine.finished("exit 9", description="nightly build")
    [notice] = await engine.take_notices()

    notified = json.loads(notice.body)
    assert (notified["task"], notified["state"], notified["exit_code"]) == (task.id, "failed", 9)
    assert (notified["error"], notified["description"]) == ("exit code 9", "nightly build")
