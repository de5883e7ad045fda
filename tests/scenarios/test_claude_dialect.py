"""The dialect of Claude Code: every tool, parameter, default, bound, word, icon and error."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

import pytest
import pytest_asyncio

from errands.testing.engines import WITHIN, until
from errands.testing.speaker import Speaker, Stage, facts, fenced

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X2")]


@pytest_asyncio.fixture(loop_scope="module")
async def claude(stage: Stage, session: str) -> Speaker:
    return await stage.speaker("claude", session)


async def background(speaker: Speaker, command: str, **more: Any) -> str:
    reply = await speaker("Bash", command=command, run_in_background=True, **more)
    return str(facts(reply)["task_id"])


async def finished(speaker: Speaker, command: str, **more: Any) -> str:
    found = await background(speaker, command, **more)
    await speaker.engine.wait(found, timeout=WITHIN)
    return found


async def properties(speaker: Speaker, tool: str) -> dict[str, Any]:
    (found,) = [each for each in await speaker.carrier.tools() if each.name == tool]
    given: dict[str, Any] = found.parameters["properties"]
    return given


# Bash


async def test_bash_in_the_background_returns_an_id_and_a_file(claude: Speaker) -> None:
    reply = await claude("Bash", command="sleep 600", run_in_background=True, description="wait a minute")
    given = facts(reply)
    assert set(given) == {"success", "task_id", "status", "output_file", "wake"}
    assert given["status"] == "running"
    task = await claude.task()
    assert (given["task_id"], given["output_file"]) == (task.id, task.latest.output_file)
    await until(lambda: os.path.exists(given["output_file"]))
    assert (task.command, task.description) == ("sleep 600", "wait a minute")
    lines = reply.text.splitlines()
    assert lines[:5] == [
        "Background Task Started",
        f"Task ID: {task.id}",
        "Command: sleep 600",
        "Status: Running",
        f"Output: {task.latest.output_file}",
    ]


async def test_bash_in_the_foreground_returns_the_result(claude: Speaker) -> None:
    reply = await claude("Bash", command="echo marmalade; exit 3")
    given = facts(reply)
    assert (given["success"], given["status"], given["exit_code"]) == (True, "error", 3)
    assert fenced(given["output"]) == "marmalade\n"
    assert fenced(reply.text) == "marmalade\n"


@pytest.mark.spec("L22")
@pytest.mark.trap(27)
async def test_a_slow_foreground_command_goes_on_in_the_background(
    stage: Stage, session: str, claude: Speaker
) -> None:
    gate = stage.folder / f"gate-{session}"
    os.mkfifo(gate)
    command = f"echo line 1; cat {gate}; echo line 2"
    reply = await claude("Bash", command=command, timeout=3000)  # enough to print, on a busy machine too
    given, pid = facts(reply), (await claude.task()).latest.pid
    assert given["status"] == "running"
    assert "It continues in the background." in reply.text
    assert "Nothing will tell you when it ends; ask with TaskOutput" in reply.text
    so_far = fenced(given["output"])
    await asyncio.to_thread(gate.write_text, "")
    done = facts(await claude("TaskOutput", task_id=given["task_id"]))
    whole = fenced(done["output"])
    assert whole.startswith(so_far)
    assert whole.splitlines() == ["line 1", "line 2"]
    task = await claude.task()
    assert (task.runs, task.latest.pid) == (1, pid)
    assert await claude.count() == 1


@pytest.mark.spec("S7")
async def test_a_foreground_caller_is_not_notified_again(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("claude", session, wake="session")
    await speaker("Bash", command="true")
    # A notice that is held back for a while would be there.
    await until(lambda: stage.engine.engine.store.inbox(session) == [])
    # Nor would a listener for this session have been notified before the reply.
    assert stage.engine.engine.store.is_awaited((await speaker.task()).latest.id)


@pytest.mark.spec("S7")
@pytest.mark.trap(1)
async def test_a_detached_command_reports_its_end(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("claude", session, wake="session")
    gate = stage.folder / f"gate-{session}"
    os.mkfifo(gate)
    reply = await speaker("Bash", command=f"cat {gate}", timeout=20)
    await asyncio.to_thread(gate.write_text, "")
    assert "You will be told when it ends; do not poll." in reply.text
    await stage.engine.wait(facts(reply)["task_id"], timeout=WITHIN)
    assert len(await stage.engine.take_notices(session)) == 1


@pytest.mark.spec("S7")
async def test_a_background_command_reports_its_end(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("claude", session, wake="session")
    await finished(speaker, "true")
    assert len(await stage.engine.take_notices(session)) == 1


async def test_bash_and_task_wait_in_the_foreground_by_default(claude: Speaker) -> None:
    given = await properties(claude, "Bash")
    for each in (given, await properties(claude, "Task")):
        assert each["run_in_background"]["default"] is False
    given["timeout"].pop("nullable", None)  # over MCP
    assert given["timeout"] == {
        "type": "number",
        "description": "longest wait in the foreground, ms",
        "minimum": 0,
        "maximum": 600_000,
        "default": 30_000,
    }


@pytest.mark.parametrize("timeout", [-1, 600_001])
async def test_bash_refuses_a_timeout_beyond_the_bounds(claude: Speaker, timeout: int) -> None:
    said = await claude.refused("Bash", command="true", timeout=timeout)
    assert said == f"Invalid arguments for Bash: timeout must be between 0 and 600000 (got {timeout})"
    assert await claude.count() == 0


async def test_bash_needs_a_command(claude: Speaker) -> None:
    assert await claude.refused("Bash") == "Invalid arguments for Bash: command is missing"


async def test_bash_refuses_an_empty_command(claude: Speaker) -> None:
    assert "the command is empty" in await claude.refused("Bash", command=" ")


@pytest.mark.spec("A8", "A11", "A5")
async def test_bash_that_does_harm_waits_for_a_person(stage: Stage, claude: Speaker) -> None:
    victim = stage.folder / "claude-victim"
    victim.touch()
    reply = await asyncio.wait_for(claude("Bash", command=f"rm {victim}"), timeout=60)
    task = await claude.task()
    assert task.state == "proposed"
    assert reply.text.startswith("Background Task Awaiting Approval")
    assert "Status: Pending" in reply.text
    assert f"errands approve {task.id}" in reply.text
    assert f"errands approve {task.id}" in facts(reply)["approval"]
    looked = facts(await claude("TaskOutput", task_id=task.id, block=False))
    assert (looked["success"], looked["status"], looked["output"]) == (True, "pending", "")
    assert victim.exists()
    await stage.engine.approve(task.id, by="ada")
    done = facts(await claude("TaskOutput", task_id=task.id))
    assert (done["status"], done["exit_code"]) == ("completed", 0)
    assert not victim.exists()


async def test_bash_that_was_rejected(stage: Stage, claude: Speaker) -> None:
    await claude("Bash", command="rm -r /nowhere/at/all")
    task = await claude.task()
    await stage.engine.reject(task.id, by="ada", note="not today")
    given = facts(await claude("TaskOutput", task_id=task.id))
    assert given["status"] == "cancelled"
    assert "not today" in given["error"]
    assert task.id not in (await claude("tasks")).text


# Task


async def test_task_in_the_background(claude: Speaker, agent_kind: str) -> None:
    reply = await claude(
        "Task",
        description="Run tests",
        prompt="Execute the full test suite",
        subagent_type="Bash",
        run_in_background=True,
    )
    assert set(facts(reply)) == {"success", "task_id", "status", "output_file", "note", "wake"}
    assert facts(reply)["note"] == "Unknown agent 'Bash'; the configured one does it."
    assert facts(reply)["note"] in reply.text
    task = await claude.task()
    assert (task.kind, task.description, task.command) == (
        agent_kind,
        "Run tests",
        "Execute the full test suite",
    )


async def test_task_in_the_foreground(claude: Speaker) -> None:
    reply = await claude("Task", description="x", prompt="`echo marmalade`", subagent_type="offline")
    assert facts(reply)["status"] == "completed"
    assert "marmalade" in fenced(facts(reply)["output"])


@pytest.mark.parametrize("missing", ["description", "prompt", "subagent_type"])
async def test_task_needs_all_but_one(claude: Speaker, missing: str) -> None:
    given = {"description": "x", "prompt": "x", "subagent_type": "offline"}
    del given[missing]
    assert await claude.refused("Task", **given) == f"Invalid arguments for Task: {missing} is missing"


# TaskOutput


async def test_task_output_defaults(claude: Speaker) -> None:
    given = await properties(claude, "TaskOutput")
    assert given["block"]["default"] is True
    assert (given["timeout"]["default"], given["timeout"]["maximum"]) == (30_000, 600_000)


@pytest.mark.spec("O4")
async def test_task_output_waits_for_completion(claude: Speaker) -> None:
    found = await background(claude, "sleep 0.2; echo marmalade")
    reply = await claude("TaskOutput", task_id=found)
    given = facts(reply)
    assert set(given) == {
        "success",
        "task_id",
        "status",
        "output",
        "exit_code",
        "elapsed_ms",
        "truncated",
    }
    assert (given["success"], given["task_id"], given["status"]) == (True, found, "completed")
    assert (given["exit_code"], given["truncated"]) == (0, False)
    assert given["elapsed_ms"] >= 200
    assert fenced(given["output"]) == "marmalade\n"
    assert reply.text.startswith(
        f"Task Completed\nTask ID: {found}\nStatus: Completed\nExit Code: 0\nDuration: "
    )


@pytest.mark.spec("O3", "O4")
async def test_task_output_without_block_gives_partial_output(claude: Speaker) -> None:
    found = await background(claude, "echo marmalade; sleep 600")
    await claude.engine.printed(found, "marmalade")
    reply = await claude("TaskOutput", task_id=found, block=False)
    given = facts(reply)
    assert (given["status"], fenced(given["output"])) == ("running", "marmalade\n")
    assert "exit_code" not in given
    assert re.search(r"^Status: Running \(\S+ elapsed\)$", reply.text, re.MULTILINE)
    assert "Recent Output:" in reply.text


@pytest.mark.spec("O4")
@pytest.mark.trap(38)
async def test_task_output_gives_up_after_its_timeout(claude: Speaker) -> None:
    found = await background(claude, "sleep 600")
    asked = claude("TaskOutput", task_id=found, timeout=50)
    assert facts(await asyncio.wait_for(asked, timeout=60))["status"] == "running"


@pytest.mark.spec("O4")
@pytest.mark.parametrize("timeout", [-1, 600_001])
async def test_task_output_refuses_a_timeout_beyond_the_bounds(claude: Speaker, timeout: int) -> None:
    said = await claude.refused("TaskOutput", task_id="x", timeout=timeout)
    assert said == f"Invalid arguments for TaskOutput: timeout must be between 0 and 600000 (got {timeout})"


async def test_task_output_of_a_failed_command(claude: Speaker) -> None:
    found = await finished(claude, "exit 3")
    given = facts(await claude("TaskOutput", task_id=found))
    assert (given["status"], given["exit_code"], given["error"]) == ("error", 3, "exit code 3")


@pytest.mark.spec("O8")
async def test_task_output_has_the_summary(claude: Speaker) -> None:
    found = await finished(claude, "echo '==== 60 passed in 1.20s ====' # pytest")
    assert "Summary: 60 passed" in (await claude("TaskOutput", task_id=found)).text


@pytest.mark.spec("O6")
async def test_task_output_says_when_it_is_truncated(claude: Speaker) -> None:
    found = await finished(claude, "seq 1 20000")
    given = facts(await claude("TaskOutput", task_id=found))
    assert given["truncated"] is True
    shown = fenced(given["output"])
    assert shown.startswith("1\n2\n")
    assert shown.endswith("\n19999\n20000\n")
    assert f"all of it: errands logs {found}, or the file " in shown


async def test_task_output_of_a_task_that_is_not_there(claude: Speaker) -> None:
    reply = await claude.carrier.call("TaskOutput", {"task_id": "bash-222222"})
    assert (reply.failed, reply.text) == (True, "Task not found")
    assert facts(reply) == {
        "success": False,
        "task_id": "bash-222222",
        "status": "error",
        "error": "Task not found",
    }


# KillShell


@pytest.mark.spec("L9")
async def test_kill_shell(claude: Speaker) -> None:
    found = await background(claude, "sleep 600 & sleep 600")
    assert facts(await claude("KillShell", shell_id=found)) == {
        "success": True,
        "task_id": found,
        "status": "cancelled",
    }
    assert (await claude.task()).latest.leftovers == 0


async def test_kill_shell_of_what_is_over(claude: Speaker) -> None:
    found = await finished(claude, "true")
    assert await claude.refused("KillShell", shell_id=found) == "Task is not running (status: completed)"


async def test_kill_shell_of_a_task_that_is_not_there(claude: Speaker) -> None:
    assert await claude.refused("KillShell", shell_id="bash-222222") == "Task not found"


async def test_kill_shell_needs_an_id(claude: Speaker) -> None:
    said = await claude.refused("KillShell")
    assert said == "Invalid arguments for KillShell: shell_id is missing"


# tasks


async def test_no_tasks(claude: Speaker) -> None:
    assert (await claude("tasks")).text == "No background tasks."


@pytest.mark.trap(71)
async def test_tasks_newest_first_with_their_icons(claude: Speaker) -> None:
    done = await finished(claude, "true", description="Run npm test")
    failed = await finished(claude, "false", description="Build docker image")
    running = await background(claude, "sleep 600", description="Explore auth code")
    killed = await background(claude, "sleep 610")
    await claude("KillShell", shell_id=killed)
    await claude("Bash", command="rm -r /nowhere/at/all")
    waits = (await claude.task()).id
    reply = await claude("tasks")
    lines = reply.text.splitlines()
    assert lines[:2] == ["Background Tasks:", "─" * 70]
    assert lines[-2:] == ["─" * 70, "Use TaskOutput tool to get task output."]
    assert [line.split()[:2] for line in lines[2:-2]] == [
        ["○", waits],
        ["⊘", killed],
        ["⏳", running],
        ["✗", failed],
        ["✓", done],
    ]
    assert re.fullmatch(rf"✗ {failed} +Build docker image +\S+", lines[5])
    statuses = [each["status"] for each in facts(reply)["tasks"]]
    assert statuses == ["pending", "cancelled", "running", "error", "completed"]


async def test_tasks_filtered_by_status_and_type(claude: Speaker) -> None:
    done = await finished(claude, "true")
    running = await background(claude, "sleep 600")
    await claude("Task", description="x", prompt="`true`", subagent_type="offline")
    agent = (await claude.task()).id
    for given, expected in (
        ({"status": "completed"}, [agent, done]),
        ({"status": "running"}, [running]),
        ({"type": "agent"}, [agent]),
        ({"type": "bash"}, [running, done]),
        ({"type": "remote"}, []),
        ({"status": "completed", "type": "bash"}, [done]),
    ):
        assert [each["id"] for each in facts(await claude("tasks", **given))["tasks"]] == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"status": "failed"},
            "status must be one of: pending, running, completed, error, cancelled (got 'failed')",
        ),
        ({"type": "shell"}, "type must be one of: bash, agent, remote (got 'shell')"),
    ],
)
async def test_tasks_refuses_words_of_others(claude: Speaker, given: dict[str, str], said: str) -> None:
    assert await claude.refused("tasks", **given) == f"Invalid arguments for tasks: {said}"
