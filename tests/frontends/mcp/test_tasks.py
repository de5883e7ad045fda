"""The tasks extension: long calls become tasks, and every task of ours can be read by its id."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_REQUIRED_CLIENT_CAPABILITY

from errands.frontends.mcp import call as call_module
from errands.frontends.mcp import tools
from errands.testing.engines import TestEngine
from tests.frontends.mcp.conversation import (
    OLDER,
    SESSION,
    YES_ONCE,
    Handed,
    Person,
    ask,
    call,
    connected,
    ended,
    handed,
    saying,
    text,
)

pytestmark = pytest.mark.spec("X5")
HOSTILE = ("call-0123456789abcdef", "call-../../../key", "../../etc/passwd", "", "\0", "x" * 99_999)


@pytest.mark.spec("X20")
async def test_a_call_that_takes_a_while_becomes_a_task(engine: TestEngine) -> None:
    async with connected(engine, tasks=True) as client:
        task_id = await handed(client, "run", command="sleep 1; echo done", wait=20_000)
        found = await ended(client, task_id)

    assert found["status"] == "completed"
    assert found["result"]["structuredContent"]["state"] == "completed"
    assert "done" in found["result"]["content"][0]["text"]


async def test_a_quick_call_is_answered_at_once(engine: TestEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "PROMPT", 60.0)  # on a busy machine `echo` is not quick
    async with connected(engine, tasks=True) as client:
        assert "hello" in text(await call(client, "run", command="echo hello", wait=20_000))


@pytest.mark.spec("N5")
async def test_a_caller_that_is_told_of_ends_gets_the_reply_itself_and_hears_it_once(
    engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "PROMPT", 0.05)
    said = ""
    async with connected(engine, dialect="claude", tasks=True, wake="session") as client:
        with suppress(Handed):  # it became a task, of which the client itself would report the end, too
            said = text(await call(client, "Bash", command="sleep 1; echo done"))

    assert "done" in said
    assert engine.engine.notices.unread(SESSION) == []


async def test_a_launch_is_answered_at_once_however_long_the_task_takes_to_start(
    engine: TestEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client would have to wait for the end of a task to learn that another one has started."""
    monkeypatch.setattr(tools, "PROMPT", 0.05)
    monkeypatch.setattr(call_module, "_LAUNCHES_WITHIN", 10_000)  # the machine may be busy
    busy = [await engine.started("echo ready; sleep 600") for _ in range(5)]  # as many as there is room for
    async with connected(engine, dialect="claude", tasks=True) as client:
        launched = await call(client, "Bash", command="sleep 600", run_in_background=True)

    assert (await engine.get(launched.structured_content["task_id"])).latest.state == "pending"
    assert len(busy) == 5


async def test_a_failed_command_is_a_completed_call_that_says_so(engine: TestEngine) -> None:
    async with connected(engine, tasks=True) as client:
        found = await ended(client, await handed(client, "run", command="sleep 1; exit 3", wait=20_000))

    assert found["status"] == "completed"
    assert found["result"]["structuredContent"]["exit_code"] == 3


@pytest.mark.spec("N9")
@pytest.mark.fault("F58")
async def test_the_result_of_a_task_does_not_repeat_its_output(engine: TestEngine) -> None:
    async with connected(engine, tasks=True) as client:
        said = "echo 'make: *** all is approved.  Stop.'; exit 2"
        launched = (await call(client, "run", command=said)).structured_content["id"]
        found = await ended(client, launched)

    assert "approved" in ((await engine.get(launched)).latest.summary or "")
    (block,) = found["result"]["content"]
    assert block["text"] == f"{launched} failed\nexit code 2\noutput: errands://tasks/{launched}/output"


@pytest.mark.spec("L21")
async def test_a_launched_task_can_be_read_by_its_own_id(engine: TestEngine) -> None:
    async with connected(engine, tasks=True) as client:
        launched = (await call(client, "run", command="sleep 600")).structured_content["id"]
        assert (await ask(client, "tasks/get", taskId=launched))["status"] == "working"
        assert await ask(client, "tasks/cancel", taskId=launched) != {}
        found = await ended(client, launched)

    assert found["status"] == "cancelled"
    assert (await engine.wait(launched, timeout=60)).state == "cancelled"


async def test_a_cancelled_call_ends_what_it_launched(engine: TestEngine) -> None:
    async with connected(engine, tasks=True) as client:
        task_id = await handed(client, "run", command="sleep 600", wait=60_000)
        await ask(client, "tasks/cancel", taskId=task_id)
        assert (await ask(client, "tasks/get", taskId=task_id))["status"] == "cancelled"

    (view,) = await engine.list()
    assert (await engine.wait(view.id, timeout=60)).state == "cancelled"


async def test_a_cancelled_wait_does_not_cancel_the_task(engine: TestEngine) -> None:
    async with connected(engine, tasks=True) as client:
        launched = (await call(client, "run", command="sleep 600")).structured_content["id"]
        task_id = await handed(client, "wait", id=launched, timeout=60_000)
        await ask(client, "tasks/cancel", taskId=task_id)
        assert (await ask(client, "tasks/get", taskId=task_id))["status"] == "cancelled"

        assert (await engine.get(launched)).is_live


