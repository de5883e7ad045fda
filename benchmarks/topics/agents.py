"""Agents: what our loop adds to a tool call of bare pydantic-ai, and how soon a model is asked.

Both have the same tool, the same prompts and the same model for tests, which answers at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from benchmarks import warm_start
from benchmarks.figure import Bar, Figure
from benchmarks.scale import Scale
from benchmarks.spread import Spread
from benchmarks.table import Table
from benchmarks.units import milliseconds, times
from errands.agents.builtin import Builtin
from errands.model.record import evolve
from errands.testing.agent_context import SPEC, RecordingContext, spec_text
from tests.model_server import ModelServer

_CALLS = 50  # in each round
_MOST = Bar(limit=1.15, at_most=True)

Pair = tuple[Spread, Spread]  # ours and pydantic-ai's
_BARE = """
import sys
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
agent = Agent(OpenAIChatModel("fake", provider=OpenAIProvider(base_url=sys.argv[1], api_key="none")))
agent.run_sync("hello")
"""


def measure(scale: Scale) -> list[Table]:
    calls, work = asyncio.run(_loops(scale.rounds * 2))
    begun, begun_bare = _launches(max(3, scale.starts // 4))
    return [
        Table(
            title="The built-in agent beside bare pydantic-ai",
            figures=(
                _beside("processor time of a tool call, its request and its answer", *work, _MOST),
                _beside("a tool call, its request and its answer", *calls, None),
                _beside("from the launch of the process to the first request", begun, begun_bare, None),
            ),
            notes=(
                f"Median of {scale.rounds * 2} interleaved rounds of {_CALLS} calls that read a file, and of "
                f"{len(begun.samples)} interleaved launches. Ours keeps every message and result in a file "
                "at once, asks for its turn, and resolves links before it opens a file. The processor time "
                "is that of the agent's process, without the model's.",
            ),
        ),
        warm_start.measure(max(3, scale.starts // 4)),
    ]


def _beside(what: str, ours: Spread, bare: Spread, bar: Bar | None) -> Figure:
    ratios = ours.over(bare)
    return Figure(
        what=what,
        value=ours.text(milliseconds),
        beside=f"pydantic-ai {bare.text(milliseconds)}",
        ratio=ratios.middle,
        ratio_text=ratios.text(times),
        bar=bar,
    )


async def _loops(rounds: int) -> tuple[Pair, Pair]:
    """Return the seconds for each call in alternating rounds: wall clock and processor time."""
    directory = tempfile.mkdtemp()
    for number in range(_CALLS):
        Path(directory, f"{number}.txt").write_text(f"the text of file {number}\n")
    prompt = "\n".join(f"CALL read_file {json.dumps({'path': f'{number}.txt'})}" for number in range(_CALLS))
    contenders = (_ours, _bare)
    passed: list[list[float]] = [[] for _ in contenders]
    worked: list[list[float]] = [[] for _ in contenders]
    with _served() as url:
        for number in range(-1, rounds):
            for place, act in enumerate(contenders):
                began = time.perf_counter(), time.process_time()
                answer = await act(url, directory, prompt)
                ended = time.perf_counter(), time.process_time()
                if answer.count("the text of file") != _CALLS:
                    raise RuntimeError(f"not all calls were made: {answer[:200]}")
                if number >= 0:  # the first ones only warm everything up
                    passed[place].append((ended[0] - began[0]) / _CALLS)
                    worked[place].append((ended[1] - began[1]) / _CALLS)
    return (Spread(passed[0]), Spread(passed[1])), (Spread(worked[0]), Spread(worked[1]))


async def _ours(url: str, directory: str, prompt: str) -> str:
    context = RecordingContext(
        Path(tempfile.mkdtemp()), spec=evolve(SPEC, cwd=directory, tools=("read_file",))
    )
    agent = Builtin({"model": "fake", "url": url, "home": directory})
    return (await agent.prompt(await agent.open(context), prompt, context)).text


async def _bare(url: str, directory: str, prompt: str) -> str:
    async with OpenAIChatModel("fake", provider=OpenAIProvider(base_url=url, api_key="none")) as model:
        agent = Agent(model, instructions=SPEC.system)

        @agent.tool_plain
        async def read_file(path: str) -> str:
            """Read a text file of the project."""
            with open(os.path.join(directory, path)) as file:
                return file.read()

        return (await agent.run(prompt, usage_limits=UsageLimits(request_limit=None))).output


@contextmanager
def _served() -> Iterator[str]:
    """Serve the model from a separate process, so that its work is not counted."""
    command = [sys.executable, "-m", "tests.model_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"{server.stdout.readline().strip()}/v1"
        finally:
            server.kill()


def _launches(count: int) -> Pair:
    """Return the seconds from the start of a process to its request, alternating between the contenders."""
    ours: list[float] = []
    bare: list[float] = []
    with ModelServer() as model:
        for _ in range(count):
            directory = tempfile.mkdtemp()
            context = RecordingContext(Path(directory), spec=evolve(SPEC, cwd=directory))
            context.append_messages(context.session, [])
            settings = {"model": "fake", "url": model.openai_url, "home": directory}
            words = [
                "errands.agents.builtin:Builtin",
                json.dumps(settings),
                directory,
                spec_text(context.spec),
            ]
            prompting = ["-m", "errands.testing.prompt_process", *words, context.session, "hello"]
            for samples, command in ((ours, prompting), (bare, ["-c", _BARE, model.openai_url])):
                began = time.monotonic()
                subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, check=True)
                samples.append(model.asked[-1].at - began)
    return Spread(ours), Spread(bare)
