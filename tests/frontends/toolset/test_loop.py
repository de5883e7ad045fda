"""The whole loop for a program with pydantic-ai: its own OpenAI client, and a model on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from errands.frontends.toolset import BackgroundTasks
from errands.testing.engines import WITHIN, TestEngine, embedded
from tests.gate import Gate
from tests.model_server import ModelServer

pytestmark = [pytest.mark.spec("X20")]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
async def engine(own_home: Path, model: ModelServer, config_file: Path) -> AsyncIterator[TestEngine]:
    config_file.write_text(
        'agents.default = "small"\n'
        f'[agents.small]\nbackend = "builtin"\nmodel = "fake"\nurl = "{model.openai_url}"\npause = 0.001\n'
    )
    async with embedded(str(own_home), yes=False) as engine:
        yield engine


class Talk:
    """A conversation with an agent that has the tools, as a program would hold it."""

    def __init__(self, engine: TestEngine, provider: OpenAIProvider, cwd: Path) -> None:
        self._agent = Agent(
            OpenAIChatModel("fake", provider=provider),
            output_type=[str, DeferredToolRequests],
            capabilities=[BackgroundTasks(engine, cwd=str(cwd))],
        )
        self._history: list[Any] = []

    async def says(self, prompt: str | None, **options: Any) -> Any:
        done = await self._agent.run(prompt, message_history=self._history, conversation_id="one", **options)
        self._history = done.all_messages()
        return done.output


@pytest.fixture
async def talk(engine: TestEngine, model: ModelServer, tmp_path: Path) -> AsyncIterator[Talk]:
    async with AsyncOpenAI(base_url=model.openai_url, api_key="none") as client:
        yield Talk(engine, OpenAIProvider(openai_client=client), tmp_path)


def call(tool: str, **arguments: Any) -> str:
    return f"CALL {tool} {json.dumps(arguments)}\n"


async def named(engine: TestEngine, name: str) -> str:
    (found,) = [view.id for view in await engine.list() if view.name == name]
    return found


@pytest.mark.spec("N6", "N10", "L1")
async def test_slow_work_is_started_reported_and_quoted(
    engine: TestEngine, talk: Talk, tmp_path: Path
) -> None:
    gates = {name: Gate(tmp_path / name) for name in ("suite", "tide")}  # each ends when we say so
    command = call("run", command="cat suite", name="suite")
    agent = call("ask", prompt=call("command", line="cat tide"), name="tide").replace("CALL", "AND", 1)

    assert await talk.says(f"{command}{agent}SAY both are on their way") == "both are on their way"
    assert await talk.says("SAY something else meanwhile") == "something else meanwhile"
    for name, gate in gates.items():
        await asyncio.to_thread(gate.opens, f"news of the {name}\n")
        await engine.wait(await named(engine, name), timeout=WITHIN)
    await talk.says("what is new?")

    for name in gates:
        assert await talk.says(f"RECALL news of the {name}") == "recalled"


@pytest.mark.spec("S2", "S8", "S17")
async def test_it_forks_and_the_copy_takes_a_follow_up(engine: TestEngine, talk: Talk) -> None:
    await talk.says("SAY the code word is heron")
    fork = call("ask", prompt="RECALL code word is heron", fork=True, name="copy")
    await talk.says(f"{fork}SAY it is forked")
    copy = await named(engine, "copy")
    done = await engine.wait(copy, timeout=WITHIN)
    assert done.agent is not None
    assert (done.agent.answer, done.marks) == ("recalled", "(forked)")

    await talk.says("SAY the heron has flown")
    await talk.says(f"{call('ask', prompt='RECALL heron has flown', resume=copy)}SAY asked again")
    done = await engine.wait(copy, timeout=WITHIN)

    assert done.agent is not None
    assert (done.agent.answer, done.agent.resume_count) == ("forgotten", 1)


@pytest.mark.spec("A8", "A11")
async def test_a_proposal_is_approved_by_a_person_and_it_goes_on(
    engine: TestEngine, talk: Talk, tmp_path: Path
) -> None:
    (tmp_path / "precious").touch()

    asked = await talk.says(f"{call('run', command='rm -v precious', name='harm')}SAY it is on its way")

    assert isinstance(asked, DeferredToolRequests)
    assert (tmp_path / "precious").exists()
    yes = DeferredToolResults(approvals={each.tool_call_id: True for each in asked.approvals})
    await talk.says(None, deferred_tool_results=yes)
    await engine.wait(await named(engine, "harm"), timeout=WITHIN)
    assert not (tmp_path / "precious").exists()
    await talk.says("what is new?")
    assert await talk.says("RECALL removed 'precious'") == "recalled"