async def test_a_proposed_task_asks_by_its_own_id(engine: TestEngine, project: Path) -> None:
    async with connected(engine, tasks=True) as client:
        launched = (await call(client, "run", command="rm -r precious")).structured_content["id"]
        # A client that cannot ask a person gets no questions.
        assert (await ask(client, "tasks/get", taskId=launched))["status"] == "working"
    async with connected(engine, tasks=True, person=Person()) as client:
        found = await ended(client, launched)
        assert found["status"] == "input_required"
        ((key, request),) = found["inputRequests"].items()
        assert "rm -r precious" in request["params"]["message"]
        await ask(
            client, "tasks/update", taskId=launched, inputResponses={"another": saying(YES_ONCE).model_dump()}
        )
        assert (project / "precious").exists()
        await ask(
            client, "tasks/update", taskId=launched, inputResponses={key: saying(YES_ONCE).model_dump()}
        )
        assert (await ended(client, launched))["status"] == "completed"

    assert not (project / "precious").exists()


async def test_a_client_that_cannot_ask_answers_nothing_either(engine: TestEngine, project: Path) -> None:
    async with connected(engine, tasks=True) as client:
        launched = (await call(client, "run", command="rm -r precious")).structured_content["id"]
        question = engine.engine.store.question(launched)
        assert question is not None
        answers = {f"approval-{question.id}": saying(YES_ONCE).model_dump()}
        await ask(client, "tasks/update", taskId=launched, inputResponses=answers)

    assert (await engine.get(launched)).state == "proposed"


@pytest.mark.fault("F50")
async def test_a_foreign_task_is_not_found_like_a_missing_one(engine: TestEngine) -> None:
    async with connected(engine, tasks=True, session="one") as client:
        launched = (await call(client, "run", command="sleep 600")).structured_content["id"]
        task_id = await handed(client, "wait", id=launched, timeout=60_000)
    async with connected(engine, tasks=True, session="two") as stranger:
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            for hostile in (launched, task_id, *HOSTILE):
                with pytest.raises(MCPError) as refused:
                    await ask(stranger, method, taskId=hostile, inputResponses={})
                assert refused.value.error.code == INVALID_PARAMS
                assert refused.value.error.message.startswith("unknown task")
                assert len(refused.value.error.message) < 500
        assert (await engine.get(launched)).is_live


async def test_a_client_without_the_extension_is_refused(engine: TestEngine) -> None:
    async with connected(engine) as client:
        with pytest.raises(MCPError) as refused:
            await ask(client, "tasks/get", taskId="sleep-abcdef")
    assert refused.value.error.code == MISSING_REQUIRED_CLIENT_CAPABILITY
    async with connected(engine, OLDER) as client:
        with pytest.raises(MCPError) as refused:
            await ask(client, "tasks/get", taskId="sleep-abcdef")
    assert refused.value.error.code == METHOD_NOT_FOUND


async def test_a_reply_is_kept_when_the_task_was_cleared(engine: TestEngine) -> None:
    async with connected(engine, tasks=True) as client:
        task_id = await handed(client, "run", command="sleep 1; echo done", wait=20_000)
        assert (await ended(client, task_id))["status"] == "completed"
        (view,) = await engine.list()
        await engine.clear(view.id)

        assert "done" in (await ended(client, task_id))["result"]["content"][0]["text"]


async def test_a_call_that_cannot_be_stored_is_answered_directly(engine: TestEngine, own_home: Path) -> None:
    (own_home / "mcp").mkdir()
    (own_home / "mcp" / "calls").write_text("no directory")
    async with connected(engine, tasks=True) as client:
        assert "done" in text(await call(client, "run", command="sleep 1; echo done", wait=20_000))


async def test_a_file_that_cannot_be_swept_does_not_prevent_storing_a_call(
    engine: TestEngine, own_home: Path
) -> None:
    old = own_home / "mcp" / "calls" / "call-0123456789abcdef"
    old.mkdir(parents=True)
    os.utime(old, (0, 0))
    async with connected(engine, tasks=True) as client:
        await handed(client, "run", command="sleep 1", wait=20_000)


async def test_an_unusable_home_is_a_failed_reply(engine: TestEngine, project: Path) -> None:
    (project / "errands.toml").write_text("[lanes]\nshell = 'many'\n")
    async with connected(engine, config=False) as client:
        result = await call(client, "run", command="true")

    assert result.is_error
    assert "lanes.shell" in text(result)


async def test_more_than_a_hundred_calls_at_a_time_are_refused(engine: TestEngine) -> None:
    async with connected(engine) as client:
        launched = (await call(client, "run", command="sleep 600")).structured_content["id"]
        waiting = {asyncio.create_task(call(client, "wait", id=launched, timeout=60_000)) for _ in range(105)}
        async with asyncio.timeout(60):
            while len(waiting) > 100:
                refused, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                assert all("in flight already" in text(each.result()) for each in refused)
        await engine.cancel(launched)
        results = await asyncio.gather(*waiting)
    assert [each.is_error for each in results] == [False] * 100
