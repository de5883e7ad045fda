"""The dialect of egirl: tasks that run on a schedule or whenever something happens."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from errands.model.states import STANDING
from errands.model.view import View
from errands.testing.engines import until
from errands.testing.speaker import Speaker, Stage, facts, fenced

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.spec("X4")]

# As its author wrote them, but for the prompts.
WATCH_CI = {
    "name": "watch-ci-main",
    "description": "Monitor CI pipeline for main branch",
    "prompt": "`echo marmalade`",
    "kind": "scheduled",
    "interval": "30m",
    "notify": "on_change",
}
WATCH_DEPLOY = {
    "name": "watch-deploy-staging",
    "description": "Watch staging deploy progress",
    "prompt": "`echo marmalade`",
    "kind": "scheduled",
    "interval": "2m",
    "notify": "on_change",
    "max_runs": 30,
}


@pytest_asyncio.fixture(loop_scope="module")
async def egirl(stage: Stage, session: str) -> Any:
    yield await stage.speaker("egirl", session)
    left = await stage.engine.list(states=STANDING, parent=session)
    await stage.engine.cancel(*(view.id for view in left))


async def add(speaker: Speaker, **more: Any) -> dict[str, Any]:
    return facts(await speaker("task_add", **{**WATCH_CI, **more}))


async def listed(speaker: Speaker, **given: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = facts(await speaker("task_list", **given))["tasks"]
    return found


async def ran(speaker: Speaker, task_id: str) -> View:
    """Wait until a task has run."""
    engine = speaker.engine.engine
    await until(lambda: (view := engine.summaries([task_id])[0]).latest.number > 0 and not view.is_live)
    return engine.summaries([task_id])[0]


# task_add


@pytest.mark.spec("T1")
async def test_check_ci_every_30_minutes(egirl: Speaker, agent_kind: str) -> None:
    reply = await egirl("task_add", **WATCH_CI)
    given, task = facts(reply), await egirl.task()
    assert reply.text.splitlines()[:5] == [
        "Task added: watch-ci-main",
        f"ID: {task.id}",
        "Status: active",
        "Description: Monitor CI pipeline for main branch",
        "Runs: every 30m",
    ]
    expected = {
        "id": task.id,
        "kind": "scheduled",
        "status": "active",
        "interval_ms": 1_800_000,
        "next_run_at": given["created_at"] + 1_800_000,
        "last_run_at": None,
        "run_count": 0,
        "max_runs": None,
        "notify": "on_change",
        "channel": "inbox",
        "channel_target": "user",
        "created_by": "user",
    }
    assert {name: given[name] for name in expected} == expected
    assert "last_run" not in given
    assert (task.state, task.kind) == ("active", agent_kind)


async def test_watch_this_deploy(egirl: Speaker) -> None:
    given = await add(egirl, **WATCH_DEPLOY)
    assert (given["interval_ms"], given["max_runs"]) == (120_000, 30)


async def test_a_cron_line(egirl: Speaker) -> None:
    given = await add(egirl, interval=None, cron="0 9 * * 1-5")
    assert (given["kind"], given["cron"]) == ("scheduled", "0 9 * * 1-5")
    assert given["next_run_at"] > given["created_at"]
    assert "interval_ms" not in given


@pytest.mark.parametrize("tool", ["task_add", "task_propose"])
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"interval": None},
            "A scheduled task needs either interval, such as 30m, or cron, such as 0 9 * * 1-5.",
        ),
        (
            {"cron": "0 9 * * *"},
            "A scheduled task needs either interval, such as 30m, or cron, such as 0 9 * * 1-5.",
        ),
        (
            {"event_source": "file"},
            "event_source is for the kind 'event', and this is 'scheduled'; change one of them.",
        ),
        ({"kind": "event"}, "interval is for the kind 'scheduled', and this is 'event'; change one of them."),
        (
            {"kind": "event", "interval": None, "event_config": {"path": "*"}},
            "An event task needs event_source: github, file or command; and event_config.",
        ),
        (
            {"kind": "event", "interval": None, "event_source": "file"},
            "event_config of 'file' needs 'path', such as {\"path\": \"...\"}.",
        ),
        (
            {"channel_target": "1234"},
            "channel_target is a place within a channel; give channel too, or leave it out.",
        ),
    ],
)
async def test_what_does_not_fit_together_is_refused(
    egirl: Speaker, tool: str, more: dict[str, Any], said: str
) -> None:
    assert await egirl.refused(tool, **{**WATCH_CI, **more}) == said
    assert await egirl.count() == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"interval": "soon"}, "interval: 'soon' is not a duration"),
        ({"interval": "10ms"}, "interval must be at least 1s (got 10ms)"),
        ({"interval": None, "cron": "whenever"}, "whenever"),
        ({"channel": "carrier-pigeon"}, "unknown channel 'carrier-pigeon'"),
        ({"channel": "discord", "channel_target": "1234"}, "channel discord is not configured"),
        (
            {
                "kind": "event",
                "interval": None,
                "event_source": "weather",
                "event_config": {"subject": "rain"},
            },
            "unknown event source 'weather'",
        ),
        (
            {
                "kind": "event",
                "interval": None,
                "event_source": "file",
                "event_config": {"path": "*", "colour": "red"},
            },
            "the source file has no option 'colour'",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused(egirl: Speaker, more: dict[str, Any], said: str) -> None:
    assert said in await egirl.refused("task_add", **{**WATCH_CI, **more})
    assert await egirl.count() == 0


@pytest.mark.parametrize(
    ("config", "wrong"),
    [
        ("{}", "event_config must be an object (got '{}')"),
        (17, "event_config must be an object (got 17)"),
        (["path"], "event_config must be an object (got ['path'])"),
        ({"path": 17}, "path in event_config must be text (got 17)"),
        ({"path": ["*"]}, "path in event_config must be text (got ['*'])"),
        ({"path": {}}, "path in event_config must be text (got {})"),
    ],
)
async def test_event_config_is_an_object_of_strings(egirl: Speaker, config: Any, wrong: str) -> None:
    said = await egirl.refused(
        "task_add", **{**WATCH_CI, "kind": "event", "event_source": "file", "event_config": config}
    )
    assert said == f"Invalid arguments for task_add: {wrong}"


@pytest.mark.spec("N2")
async def test_a_task_reports_to_the_given_channel(egirl: Speaker) -> None:
    given = await add(egirl, channel="inbox", channel_target="grace")
    assert (given["channel"], given["channel_target"]) == ("inbox", "grace")
    assert [str(each) for each in (await egirl.task()).channels] == ["inbox:grace"]


async def test_cli_means_the_terminal(egirl: Speaker) -> None:
    given = await add(egirl, channel="cli", channel_target="/dev/pts/99@1")
    assert (given["channel"], given["channel_target"]) == ("cli", "stdout")
    assert [str(each) for each in (await egirl.task()).channels] == ["terminal:/dev/pts/99@1"]


@pytest.mark.spec("N8")
async def test_a_caller_that_is_notified_of_changes_knows_it(stage: Stage, session: str) -> None:
    speaker = await stage.speaker("egirl", session, wake="session")
    said = (await speaker("task_add", **WATCH_CI)).text
    assert "You will be told if its result changes; ask with task_list." in said
    said = (await speaker("task_add", **{**WATCH_CI, "notify": "always"})).text
    assert "You will be told when a run of it ends; do not poll." in said
    await stage.engine.cancel(*(view.id for view in await stage.engine.list(parent=session)))


@pytest.mark.spec("T1")
async def test_a_scheduled_task_runs_and_ends_after_max_runs(egirl: Speaker) -> None:
    found = (await add(egirl, interval="1s", max_runs=1))["id"]
    await until(lambda: egirl.engine.engine.store.ended(found))
    (given,) = await listed(egirl)
    assert (given["status"], given["run_count"], given["max_runs"]) == ("done", 1, 1)
    assert (given["last_run"]["status"], given["next_run_at"]) == ("success", None)
    assert "marmalade" in fenced(given["last_run"]["result"])
    said = await egirl.refused("task_run_now", task_id=found)
    assert said == f"Task {found} is done, and will not run again. Add a new one."


@pytest.mark.spec("T6")
async def test_an_event_runs_a_task(stage: Stage, egirl: Speaker) -> None:
    config = {"path": "watched-*.txt", "events": "created"}
    given = await add(egirl, kind="event", interval=None, event_source="file", event_config=config)
    assert (given["kind"], given["event_source"], given["event_config"]) == ("event", "file", config)
    store = stage.engine.engine.store
    await until(lambda: (watch := store.watch(given["id"])) is not None and watch.health == "well")
    (stage.folder / f"watched-{egirl.caller.session}.txt").touch()
    assert (await ran(egirl, given["id"])).latest.cause == "event"


@pytest.mark.spec("A8")
async def test_a_harmful_command_is_not_watched_before_a_person_says_so(egirl: Speaker) -> None:
    reply = await egirl(
        "task_add",
        **{
            **WATCH_CI,
            "kind": "event",
            "interval": None,
            "event_source": "command",
            "event_config": {"command": "rm -rf build"},
        },
    )
    assert facts(reply)["status"] == "proposed"
    assert "you cannot approve it" in reply.text


# task_propose


@pytest.mark.spec("D1")
async def test_a_proposed_schedule_does_not_fire_until_it_is_approved(stage: Stage, egirl: Speaker) -> None:
    given = facts(await egirl("task_propose", **WATCH_DEPLOY))
    assert (given["status"], given["next_run_at"]) == ("proposed", None)
    for tool in ("task_pause", "task_resume", "task_run_now"):
        said = await egirl.refused(tool, task_id=given["id"])
        assert said.startswith(f"Task {given['id']} is proposed. It waits for a person's approval")
    await stage.engine.approve(given["id"], by="ada")
    (given,) = await listed(egirl)
    assert given["status"] == "active"
    assert given["next_run_at"] is not None


@pytest.mark.spec("D1")
async def test_a_dismissed_schedule_is_gone(stage: Stage, egirl: Speaker) -> None:
    found = facts(await egirl("task_propose", **WATCH_DEPLOY))["id"]
    await stage.engine.reject(found, by="ada")
    assert await listed(egirl) == []
    assert await egirl.refused("task_resume", task_id=found) == f"Task not found: {found}"


# task_list


async def test_task_list_says_when_a_task_runs(egirl: Speaker) -> None:
    found = (await add(egirl))["id"]
    reply = await egirl("task_list")
    assert reply.text == f"{found} [active, every 30m] Monitor CI pipeline for main branch"


# task_pause, task_resume


@pytest.mark.spec("T2")
async def test_pause_and_resume(egirl: Speaker) -> None:
    found = (await add(egirl))["id"]
    reply = await egirl("task_pause", task_id=found)
    assert reply.text.startswith(f"Task paused: watch-ci-main\nID: {found}\nStatus: paused\n")
    assert facts(reply)["next_run_at"] is None
    assert "ask with" not in reply.text
    assert [each["id"] for each in await listed(egirl, status="paused")] == [found]
    assert facts(await egirl("task_pause", task_id=found))["status"] == "paused"
    reply = await egirl("task_resume", task_id=found)
    assert reply.text.startswith(f"Task resumed: watch-ci-main\nID: {found}\nStatus: active\n")
    # An interval counts from when the task is resumed, in milliseconds.
    ahead = facts(reply)["next_run_at"] - egirl.engine.now().timestamp() * 1000
    assert 29 * 60_000 < ahead <= 30 * 60_000
    assert facts(await egirl("task_resume", task_id=found))["status"] == "active"


async def test_what_has_ended_is_not_resumed(egirl: Speaker) -> None:
    found = (await add(egirl, interval="1s", max_runs=1))["id"]
    await until(lambda: egirl.engine.engine.store.ended(found))
    said = await egirl.refused("task_resume", task_id=found)
    assert said == f"Task {found} is done, so you cannot resume it. Add a new one."


# task_cancel


@pytest.mark.spec("L9")
@pytest.mark.parametrize("tool", ["task_add", "task_propose"])
async def test_task_cancel_ends_a_schedule(egirl: Speaker, tool: str) -> None:
    found = facts(await egirl(tool, **WATCH_CI))["id"]
    assert (await egirl("task_cancel", task_id=found)).text == f"Task cancelled: {found}"
    assert await listed(egirl) == []
    assert (await egirl.engine.get(found)).state == "cancelled"


async def test_task_cancel_ends_a_run_with_its_schedule(egirl: Speaker) -> None:
    found = (await add(egirl, prompt="`sleep 600`"))["id"]
    await egirl("task_run_now", task_id=found)
    assert (await egirl("task_cancel", task_id=found)).text == f"Task cancelled: {found}"
    assert egirl.engine.engine.store.ended(found)


# task_run_now


@pytest.mark.spec("T5")
@pytest.mark.parametrize("paused", [False, True])
async def test_task_run_now_regardless_of_the_schedule(egirl: Speaker, paused: bool) -> None:
    found = (await add(egirl))["id"]
    if paused:
        await egirl("task_pause", task_id=found)
    status = "paused" if paused else "active"
    reply = await egirl("task_run_now", task_id=found)
    assert reply.text.startswith(f"Task started: watch-ci-main\nID: {found}\nStatus: {status}\n")
    await ran(egirl, found)
    reply = await egirl("task_list")
    (given,) = facts(reply)["tasks"]
    assert (given["status"], given["run_count"], given["last_run"]["status"]) == (status, 1, "success")
    assert given["last_run_at"] == given["last_run"]["started_at"]
    assert "marmalade" in fenced(given["last_run"]["result"])
    assert reply.text.startswith(f"{found} [{status}, every 30m, last run: success] Monitor CI")
