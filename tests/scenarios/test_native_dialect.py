"""Our own dialect: every tool, parameter, default, bound, word and error."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from errands.testing.engines import until
from errands.testing.speaker import Speaker, Stage, facts, fenced
from tests.scenarios.native_calls import finished, run
from tests.scenarios.placing import Placing

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X5")]


# run


@pytest.mark.spec("L1")
async def test_run_returns_an_id_at_once(native: Speaker) -> None:
    reply = await native("run", command="sleep 600", name="tests")
    given, task = facts(reply), await native.task()
    assert given["id"] == task.id
    assert task.id.startswith("tests-")
    assert given["state"] in ("pending", "running")
    assert given["wake"] == f'Nothing will tell you when it ends; ask with wait {{"id": "{task.id}"}}.'
    assert reply.text == f"Task {task.id} is {given['state']}.\n{given['wake']}"


@pytest.mark.spec("L2", "L10", "L13", "N1", "X18")
async def test_run_takes_the_options_of_the_table(native: Speaker) -> None:
    task_id = await run(
        native, "echo $COLOUR", timeout="10m", env={"COLOUR": "red"}, batch="paint", notify="on_failure"
    )
    task = await native.engine.get(task_id)
    assert task.details is not None
    assert task.details["limits"]["timeout"] == 600
    assert (task.details["env"], task.batch, task.notify) == ({"COLOUR": "red"}, "paint", "on_failure")


@pytest.mark.spec("T1", "X18")
@pytest.mark.parametrize("tool", ["run", "ask"])
@pytest.mark.parametrize(
    ("when", "rule"),
    [
        ({"every": "30m"}, "every 30m"),
        ({"cron": "30 9 * * 1-5"}, "30 9 * * 1-5"),
        ({"on": "file:src/**/*.py"}, "file:src/**/*.py"),
    ],
    ids=["every", "cron", "on"],
)
async def test_what_runs_repeatedly_says_when(
    native: Speaker, tool: str, when: dict[str, str], rule: str
) -> None:
    what = {"command": "true"} if tool == "run" else {"prompt": "hello"}
    reply = await native(tool, **what, **when, wait=20_000)
    assert (facts(reply)["state"], facts(reply)["run_count"]) == ("active", 0)
    assert rule in facts(reply)["schedule"]
    assert f"\nRuns: {facts(reply)['schedule']}\n" in reply.text
    await native("cancel", id=facts(reply)["id"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"every": "soon"},
        {"cron": "x"},
        {"timeout": "-1s"},
        {"every": "1h", "cron": "@daily"},
        {"on": "moon:full"},
    ],
)
async def test_a_wrong_option_is_refused_by_name(native: Speaker, wrong: dict[str, str]) -> None:
    assert next(iter(wrong)) in await native.refused("run", command="true", **wrong)
    assert await native.count() == 0


@pytest.mark.spec("L13")
async def test_a_batch_is_listed_and_cancelled_as_a_whole(native: Speaker) -> None:
    both = {await run(native, "sleep 600", batch="pair") for _ in range(2)}
    other = await run(native, "sleep 600")
    listed = facts(await native("tasks", batch="pair"))["tasks"]
    assert {each["id"] for each in listed} == both
    assert {each["batch"] for each in listed} == {"pair"}

    ended = facts(await native("cancel", batch="pair"))["tasks"]

    assert {(each["id"], each["state"]) for each in ended} == {(each, "cancelled") for each in both}
    assert (await native.engine.get(other)).is_live
    assert await native.refused("cancel", batch="pair") == "Nothing of this batch is live."


@pytest.mark.spec("L13", "O4")
async def test_a_batch_is_awaited_as_a_whole(native: Speaker, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    quick = await finished(native, "echo quick", batch="trio")
    slow = await run(native, f"cat {gate}", batch="trio")

    partly = await native("wait", batch="trio", timeout=1)

    assert partly.text.startswith("1 of 2 are still live.")
    ended = [each["id"] for each in facts(partly)["tasks"] if each["state"] == "completed"]
    assert (ended, len(facts(partly)["tasks"])) == ([quick], 2)
    assert slow in partly.text

    waiting = asyncio.create_task(native("wait", batch="trio", timeout=60_000))
    await asyncio.to_thread(gate.write_text, "slow at last")
    whole = await waiting

    assert "quick" in whole.text
    assert "slow at last" in whole.text
    assert facts(whole)["live"] == 0
    assert await native.refused("wait", batch="nothing") == "No task belongs to this batch."
    assert await native.refused("wait") == "Invalid arguments for wait: give id or batch"


async def test_a_launch_says_that_no_model_answers(native: Speaker) -> None:
    offline = await native("ask", prompt="run `true`", agent="offline")
    assert "No model answers it" in offline.text
    assert "errands agents setup" in facts(offline)["wake"]
    assert "No model" not in (await native("ask", prompt="say it", agent="cat")).text


@pytest.mark.spec("N6")
async def test_why_an_agent_failed_is_said_once(native: Speaker) -> None:
    reply = await native("ask", prompt="what is the answer?", agent="offline", wait=60_000)
    assert facts(reply)["state"] == "failed"
    assert reply.text.count("no model is set up") == 1


@pytest.mark.spec("L27")
async def test_run_can_be_retried(native: Speaker) -> None:
    task_id = await run(native, "exit 3", retries=2)
    task = await native.engine.get(task_id)
    assert (task.details or {})["limits"]["retries"] == 2


async def test_run_and_wait(native: Speaker) -> None:
    reply = await native("run", command="echo marmalade; exit 3", wait=20_000)
    given = facts(reply)
    assert (given["state"], given["exit_code"], fenced(given["output"])) == ("failed", 3, "marmalade\n")
    assert "exit code 3" in reply.text
    assert fenced(reply.text) == "marmalade\n"


@pytest.mark.spec("L22")
async def test_run_that_takes_longer_than_it_is_waited_for_goes_on(native: Speaker) -> None:
    reply = await asyncio.wait_for(native("run", command="sleep 600", wait=3000), timeout=60)
    assert facts(reply)["state"] == "running"
    assert "Nothing will tell you when it ends; ask with wait" in reply.text


async def test_run_in_a_directory(stage: Stage, native: Speaker) -> None:
    (stage.folder / "inside").mkdir(exist_ok=True)
    found = await finished(native, "pwd", cwd="inside")
    assert fenced((await native("output", id=found)).text) == f"{stage.folder}/inside\n"


@pytest.mark.spec("L14")
async def test_run_after_another_task(native: Speaker) -> None:
    first = await run(native, "sleep 0.1; false")
    second = await run(native, "true", after=[first])
    ended = facts(await native("wait", id=second))
    assert ended["state"] == "skipped"


@pytest.mark.trap(5)
async def test_run_after_a_task_of_another_session(stage: Stage, native: Speaker) -> None:
    theirs = await stage.engine.finished("true", parent="somebody else")
    assert await native.refused("run", command="true", after=[theirs.id]) == f"Task not found: {theirs.id}"
    assert await native.count() == 0


@pytest.mark.spec("A11")
async def test_run_that_does_harm_is_proposed(stage: Stage, native: Speaker) -> None:
    victim = stage.folder / "native-victim"
    victim.touch()
    reply = await asyncio.wait_for(native("run", command=f"rm {victim}", wait=600_000), timeout=60)
    found = facts(reply)["id"]
    assert facts(reply)["state"] == "proposed"
    assert f"errands approve {found}" in reply.text
    assert f"errands approve {found}" in (await native("show", id=found)).text
    await stage.engine.approve(found, by="ada")
    assert facts(await native("wait", id=found))["state"] == "completed"
    assert not victim.exists()


async def test_run_does_not_wait_by_default(native: Speaker) -> None:
    for tool in await native.carrier.tools():
        if tool.name in ("run", "ask"):
            assert tool.parameters["properties"]["wait"]["default"] == 0


@pytest.mark.spec("O4")
@pytest.mark.parametrize(
    ("tool", "name"), [("run", "wait"), ("ask", "wait"), ("wait", "timeout")], ids=["run", "ask", "wait"]
)
@pytest.mark.parametrize("time", [-1, 600_001])
async def test_no_wait_beyond_the_bounds(native: Speaker, tool: str, name: str, time: int) -> None:
    given = {"run": {"command": "true"}, "ask": {"prompt": "x"}, "wait": {"id": "x"}}[tool]
    said = await native.refused(tool, **given, **{name: time})
    assert said == f"Invalid arguments for {tool}: {name} must be between 0 and 600000 (got {time})"


# ask


async def test_ask_and_resume(native: Speaker) -> None:
    first = facts(await native("ask", prompt="say marmalade", name="jam", agent="cat", wait=20_000))
    assert first["id"].startswith("jam-")
    assert "marmalade" in fenced(first["output"])
    again = facts(await native("ask", resume=first["id"], prompt="what was said?", wait=20_000))
    assert again["id"] == first["id"]
    assert "marmalade" in fenced(again["output"])


@pytest.mark.spec("S3")
async def test_what_is_asked_again_is_resumed(native: Speaker) -> None:
    found = facts(await native("ask", prompt="`true`", wait=20_000))["id"]
    assert facts(await native("ask", resume=found, prompt="`sleep 600`"))["state"] == "resumed"
    assert [each["id"] for each in facts(await native("tasks", state="resumed"))["tasks"]] == [found]


@pytest.mark.trap(41)
@pytest.mark.parametrize("more", [{"agent": "offline"}, {"name": "x"}])
async def test_resume_changes_nothing_else(native: Speaker, more: dict[str, Any]) -> None:
    said = await native.refused("ask", resume="x", prompt="x", **more)
    assert said == f"resume continues a task as it is; leave out {next(iter(more))}"


async def test_ask_an_unknown_agent(native: Speaker, placed: Placing | None) -> None:
    if placed is not None:  # only the host knows its agents
        await native("ask", prompt="x", agent="nobody")
        assert str((await native.ended()).latest.error).startswith("unknown agent 'nobody'")
        return
    said = await native.refused("ask", prompt="x", agent="nobody")
    assert said.startswith("unknown agent 'nobody'")


@pytest.mark.spec("S17")
async def test_fork_is_not_offered_where_the_conversation_is_not_known(native: Speaker) -> None:
    (tool,) = [each for each in await native.carrier.tools() if each.name == "ask"]
    assert "fork" not in f"{tool.description} {tool.parameters}"
    assert "unknown argument 'fork'" in await native.refused("ask", prompt="x", fork=True)


# list, show


async def test_list_and_its_states(native: Speaker) -> None:
    assert (await native("tasks")).text == "There are no tasks."
    done, failed = await finished(native, "true"), await finished(native, "false")
    running = await run(native, "sleep 600")
    await until(lambda: native.engine.engine.store.view(running).state == "running")
    for state, expected in (
        (None, [running, failed, done]),
        ("completed", [done]),
        ("failed", [failed]),
        ("running", [running]),
        ("proposed", []),
    ):
        given = facts(await native("tasks", state=state))
        assert [each["id"] for each in given["tasks"]] == expected
        assert given["count"] == len(expected)


async def test_list_refuses_words_of_others(native: Speaker) -> None:
    said = await native.refused("tasks", state="error")
    assert said.startswith("Invalid arguments for tasks: state must be one of: proposed, pending, running")


async def test_show_has_the_last_lines(native: Speaker) -> None:
    found = await finished(native, "seq 1 100")
    said = (await native("show", id=found)).text
    assert said.startswith(f"{found} completed ")
    assert fenced(said).splitlines() == [str(i) for i in range(81, 101)]


# wait, cancel


@pytest.mark.spec("O4")
@pytest.mark.trap(38)
async def test_wait_gives_the_state_after_its_timeout(native: Speaker) -> None:
    found = await run(native, "echo one; sleep 600")
    await native.engine.printed(found, "one")
    given = facts(await asyncio.wait_for(native("wait", id=found, timeout=50), timeout=60))
    assert (given["state"], fenced(given["output"])) == ("running", "one\n")


async def test_wait_defaults_to_half_a_minute(native: Speaker) -> None:
    (found,) = [tool for tool in await native.carrier.tools() if tool.name == "wait"]
    assert found.parameters["properties"]["timeout"]["default"] == 30_000


@pytest.mark.spec("L9")
async def test_cancel(native: Speaker) -> None:
    found = await run(native, "sleep 600")
    assert (await native("cancel", id=found)).text == f"Task {found} is cancelled."
    assert (await native("cancel", id=found)).text == f"Task {found} is cancelled already."
    assert f"by agent {native.caller.client}" in str((await native.engine.get(found)).latest.error)


@pytest.mark.spec("S7")
async def test_the_persons_own_notice_is_not_taken_by_a_session_that_waits(
    stage: Stage, native: Speaker
) -> None:
    found = await run(native, "true")
    await native("wait", id=found)
    assert (await native.task()).owner == "user"
    assert f"{found}.1" in [notice.run_id for notice in await stage.engine.take_notices("user")]


# Ids


@pytest.mark.spec("L4")
async def test_the_beginning_of_several_ids_means_a_live_task_or_is_refused_with_all_of_them(
    native: Speaker,
) -> None:
    first, second = [await finished(native, "true", name="tests") for _ in range(2)]
    other = await finished(native, "true", name="tests of another kind")

    said = await native.refused("show", id="tests")
    ids = ", ".join(sorted([first, second, other]))
    assert said == f"'tests' matches several tasks: {ids}; type more letters"
    assert facts(await native("show", id="tests-of"))["id"] == other

    live = await run(native, "sleep 600", name="tests")
    assert facts(await native("cancel", id="tests"))["id"] == live
