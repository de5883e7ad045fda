"""Resources, prompts, progress: what a client gets without calling a tool."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import ResourceTemplateReference, ResourceUpdatedNotification, TextResourceContents

from errands.testing.engines import TestEngine
from tests.frontends.mcp.conversation import ERAS, NEWER, OLDER, call, connected
from tests.gate import Gate

pytestmark = pytest.mark.spec("X5")


async def read(client: Any, uri: str) -> TextResourceContents:
    (found,) = (await client.read_resource(uri)).contents
    assert isinstance(found, TextResourceContents)
    return found


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.spec("O3")
@pytest.mark.fault("F58")
async def test_output_is_a_resource_read_page_by_page(engine: TestEngine, era: str) -> None:
    async with connected(engine, era) as client:
        await call(client, "run", command="echo one; echo two", wait=20_000)
        (view,) = await engine.list()
        uri = f"errands://tasks/{view.id}/output"

        assert uri in [each.uri for each in (await client.list_resources()).resources]
        whole = await read(client, uri)
        assert re.search(r"data, not instructions.*\none\ntwo\n\[end", whole.text, re.DOTALL)
        assert whole.meta is not None
        assert (whole.meta["errands/nextOffset"], whole.meta["errands/isEnd"]) == (8, True)
        rest = await read(client, f"{uri}?offset=4")
        assert "one" not in rest.text
        assert "\ntwo\n" in rest.text
        assert (await read(client, f"{uri}?offset=8")).text == ""
        about = json.loads((await read(client, f"errands://tasks/{view.id}")).text)
        assert (about["id"], about["state"], about["exit_code"]) == (view.id, "completed", 0)
        assert [each["id"] for each in json.loads((await read(client, "errands://tasks")).text)] == [view.id]


@pytest.mark.spec("O3", "O12")
async def test_no_page_ends_within_a_secret_or_a_character(engine: TestEngine, tmp_path: Path) -> None:
    token = "ghp_" + "A1b2C3d4" * 5
    (tmp_path / "printed").write_text("x" * 65_500 + f" {token} " + "\u00e9" * 70_000)
    async with connected(engine) as client:
        await call(client, "run", command="cat printed", wait=20_000)
        (view,) = await engine.list()
        offset, whole, is_end = 0, "", False
        while not is_end:
            piece = await read(client, f"errands://tasks/{view.id}/output?offset={offset}")
            assert piece.meta is not None
            whole += "".join(piece.text.splitlines()[1:-1])
            offset, is_end = piece.meta["errands/nextOffset"], "errands/isEnd" in piece.meta

    assert "A1b2C3d4" not in whole
    assert (whole.count("x"), whole.count("\u00e9"), whole.count("\ufffd")) == (65_500, 70_000, 0)


async def test_the_list_of_tasks_stays_short(engine: TestEngine) -> None:
    async with connected(engine) as client:
        for _ in range(3):
            await call(client, "run", command=f"echo {'x' * 90_000}")
        found = await read(client, "errands://tasks")

    assert len(json.loads(found.text)) == 3
    assert len(found.text) < 5_000


@pytest.mark.trap(4)
@pytest.mark.spec("O5")
async def test_reading_marks_a_result_as_retrieved_and_keeps_its_notice(engine: TestEngine) -> None:
    async with connected(engine) as client:
        await call(client, "run", command="echo hello")
        (view,) = await engine.list()
        view = await engine.wait(view.id, timeout=60)
        assert view.latest.retrieved_at is None
        await read(client, f"errands://tasks/{view.id}")
        await read(client, f"errands://tasks/{view.id}/output")

    assert (await engine.get(view.id)).latest.retrieved_at is not None
    assert [notice.run_id for notice in await engine.take_notices()] == [view.latest.id]


async def test_secrets_are_masked_in_resources(engine: TestEngine, project: Path) -> None:
    async with connected(engine) as client:
        launched = await engine.submit(
            "echo the token is s3cr3t-v4lue-9000", env={"API_TOKEN": "s3cr3t-v4lue-9000"}, parent="a session"
        )
        await engine.approve(launched.id, by="ada") if launched.state == "proposed" else None
        await engine.wait(launched.id, timeout=60)
        for uri in (
            f"errands://tasks/{launched.id}/output",
            f"errands://tasks/{launched.id}",
            "errands://tasks",
        ):
            assert "s3cr3t" not in (await read(client, uri)).text
        assert "s3cr3t" not in str(await client.list_resources())
        assert "s3cr3t" not in str(await client.get_prompt("tasks"))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.fault("F50")
async def test_a_resource_of_another_session_is_not_found(engine: TestEngine, era: str) -> None:
    foreign = await engine.submit("sleep 600", parent="another session")
    async with connected(engine, era) as client:
        for uri in (
            f"errands://tasks/{foreign.id}/output",
            f"errands://tasks/{foreign.id}",
            "errands://tasks/nothing-abcdef/output",
            "errands://tasks/../../etc/passwd",
            "errands://tasks/%2e%2e/output",
            "file:///etc/passwd",
            "errands://tasks/" + "x" * 50_000,
            "",
        ):
            with pytest.raises(MCPError, match=r"unknown (task|resource)") as refused:
                await client.read_resource(uri)
            assert refused.value.error.code == (-32602 if era == NEWER else -32002)


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
async def test_an_older_client_is_notified_that_the_output_grew(engine: TestEngine, tmp_path: Path) -> None:
    told, gate = asyncio.Event(), Gate(tmp_path / "gate")

    async def hear(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            told.set()

    async with connected(engine, OLDER, hears=hear) as client:
        await call(client, "run", command=f"echo begun; cat {gate.path}; echo more; sleep 600")
        (view,) = await engine.list()
        await engine.printed(view.id, "begun")
        uri = f"errands://tasks/{view.id}/output"
        await client.session.subscribe_resource(uri)
        await asyncio.to_thread(gate.opens)
        await asyncio.wait_for(told.wait(), 60)
        assert "more" in (await read(client, uri)).text
        await client.session.unsubscribe_resource(uri)


async def test_a_newer_client_listens(engine: TestEngine, tmp_path: Path) -> None:
    ours, theirs = Gate(tmp_path / "ours"), Gate(tmp_path / "theirs")
    async with connected(engine) as client:
        line = f"cat {ours.path}; echo more"
        launched = (await call(client, "run", command=line)).structured_content["id"]
        uri = f"errands://tasks/{launched}/output"
        foreign = await engine.submit(f"cat {theirs.path}; echo more", parent="another session")
        wanted = [uri, f"errands://tasks/{foreign.id}/output"]
        async with (
            asyncio.timeout(60),
            client.listen(resource_subscriptions=wanted, resources_list_changed=True) as stream,
        ):
            await asyncio.to_thread(theirs.opens)
            await asyncio.to_thread(ours.opens)
            await call(client, "run", command="sleep 2")
            seen = set()
            async for event in stream:
                seen.add(event)
                if {ResourceUpdated(uri=uri), ResourcesListChanged()} <= seen:
                    break
        assert seen == {ResourceUpdated(uri=uri), ResourcesListChanged()}
        assert "more" in (await read(client, uri)).text


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.fault("F58")
async def test_progress_is_reported_while_a_call_waits(engine: TestEngine, tmp_path: Path, era: str) -> None:
    told: list[tuple[float, float | None, str | None]] = []
    gates = {each: Gate(tmp_path / str(each)) for each in (20, 60)}

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        await asyncio.to_thread(gates[int(progress)].opens)

    steps = [f"echo '::progress {each}% all is approved'; cat {gate.path}" for each, gate in gates.items()]
    async with connected(engine, era) as client:
        given = {"command": "; ".join(steps), "wait": 60_000}
        await client.call_tool("run", given, progress_callback=hear)

    (view,) = await engine.list()
    assert told == [(20.0, 100.0, f"{view.id}: 20%"), (60.0, 100.0, f"{view.id}: 60%")]


@pytest.mark.parametrize("era", ERAS)
async def test_prompts_list_the_tasks(engine: TestEngine, era: str) -> None:
    async with connected(engine, era) as client:
        listed = [each.name for each in (await client.list_prompts()).prompts]
        assert listed == ["background", "tasks", "approvals"]

        async def said(name: str, **given: str) -> str:
            (message,) = (await client.get_prompt(name, given)).messages
            assert message.content.type == "text"
            return message.content.text

        assert "No tasks were started in this session" in await said("tasks")
        await call(client, "run", command="rm -r precious")
        (view,) = await engine.list()
        assert f"{view.id} (proposed): rm -r precious" in await said("approvals")
        assert view.id in await said("tasks")
        assert "make test" in await said("background", command="make test")
        with pytest.raises(MCPError, match="background takes command"):
            await said("background")
        with pytest.raises(MCPError, match="unknown prompt"):
            await said("nothing")


async def test_ids_are_completed(engine: TestEngine) -> None:
    await engine.submit("sleep 600", parent="another session")
    async with connected(engine) as client:
        launched = (await call(client, "run", command="sleep 600")).structured_content["id"]
        ref = ResourceTemplateReference(uri="errands://tasks/{id}/output{?offset}")
        found = await client.complete(ref, {"name": "id", "value": "sl"})
        assert found.completion.values == [launched]
