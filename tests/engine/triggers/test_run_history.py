"""The history of runs: what each did, found and took, until it is old."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from errands import config
from errands.engine.daemon.janitor import Janitor
from errands.model.view import as_json
from errands.ports.home import Home
from errands.testing.engines import TestEngine, embedded
from tests.hand_clock import HandClock
from tests.model_server import ModelServer

pytestmark = pytest.mark.spec("T9")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


async def fired(engine: TestEngine, task_id: str) -> None:
    """Run a task now, and wait for the end."""
    number = (await engine.fire(task_id)).latest.number
    async with asyncio.timeout(120):  # the first process of an agent takes long on a busy machine
        while number not in {each.number for each in engine.engine.history(task_id) if each.completed_at}:
            await asyncio.sleep(0.02)


async def sweep(engine: TestEngine, clock: HandClock, **settings: str) -> None:
    janitor = Janitor(engine.engine.store, engine.engine.home, config.load(overrides=settings), clock)
    while await janitor.sweep():
        pass


async def test_every_run_is_kept_with_its_times_its_state_its_result_and_its_tokens(
    home: Home, config_file: Path, model: ModelServer, tmp_path: Path
) -> None:
    def use(url: str) -> None:
        settings = f'backend = "builtin"\nmodel = "fake"\nurl = "{url}"\npause = 0.001\ntries = 1\n'
        config_file.write_text(f"[agents.small]\n{settings}")

    use(model.openai_url)
    async with embedded(home.path) as engine:
        line = tmp_path / "status"
        line.write_text("green")
        task = await engine.ask(
            'USE 5000 200\nCALL read_file {"path": "status"}',
            agent="small",
            cwd=str(tmp_path),
            every="9h",
        )
        await fired(engine, task.id)
        line.write_text("red")
        await fired(engine, task.id)
        use("http://127.0.0.1:9/v1")
        await fired(engine, task.id)

        first, second, third, *_ = as_json(await engine.get(task.id))["history"]
        assert [each["state"] for each in (first, second, third)] == ["completed", "completed", "failed"]
        assert all(each["started_at"] < each["completed_at"] for each in (first, second, third))
        assert "green" in first["result"]
        assert "red" in second["result"]
        assert (first["usage"]["input_tokens"], first["usage"]["output_tokens"]) == (10_000, 400)
        assert first["usage"]["tool_calls"] == 1
        assert (first["error"], third["result"]) == (None, None)
        assert "model" in third["error"]


async def test_earlier_runs_are_removed_after_a_month_and_still_counted(home: Home) -> None:
    async with embedded(home.path) as engine:
        task = await engine.submit("echo $ERRANDS_RUN_ID", every="9h")
        for _ in range(3):
            await fired(engine, task.id)
        clock = HandClock(datetime.now(UTC))
        clock.turn(timedelta(days=29))
        await sweep(engine, clock)
        assert len((await engine.get(task.id)).history) == 3
        clock.turn(timedelta(days=2))
        await sweep(engine, clock, **{"retention.enabled": "false"})
        await sweep(engine, clock, **{"retention.history": "60d"})
        assert len((await engine.get(task.id)).history) == 3
        await sweep(engine, clock)

        view = await engine.get(task.id)
        assert [each.number for each in view.history] == [3]
        assert view.standing is not None
        assert (view.state, view.standing.runs, as_json(view)["run_count"]) == ("active", 3, 3)
        assert [os.path.exists(home.run(f"{task.id}.{number}")) for number in (1, 2, 3)] == [
            False,
            False,
            True,
        ]
        assert await engine.text(task.id) == f"{task.id}.3\n"
