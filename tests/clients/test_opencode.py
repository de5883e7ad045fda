"""The real OpenCode as an agent: it keeps the contract, and what is special about it."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from errands.agents.opencode import OpenCode
from errands.agents.opencode.server import Server
from errands.model.errors import AgentError, AgentUnavailable, BudgetExceeded, StoreError
from errands.model.record import evolve
from errands.ports.agent import Decision, ToolCall
from errands.testing.agent_context import SPEC, RecordingContext, no, yes
from errands.testing.contracts.agent import AgentContract, until
from tests.clients.proxy import Break, Proxy
from tests.clients.servers import OpenCodeServer
from tests.gate import Gate
from tests.model_server import ModelServer

pytestmark = pytest.mark.timeout(600)  # OpenCode starts slowly on a busy machine
WITHIN = 120.0  # seconds, on a busy machine; a broken agent would wait for `PATIENCE`, or for ever


def running(line: str, *, how: str = "CALL") -> str:
    return f"{how} bash {json.dumps({'command': line, 'description': 'a test'})}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One directory for many tests: OpenCode takes a second to get to know another one."""
    return tmp_path_factory.mktemp("folder")


def desk_in(folder: Path, *, run: str = "tested-222222.1", **options: Any) -> RecordingContext:
    (folder / "project").mkdir(exist_ok=True)
    spec = evolve(SPEC, **{"cwd": str(folder / "project"), **options.pop("spec", {})})
    return RecordingContext(folder / "desk", spec=spec, run=run, **options)


class TestOpenCode(AgentContract):
    factory = "errands.agents.opencode:OpenCode"
    recall = "RECALL"

    @pytest.fixture(autouse=True)
    def _surroundings(self, model: ModelServer, opencode: str) -> None:
        self.model, self.url = model, opencode

    def settings(self) -> Mapping[str, Any]:
        return {"url": self.url, "retries": 1, "poll": 1.0}

    def running(self, line: str) -> str:
        return running(line)

    def requests(self) -> int:
        return len(self.model.asked)


@pytest.mark.spec("S12")
async def test_the_end_is_seen_from_the_event_of_the_idle_session(opencode: str, folder: Path) -> None:
    context = desk_in(folder)
    async with Proxy(opencode, "only").open() as proxy:
        agent = OpenCode({"url": proxy.url, "poll": 10 * WITHIN})
        session = await agent.open(context)
        answer = await asyncio.wait_for(agent.prompt(session, "SLOW 1\nSAY done", context), WITHIN)

    assert answer.text == "done"


@pytest.mark.spec("S12")
@pytest.mark.fault("F48")
@pytest.mark.parametrize("broken", ["refuse", "cut", "deaf", "miss"])
async def test_the_end_is_found_by_polling_when_the_stream_is_broken(
    opencode: str, model: ModelServer, folder: Path, broken: Break
) -> None:
    context = desk_in(folder)
    prompt = f"{running(f'echo x >>{broken}')}\nSAY done with a stream to {broken}"
    async with Proxy(opencode, broken).open() as proxy:
        agent = OpenCode({"url": proxy.url, "poll": 1.0})
        session = await agent.open(context)
        answer = await asyncio.wait_for(agent.prompt(session, prompt, context), WITHIN)

    asked = [each for each in model.asked_for(f"a stream to {broken}") if each.offers]
    assert answer.text == f"done with a stream to {broken}"
    assert proxy.streams > 0
    assert len(asked) == 2
    assert (folder / "project" / broken).read_text() == "x\n"
    assert len([each for each in context.notes if each.kind == "tool_end"]) == 1
    assert context.used("requests") == 2


@pytest.mark.fault("F47")
@pytest.mark.trap(61)
@pytest.mark.parametrize("fault", ["500", "cut", "refuse", "garbage", "silent"])
async def test_a_failing_model_is_given_up(
    opencode: str, model: ModelServer, folder: Path, fault: str
) -> None:
    context = desk_in(folder)
    agent = OpenCode({"url": opencode, "retries": 1, "poll": 0.5, "patience": 2.0})
    session = await agent.open(context)

    with pytest.raises(AgentUnavailable, match="the model g"):
        await agent.prompt(session, f"FAIL {fault}\nSAY never", context)

    before = len(model.asked)
    assert len(model.asked_for(f"FAIL {fault}\nSAY never")) <= 10
    assert await Server({"url": opencode}).state(session) is None
    assert len(model.asked) == before


