"""The dialect of co: every tool, parameter, default, word, display and error."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest
import pytest_asyncio

from errands.model.text.ids import span_id
from errands.testing.engines import WITHIN, until
from errands.testing.speaker import Speaker, Stage, facts, fenced
from tests.scenarios.placing import Placing

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X3")]


@pytest_asyncio.fixture(loop_scope="module")
async def co(stage: Stage, session: str) -> Speaker:
    return await stage.speaker("co", session)


async def start(speaker: Speaker, command: str, description: str = "a task", **more: Any) -> str:
    reply = await speaker("start_background_task", command=command, description=description, **more)
    return str(facts(reply)["task_id"])


async def finished(speaker: Speaker, command: str, description: str = "a task", **more: Any) -> str:
    found = await start(speaker, command, description, **more)
    await speaker.engine.wait(found, timeout=WITHIN)
    return found


# start_background_task


async def test_start_background_task(co: Speaker) -> None:
    reply = await co("start_background_task", command="sleep 600", description="Run full test suite")
    given, task = facts(reply), await co.task()
    assert set(given) == {"task_id", "status", "display", "wake"}
    assert (given["task_id"], given["status"]) == (task.id, "running")
    assert given["display"].splitlines()[:2] == [
        f"Started background task {task.id}: Run full test suite",
        f"Check status: /status {task.id}",
    ]
    assert reply.text == given["display"]
    assert (task.command, task.description) == ("sleep 600", "Run full test suite")


@pytest.mark.spec("L1")
async def test_a_short_command_was_running_when_it_was_started(co: Speaker) -> None:
    reply = await co("start_background_task", command="echo hello", description="Test task")
    assert facts(reply)["status"] == "running"


async def test_working_directory_defaults_to_the_current_one(stage: Stage, co: Speaker) -> None:
    found = await finished(co, "pwd")
    shown = facts(await co("check_task_status", task_id=found))
    assert fenced(shown["output"]) == f"{stage.folder}\n"


async def test_working_directory(stage: Stage, co: Speaker) -> None:
    (stage.folder / "below").mkdir(exist_ok=True)
    for directory in ("below", str(stage.folder / "below")):
        found = await finished(co, "pwd", working_directory=directory)
        shown = facts(await co("check_task_status", task_id=found))
        assert fenced(shown["output"]) == f"{stage.folder}/below\n"


@pytest.mark.spec("L8")
async def test_working_directory_that_is_not_there(co: Speaker) -> None:
    found = await finished(co, "pwd", working_directory="/nowhere/at/all")
    shown = facts(await co("check_task_status", task_id=found))
    assert shown["status"] == "failed"
    assert "/nowhere/at/all" in shown["display"]


@pytest.mark.parametrize("missing", ["command", "description"])
async def test_start_needs_command_and_description(co: Speaker, missing: str) -> None:
    given = {"command": "true", "description": "x"}
    del given[missing]
    reply = await co.carrier.call("start_background_task", given)
    assert reply.failed
    said = f"Invalid arguments for start_background_task: {missing} is missing"
    assert facts(reply) == {"display": said}
    assert await co.count() == 0


@pytest.mark.spec("A8")
async def test_start_needs_approval_for_what_does_harm(stage: Stage, co: Speaker) -> None:
    victim = stage.folder / "co-victim"
    victim.touch()
    reply = await co("start_background_task", command=f"rm {victim}", description="clean up")
    given, task = facts(reply), await co.task()
    assert (given["status"], task.state) == ("pending", "proposed")
    assert "Command requires approval:\n  rm " in given["display"]
    assert f"errands approve {task.id}" in given["display"]
    assert "Started" not in given["display"]
    await stage.engine.approve(task.id, by="ada")
    await stage.engine.wait(task.id, timeout=WITHIN)
    assert not victim.exists()
    done = await stage.engine.get(task.id)
    assert (done.approved_by, done.state) == ("ada", "completed")


@pytest.mark.spec("L5")
async def test_five_run_and_the_sixth_is_pending(co: Speaker, placed: Placing | None) -> None:
    replies = [
        await co("start_background_task", command="sleep 600", description=f"Task {i}") for i in range(6)
    ]
    # The lanes of this home count what it runs itself; other hosts have slots of their own.
    sixth = "pending" if placed is None else "running"
    assert [facts(reply)["status"] for reply in replies] == ["running"] * 5 + [sixth]


# check_task_status


async def test_check_task_status_of_a_completed_task(co: Speaker) -> None:
    found = await finished(co, "echo marmalade", "Test task")
    given = facts(await co("check_task_status", task_id=found))
    assert set(given) >= {"task_id", "status", "duration_seconds", "exit_code", "output", "display"}
    assert (given["task_id"], given["status"], given["exit_code"]) == (found, "completed", 0)
    assert 0 <= given["duration_seconds"] < 10
    assert fenced(given["output"]) == "marmalade\n"
    file = (await co.task()).latest.output_file
    assert re.fullmatch(
        rf"Task: {found}\nStatus: completed\nDuration: \S+\nExit code: 0\n\nRecent output:\n"
        rf"\[output of .*\]\nmarmalade\n\[end .*\]\n\nFull output: {re.escape(file)}\n"
        rf"Trace: errands trace --span {given['span_id']}",
        given["display"],
    )


@pytest.mark.spec("O8", "X10")
async def test_check_task_status_has_the_facts_of_the_result_and_the_metadata(
    stage: Stage, co: Speaker
) -> None:
    found = await finished(co, "echo one; echo two >&2", "Test task")
    given, task = facts(await co("check_task_status", task_id=found)), await co.task()

    # Both streams are captured as one, in order, and counted as one.
    assert (given["stdout_lines"], given["stderr_lines"]) == (2, 0)
    assert given["completed_at"] == given["metadata"]["completed_at"]
    span = (await co.engine.get(found)).latest
    assert given["span_id"] == given["metadata"]["span_id"] == span_id(span.id, span.created_at)
    assert set(given["metadata"]) == {
        "task_id", "created_at", "started_at", "completed_at", "status", "command", "cwd", "env",
        "description", "pid", "exit_code", "span_id", "approved_by", "approved_at",
    }  # fmt: skip
    assert given["metadata"]["command"] == ["echo one; echo two >&2"]
    assert (given["metadata"]["cwd"], given["metadata"]["env"]) == (str(stage.folder), {})
    assert given["metadata"]["description"] == task.description == "Test task"
    assert given["metadata"]["approved_by"] == "auto"


@pytest.mark.spec("L7")
async def test_the_exit_code_after_a_signal_is_minus_its_number(co: Speaker) -> None:
    found = await start(co, "kill -9 $$")
    await co.engine.approve(found, by="ada")
    await co.ended()
    given = facts(await co("check_task_status", task_id=found))
    assert (given["status"], given["exit_code"]) == ("failed", -9)
    assert "Exit code: -9" in given["display"]


async def test_check_task_status_of_a_running_task(co: Speaker) -> None:
    found = await start(co, "echo 132/247 files; sleep 600")
    await co.engine.printed(found, "files")
    given = facts(await co("check_task_status", task_id=found))
    assert (given["status"], given["exit_code"]) == ("running", None)
    assert given["duration_seconds"] >= 0
    assert "Progress: 132/247 (53%)" in given["display"]


async def test_check_task_status_of_a_failed_task(co: Speaker) -> None:
    found = await finished(co, "echo '==== 89 passed, 2 failed in 3.20s ===='; exit 1 # pytest")
    given = facts(await co("check_task_status", task_id=found))
    assert (given["status"], given["exit_code"]) == ("failed", 1)
    assert "Summary: 89 passed, 2 failed" in given["display"]


async def test_include_output_defaults_to_true(co: Speaker) -> None:
    (found,) = [each for each in await co.carrier.tools() if each.name == "check_task_status"]
    assert found.parameters["properties"]["include_output"]["default"] is True


async def test_without_output(co: Speaker) -> None:
    found = await finished(co, "echo marmalade")
    given = facts(await co("check_task_status", task_id=found, include_output=False))
    assert "output" not in given
    assert "Recent output:" not in given["display"]
    assert "marmalade" not in given["display"]
    assert "Full output: " in given["display"]


@pytest.mark.spec("O7")
async def test_the_last_twenty_lines_are_shown(co: Speaker) -> None:
    found = await finished(co, "seq 1 100")
    given = facts(await co("check_task_status", task_id=found))
    assert fenced(given["output"]).splitlines() == [str(i) for i in range(81, 101)]


@pytest.mark.parametrize("tool", ["check_task_status", "cancel_background_task"])
async def test_task_not_found(co: Speaker, tool: str) -> None:
    reply = await co.carrier.call(tool, {"task_id": "task-222222"})
    assert reply.failed
    assert facts(reply) == {
        "task_id": "task-222222",
        "status": None,
        "display": "Task task-222222 not found.",
    }


# cancel_background_task


@pytest.mark.spec("L9")
async def test_cancel_background_task(co: Speaker) -> None:
    found = await start(co, "sleep 600")
    given = facts(await co("cancel_background_task", task_id=found))
    assert given == {"task_id": found, "status": "cancelled", "display": f"Task {found} cancelled."}


@pytest.mark.spec("L9")
@pytest.mark.trap(19)
async def test_cancel_what_waits_for_approval(co: Speaker) -> None:
    found = await start(co, "rm -r /nowhere/at/all")
    assert facts(await co("cancel_background_task", task_id=found))["status"] == "cancelled"


async def test_cancel_what_is_over(co: Speaker) -> None:
    found = await finished(co, "true")
    reply = await co.carrier.call("cancel_background_task", {"task_id": found})
    assert reply.failed
    assert facts(reply) == {
        "task_id": found,
        "status": "completed",
        "display": f"Task {found} is not running (status: completed).",
    }


# list_background_tasks


async def test_list_without_tasks(co: Speaker) -> None:
    assert facts(await co("list_background_tasks")) == {
        "tasks": [],
        "count": 0,
        "display": "No background tasks.",
    }


async def test_list_background_tasks(co: Speaker) -> None:
    done = await finished(co, "true", "Run full test suite")
    waits = await start(co, "rm -r /nowhere/at/all", "Update copyright year")
    given = facts(await co("list_background_tasks"))
    assert given["count"] == 2
    assert [(each["task_id"], each["status"]) for each in given["tasks"]] == [
        (waits, "pending"),
        (done, "completed"),
    ]
    assert set(given["tasks"][0]) >= {"task_id", "status", "duration", "description"}
    lines = given["display"].splitlines()
    assert lines[0] == (
        "ID                               Status      Started             Duration  Description"
    )
    assert lines[1] == " ".join("─" * width for width in (32, 11, 19, 9, 24))
    assert re.fullmatch(rf"{waits} +pending {{5}}- {{19}}- {{9}}Update copyright year", lines[2])
    started = (await co.engine.get(done)).latest.started_at
    assert isinstance(started, datetime)
    assert f"completed   {started.astimezone():%Y-%m-%d %H:%M:%S} " in lines[3]
    assert lines[3].endswith(" Run full test suite")


@pytest.mark.parametrize("word", ["pending", "running", "completed", "failed", "cancelled"])
async def test_status_filter(co: Speaker, word: str) -> None:
    found = {
        "pending": await start(co, "rm -r /nowhere/at/all"),
        "running": await start(co, "sleep 600"),
        "completed": await start(co, "true"),
        "failed": await start(co, "false"),
        "cancelled": await start(co, "sleep 610"),
    }
    await co("cancel_background_task", task_id=found["cancelled"])
    await co.engine.wait_all([found["completed"], found["failed"]], timeout=WITHIN)
    await until(lambda: co.engine.engine.get(found["running"]).state == "running")
    given = facts(await co("list_background_tasks", status_filter=word))
    assert [each["task_id"] for each in given["tasks"]] == [found[word]]
    assert given["count"] == 1


async def test_status_filter_refuses_words_of_others(co: Speaker) -> None:
    said = await co.refused("list_background_tasks", status_filter="error")
    assert said == (
        "Invalid arguments for list_background_tasks: "
        "status_filter must be one of: pending, running, completed, failed, cancelled (got 'error')"
    )


async def test_status_filter_may_be_null(co: Speaker) -> None:
    found = await finished(co, "true")
    given = facts(await co("list_background_tasks", status_filter=None))
    assert [each["task_id"] for each in given["tasks"]] == [found]
