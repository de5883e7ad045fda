"""OpenAI's Agents SDK: an agent with our server, and a conversation that goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI


async def converse(given: dict[str, Any]) -> list[str]:
    set_tracing_disabled(True)
    command, *arguments = given["command"]
    server = {"command": command, "args": arguments, "env": given["env"], "cwd": given["cwd"]}
    client = AsyncOpenAI(base_url=given["model"], api_key="none")
    answers: list[str] = []
    history: list[Any] = []
    async with MCPServerStdio(params=server, client_session_timeout_seconds=60) as ours:
        model = OpenAIResponsesModel(model="fake", openai_client=client)
        agent = Agent(name="tester", model=model, mcp_servers=[ours])
        for prompt in given["prompts"]:
            done = await Runner.run(agent, [*history, {"role": "user", "content": prompt}])
            history = done.to_input_list()
            answers.append(done.final_output)
    return answers


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(converse(json.loads(sys.argv[1])))) + "\n")