async def test_a_model_that_fails_once_is_asked_again(opencode: str, folder: Path) -> None:
    context = desk_in(folder)
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)

    assert (await agent.prompt(session, "FAIL 500 1\nSAY fine in the end", context)).text == "fine in the end"


@pytest.mark.spec("S9")
async def test_long_results_are_clipped_only_in_a_fork(
    opencode: str, model: ModelServer, folder: Path
) -> None:
    context = desk_in(folder)
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)
    await agent.prompt(session, running("seq 1 2000"), context)

    forked = await agent.fork(session, context)
    await agent.prompt(forked, "SAY in the fork", desk_in(folder, run="tested-222222.2"))
    await agent.prompt(session, "SAY in the parent", desk_in(folder, run="tested-222222.3"))

    in_the_fork, in_the_parent = (
        next(each for each in model.asked_for(words) if each.offers)
        for words in ("in the fork", "in the parent")
    )
    (fork_call, fork_result), (parent_call, parent_result) = (
        [each for each in asked.body["messages"] if each["role"] == "tool" or each.get("tool_calls")]
        for asked in (in_the_fork, in_the_parent)
    )
    assert fork_call == parent_call
    assert fork_result["tool_call_id"] == parent_result["tool_call_id"]
    assert len(parent_result["content"]) > 8000
    assert len(fork_result["content"]) < 1600
    assert f"{len(parent_result['content']):,} characters" in fork_result["content"]


@pytest.mark.spec("S10")
async def test_a_fork_that_is_too_long_omits_the_oldest_messages(
    opencode: str, model: ModelServer, folder: Path
) -> None:
    context = desk_in(folder)
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)
    for number in range(5):
        await agent.post(session, f"note {number} " + "x" * 100_000, context)

    forked = await agent.fork(session, context)
    await agent.prompt(forked, "SAY what is left", context)

    asked = next(each for each in model.asked_for("what is left") if each.offers)
    assert [number for number in range(5) if f"note {number} " in asked.text] == [2, 3, 4]


@pytest.mark.spec("A8")
async def test_a_refused_call_does_not_take_an_allowed_one_with_it(opencode: str, folder: Path) -> None:
    def decide(call: ToolCall) -> Decision:
        return no(call) if "bad" in (call.command or "") else yes(call)

    context = desk_in(folder, decide=decide)
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)

    answer = await agent.prompt(
        session, f"{running('echo bad')}\n{running('touch good', how='AND')}", context
    )

    assert (folder / "project" / "good").exists()
    assert "the person said no" in answer.text


@pytest.mark.spec("A8")
async def test_the_agent_continues_when_all_its_calls_are_refused(opencode: str, folder: Path) -> None:
    context = desk_in(folder, decide=no)
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)

    answer = await agent.prompt(
        session, f"{running('echo bad')}\n{running('echo worse', how='AND')}", context
    )

    assert len(context.asked) == 2
    assert "the person said no" in answer.text


@pytest.mark.spec("A8")
async def test_a_person_can_answer_in_opencode_itself(opencode: str, folder: Path) -> None:
    class Absent(RecordingContext):
        async def request_approval(self, call: ToolCall) -> Decision:
            self.asked.append(call)
            await asyncio.Event().wait()
            raise AssertionError

    context = Absent(folder / "desk", spec=desk_in(folder).spec)
    agent = OpenCode({"url": opencode, "poll": 0.5})
    session = await agent.open(context)
    asking = asyncio.create_task(agent.prompt(session, f"{running('touch better')}\nSAY done", context))
    await until(lambda: context.asked, asking)

    server = Server({"url": opencode})
    (request,) = await server.requests(session)
    await server.reply(session, request["id"], {"reply": "once"})

    assert (await asyncio.wait_for(asking, WITHIN)).text == "done"
    assert (folder / "project" / "better").exists()


