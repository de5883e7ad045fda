"""The dialect of egirl: every tool, word and error of tasks that run once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from errands.testing.engines import WITHIN
from errands.testing.speaker import Speaker, Stage, facts, fenced

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X4")]

NEW = {
    "name": "watch-deploy",
    "description": "Watch staging deploy progress",
    "prompt": "`echo marmalade`",
    "kind": "oneshot",
}


@pytest_asyncio.fixture(loop_scope="module")
async def egirl(stage: Stage, session: str) -> Speaker:
    return await stage.speaker("egirl", session)


async def add(speaker: Speaker, **more: Any) -> str:
    return str(facts(await speaker("task_add", **{**NEW, **more}))["id"])


async def done(speaker: Speaker, **more: Any) -> str:
    found = await add(speaker, **more)
    await speaker.engine.wait(found, timeout=WITHIN)
    return found


async def listed(speaker: Speaker, **given: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = facts(await speaker("task_list", **given))["tasks"]
    return found


# task_add


async def test_task_add_is_active_at_once(egirl: Speaker, agent_kind: str) -> None:
    reply = await egirl("task_add", **{**NEW, "prompt": "`sleep 600`"})
    given, task = facts(reply), await egirl.task()
    assert given["id"] == task.id
    assert reply.text.splitlines()[:4] == [
        "Task added: watch-deploy",
        f"ID: {task.id}",
        "Status: active",
        "Description: Watch staging deploy progress",
    ]
    expected = {
        "name": "watch-deploy",
        "description": "Watch staging deploy progress",
        "prompt": "`sleep 600`",
        "kind": "oneshot",
        "status": "active",
        "notify": "always",
        "max_runs": 1,
        "created_by": "user",
        "run_count": 0,
    }
    assert {name: given[name] for name in expected} == expected
    assert abs(given["created_at"] / 1000 - task.created_at.timestamp()) < 0.01
    assert task.kind == agent_kind


@pytest.mark.parametrize("tool", ["task_add", "task_propose"])
@pytest.mark.parametrize("missing", ["name", "description", "prompt", "kind"])
async def test_a_new_task_needs_all_of_these(egirl: Speaker, tool: str, missing: str) -> None:
    given = {name: value for name, value in NEW.items() if name != missing}
    assert await egirl.refused(tool, **given) == f"Invalid arguments for {tool}: {missing} is missing"
    assert await egirl.count() == 0


@pytest.mark.spec("N1")
@pytest.mark.parametrize(
    ("notify", "kept"),
    [("always", "always"), ("on_change", "always"), ("on_failure", "on_failure"), ("never", "never")],
)
async def test_notify(egirl: Speaker, notify: str, kept: str) -> None:
    await add(egirl, notify=notify)
    assert (await egirl.task()).notify == kept


@pytest.mark.spec("N8")
async def test_a_caller_that_is_never_notified_knows_it(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("egirl", session, wake="session")
    said = (await speaker("task_add", **NEW, notify="never")).text
    assert "Its end is reported nowhere, as `notify` is never; ask with task_list." in said
    said = (await speaker("task_add", **NEW, notify="on_failure")).text
    assert "You will be told if it fails; ask with task_list." in said


async def test_notify_refuses_other_words(egirl: Speaker) -> None:
    said = await egirl.refused("task_add", **NEW, notify="sometimes")
    assert said == (
        "Invalid arguments for task_add: notify must be one of: always, on_change, on_failure, never "
        "(got 'sometimes')"
    )


async def test_kind_refuses_other_words(egirl: Speaker) -> None:
    said = await egirl.refused("task_add", **{**NEW, "kind": "daily"})
    assert (
        said == "Invalid arguments for task_add: kind must be one of: scheduled, event, oneshot (got 'daily')"
    )


@pytest.mark.trap(41)
@pytest.mark.parametrize("tool", ["task_add", "task_propose"])
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"interval": "30m"},
            "interval is for the kind 'scheduled', and this is 'oneshot'; change one of them.",
        ),
        (
            {"cron": "0 9 * * *"},
            "cron is for the kind 'scheduled', and this is 'oneshot'; change one of them.",
        ),
        (
            {"event_source": "file"},
            "event_source is for the kind 'event', and this is 'oneshot'; change one of them.",
        ),
        ({"max_runs": 30}, "A oneshot task runs once; leave out max_runs, or say kind 'scheduled'."),
    ],
)
async def test_what_has_no_meaning_for_one_run_is_refused(
    egirl: Speaker, tool: str, more: dict[str, Any], said: str
) -> None:
    assert await egirl.refused(tool, **{**NEW, **more}) == said
    assert await egirl.count() == 0


@pytest.mark.parametrize("max_runs", [None, 1])
async def test_once_is_what_oneshot_means(egirl: Speaker, max_runs: int | None) -> None:
    await add(egirl, max_runs=max_runs)
    assert await egirl.count() == 1


@pytest.mark.spec("L10")
async def test_the_time_of_a_run_can_be_limited(egirl: Speaker) -> None:
    await add(egirl, timeout="10m")
    task = await egirl.task()
    assert task.agent is not None
    assert task.agent.timeout == timedelta(minutes=10)
    assert "is not a duration" in await egirl.refused("task_add", **NEW, timeout="soon")


@pytest.mark.parametrize("max_runs", [0, -1, 1.5, "many"])
async def test_max_runs_is_a_count(egirl: Speaker, max_runs: Any) -> None:
    said = await egirl.refused("task_add", **NEW, max_runs=max_runs)
    assert said.startswith("Invalid arguments for task_add: max_runs must be ")


# task_propose


@pytest.mark.spec("D1")
async def test_task_propose_waits_for_a_person(stage: Stage, egirl: Speaker) -> None:
    reply = await egirl("task_propose", **NEW)
    assert facts(reply)["created_by"] == "agent"
    task = await egirl.task()
    assert (facts(reply)["status"], task.state) == ("proposed", "proposed")
    assert reply.text.startswith("Proposed task: watch-deploy\n")
    assert f"errands approve {task.id}" in reply.text
    await stage.engine.approve(task.id, by="ada")
    ended = await stage.engine.wait(task.id, timeout=WITHIN)
    assert ended.state == "completed"


@pytest.mark.spec("D1")
async def test_a_dismissed_proposal_is_gone_from_the_list(stage: Stage, egirl: Speaker) -> None:
    await egirl("task_propose", **NEW)
    task = await egirl.task()
    assert [each["status"] for each in await listed(egirl)] == ["proposed"]
    await stage.engine.reject(task.id, by="ada")
    assert await listed(egirl) == []
    assert await egirl.refused("task_run_now", task_id=task.id) == f"Task not found: {task.id}"


# task_list


async def test_no_tasks(egirl: Speaker) -> None:
    reply = await egirl("task_list")
    assert (reply.text, facts(reply)) == ("No tasks.", {"tasks": []})


@pytest.mark.spec("O5")
async def test_task_list_has_the_result(egirl: Speaker) -> None:
    found = await done(egirl)
    assert (await egirl.engine.get(found)).latest.retrieved_at is None
    reply = await egirl("task_list")
    (given,) = facts(reply)["tasks"]
    run = given["last_run"]
    assert (given["status"], given["run_count"], run["status"]) == ("done", 1, "success")
    assert run["completed_at"] >= run["started_at"] == given["last_run_at"]
    assert (run["error"], run["tokens_used"]) == (None, 0)
    assert "marmalade" in fenced(run["result"])
    assert "marmalade" in fenced(reply.text)
    assert reply.text.startswith(f"{found} [done, last run: success] Watch staging deploy progress\n")
    assert (await egirl.engine.get(found)).latest.retrieved_at is not None


async def test_task_list_of_a_failure(stage: Stage, session: str) -> None:
    lost = await stage.speaker("egirl", session, cwd="/nowhere/at/all")
    await done(lost)
    (given,) = await listed(lost)
    assert (given["status"], given["last_run"]["status"]) == ("failed", "failure")
    assert "/nowhere/at/all" in given["last_run"]["error"]


async def test_task_list_by_status(egirl: Speaker) -> None:
    finished = await done(egirl)
    active = await add(egirl, prompt="`sleep 600`")
    proposed = facts(await egirl("task_propose", **NEW))["id"]
    for status, expected in (
        ("done", [finished]),
        ("active", [active]),
        ("proposed", [proposed]),
        ("paused", []),
        ("failed", []),
    ):
        assert [each["id"] for each in await listed(egirl, status=status)] == expected


async def test_task_list_refuses_words_of_others(egirl: Speaker) -> None:
    said = await egirl.refused("task_list", status="running")
    assert said == (
        "Invalid arguments for task_list: status must be one of: proposed, active, paused, done, failed "
        "(got 'running')"
    )


# task_cancel


@pytest.mark.spec("L9")
async def test_task_cancel_deletes_what_runs(egirl: Speaker) -> None:
    found = await add(egirl, prompt="`sleep 600`")
    assert (await egirl("task_cancel", task_id=found)).text == f"Task cancelled: {found}"
    assert await listed(egirl) == []
    assert (await egirl.engine.get(found)).state == "cancelled"
    assert await egirl.refused("task_cancel", task_id=found) == f"Task not found: {found}"


async def test_task_cancel_deletes_what_is_over(egirl: Speaker) -> None:
    found = await done(egirl)
    await egirl("task_cancel", task_id=found)
    assert await egirl.count() == 0


# task_run_now


@pytest.mark.spec("L12")
async def test_task_run_now_runs_it_again(egirl: Speaker) -> None:
    found = await done(egirl)
    reply = await egirl("task_run_now", task_id=found)
    assert reply.text.startswith(f"Task started: watch-deploy\nID: {found}\nStatus: active\n")
    assert "Nothing will tell you when it ends; ask with task_list." in reply.text
    ended = await egirl.engine.wait(found, timeout=WITHIN)
    assert (ended.runs, ended.state) == (2, "completed")
    assert [each["run_count"] for each in await listed(egirl)] == [2]


async def test_task_run_now_of_what_runs(egirl: Speaker) -> None:
    found = await add(egirl, prompt="`sleep 600`")
    said = await egirl.refused("task_run_now", task_id=found)
    assert said.startswith(f"Task {found} ")
    assert said.endswith(" already; just wait until it ends.")


@pytest.mark.spec("D1", "A8")
async def test_task_run_now_does_not_approve(egirl: Speaker) -> None:
    found = facts(await egirl("task_propose", **NEW))["id"]
    said = await egirl.refused("task_run_now", task_id=found)
    assert said.startswith(f"Task {found} is proposed. It waits for a person's approval")
    assert (await egirl.task()).state == "proposed"


# task_pause, task_resume


@pytest.mark.parametrize("tool", ["task_pause", "task_resume"])
async def test_what_runs_once_is_neither_paused_nor_resumed(egirl: Speaker, tool: str) -> None:
    found = await add(egirl, prompt="`sleep 600`")
    said = await egirl.refused(tool, task_id=found)
    assert said == f"Task {found} runs once, so you cannot {tool[5:]} it; task_cancel ends it."


@pytest.mark.parametrize("tool", ["task_pause", "task_resume", "task_cancel", "task_run_now"])
async def test_task_not_found(egirl: Speaker, tool: str) -> None:
    assert await egirl.refused(tool, task_id="nobody-222222") == "Task not found: nobody-222222"
