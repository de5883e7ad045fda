"""A pydantic-ai agent with background tasks: it starts one, is notified of its end, and asks before deleting.

Run it with `python examples/toolset.py`. The model is a script, so that nothing but the extra `agents` is
needed; put the name of a real one in its place.
"""

from __future__ import annotations

import asyncio
import tempfile

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import errands

CALLS = (
    ("run", {"command": "sleep 0.3; echo 12 passed", "name": "tests"}),
    ("run", {"command": "rm -rf build", "name": "tidy", "wait": 10_000}),
)


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Act as a model would: make the calls, then sum up the notices."""
    parts = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    results = [part for part in parts if isinstance(part, ToolReturnPart)]
    if len(results) < len(CALLS):
        return ModelResponse(parts=[ToolCallPart(*CALLS[len(results)])])
    notices = [str(part.content) for part in parts if isinstance(part, UserPromptPart)][1:]
    return ModelResponse(parts=[TextPart("\n".join(["I was notified:", *notices]))])


async def main(home: str) -> None:
    async with errands.connect(home) as engine:
        agent = Agent(
            FunctionModel(scripted),
            output_type=[str, DeferredToolRequests],
            capabilities=[errands.BackgroundTasks(engine, cwd=home, linger=20)],
        )
        result = await agent.run("Run the tests, then tidy up.")
        while isinstance(result.output, DeferredToolRequests):
            for call in result.output.approvals:
                question = result.output.metadata[call.tool_call_id]
                print(f"{question['command']}: {'; '.join(question['reasons'])} [y/n] y")
            answers = result.output.build_results(approve_all=True, metadata=result.output.metadata)
            result = await agent.run(conversation=result.conversation, deferred_tool_results=answers)
        print(result.output)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(main(home))