@pytest.mark.trap(58)
async def test_the_session_has_the_tools_and_the_words_of_its_specification(
    opencode: str, model: ModelServer, folder: Path
) -> None:
    context = desk_in(folder, spec={"tools": ("bash", "read"), "model": "fake/fake", "system": "Be a duck."})
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)
    await agent.prompt(session, "SAY quack, OpenCode", context)
    forked = await agent.fork(session, context)
    await agent.prompt(forked, "SAY quack, OpenCode", evolve_run(context))

    first, second = [each for each in model.asked_for("SAY quack, OpenCode") if each.offers]
    for asked in (first, second):
        assert asked.offers == {"bash", "read"}
        assert "Be a duck." in asked.text


async def test_a_call_without_a_person_to_ask_ends_the_turn(opencode: str, folder: Path) -> None:
    def decide(call: ToolCall) -> Decision:
        raise StoreError("the disk is full")

    context = desk_in(folder, decide=decide)
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)

    async with asyncio.timeout(WITHIN):
        with pytest.raises(StoreError, match="the disk is full"):
            await agent.prompt(session, running("touch never"), context)

    assert not (folder / "project" / "never").exists()
    assert await Server({"url": opencode}).state(session) is None


@pytest.mark.spec("S15")
@pytest.mark.trap(63)
@pytest.mark.parametrize(("budget", "calls"), [({"tool_calls": 2}, 2), ({"total_tokens": 25}, 3)])
async def test_it_stops_at_its_budget(
    opencode: str, folder: Path, budget: dict[str, int], calls: int
) -> None:
    context = desk_in(folder, spec={"budget": budget})
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)
    lines = [running(f"echo {each} >>{min(budget)}") for each in range(6)]

    with pytest.raises(BudgetExceeded, match="is used up"):
        await agent.prompt(session, "\n".join(lines), context)

    assert len((folder / "project" / min(budget)).read_text().split()) <= calls


@pytest.mark.spec("S14")
async def test_a_killed_server_continues_without_repeating_a_call(model: ModelServer, tmp_path: Path) -> None:
    server = OpenCodeServer(tmp_path / "opencode", model.openai_url)
    context = desk_in(tmp_path)
    hold = Gate(tmp_path / "project" / "hold")  # the command outlives the server
    text = running("echo x >>witness; cat hold")
    witness = tmp_path / "project" / "witness"
    agent = OpenCode({"url": server.url, "retries": 1, "poll": 0.5})
    try:
        server.start()
        session = await agent.open(context)
        asking = asyncio.create_task(agent.prompt(session, text, context))
        await until(lambda: witness.exists() and witness.read_text(), asking)
        server.kill()
        with pytest.raises(AgentUnavailable, match="does not answer"):
            await asking
        server.start()
        answer = await agent.recover(session, text, context)
    finally:
        server.kill()
        hold.leaves()

    assert "interrupted" in answer.text
    assert witness.read_text() == "x\n"


async def test_an_unknown_model_is_reported_at_once(opencode: str, folder: Path) -> None:
    context = desk_in(folder, spec={"model": "fake/unheard-of"})
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)

    async with asyncio.timeout(WITHIN):
        with pytest.raises(AgentError, match="unheard-of"):
            await agent.prompt(session, "hello", context)


async def test_a_fork_cannot_move_to_another_directory(opencode: str, folder: Path) -> None:
    context = desk_in(folder)
    agent = OpenCode({"url": opencode})
    session = await agent.open(context)

    with pytest.raises(AgentError, match="keeps a fork in the directory of its parent"):
        await agent.fork(session, desk_in(folder, spec={"cwd": str(folder)}))


def test_it_is_the_real_program(opencode: str) -> None:
    with urllib.request.urlopen(f"{opencode}/global/health", timeout=5) as answer:
        assert json.load(answer)["version"] == "1.18.33"


def evolve_run(context: RecordingContext) -> RecordingContext:
    return RecordingContext(context.folder, spec=context.spec, run="tested-222222.2")
