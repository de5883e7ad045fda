"""The keywords of `submit`: values written naturally create the intended task."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from errands.model.errors import BadValue
from errands.model.options.draft import Draft
from errands.testing.engines import TestEngine


async def test_text_and_numbers_mean_what_they_mean_on_the_command_line(engine: TestEngine) -> None:
    task = await engine.submit(
        "true", timeout="10m", idle=90, memory="1G", grace=timedelta(seconds=1), nice=5
    )
    limits = (await engine.get(task.id)).details["limits"]  # type: ignore[index]

    assert (limits["timeout"], limits["idle"], limits["memory"]) == (600, 90, 1 << 30)
    assert (limits["grace"], limits["nice"]) == (1, 5)


async def test_a_watch_accepts_seconds(engine: TestEngine, tmp_path: Path) -> None:
    task = await engine.submit("true", on=f"file:{tmp_path}/*", debounce=5, max_wait=9)
    trigger = (await engine.get(task.id)).details["trigger"]  # type: ignore[index]

    assert (trigger["debounce"], trigger["max_wait"]) == (5, 9)


async def test_a_schedule_accepts_text(engine: TestEngine) -> None:
    task = await engine.submit("true", every="30m", jitter="1m")

    assert task.standing is not None
    assert task.standing.rule == "every 30m, up to 1m later"


async def test_a_start_time_accepts_text(engine: TestEngine) -> None:
    task = await engine.submit("true", at="+2h")

    assert task.due_at is not None
    assert timedelta(minutes=119) < task.due_at - engine.now() <= timedelta(hours=2)


async def test_a_string_is_one_channel(engine: TestEngine) -> None:
    task = await engine.submit("true", channels="inbox:other")

    assert [str(each) for each in task.channels] == ["inbox:other"]


async def test_a_draft_accepts_text_too(engine: TestEngine) -> None:
    loose: Any = {"timeout": "10m", "channels": "inbox:other"}
    first, second = await engine.submit_all(
        [Draft(command="true", name="a", **loose), Draft(command="true", name="b", after=("a",))]
    )

    assert (await engine.get(first.id)).details["limits"]["timeout"] == 600  # type: ignore[index]
    assert [str(each) for each in first.channels] == ["inbox:other"]
    assert second.waits


async def test_a_template_is_saved_with_converted_values(engine: TestEngine) -> None:
    loose: Any = {"timeout": "10m", "idle": "none"}
    engine.engine.save_template("slow", Draft(command="true", **loose))

    saved = engine.engine.templates()["slow"]
    assert (saved.timeout, saved.idle) == (timedelta(minutes=10), timedelta.max)


@pytest.mark.parametrize("command", [5, None, ["sleep", 5], {"run": "true"}])
async def test_a_command_of_another_type_is_refused(engine: TestEngine, command: Any) -> None:
    with pytest.raises(BadValue, match="the command"):
        await engine.submit(command)


async def test_a_wrong_value_refuses_only_that_task(engine: TestEngine) -> None:
    loose: Any = {"timeout": "soon"}
    with pytest.raises(BadValue, match="timeout: 'soon' is not a duration"):
        await engine.submit("true", **loose)

    assert await engine.list() == []
