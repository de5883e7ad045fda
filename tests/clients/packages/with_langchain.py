"""LangChain's adapters for MCP: our tools in an agent of LangChain's, and a conversation that goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def converse(given: dict[str, Any]) -> list[str]:
    command, *arguments = given["command"]
    server = {
        "transport": "stdio",
        "command": command,
        "args": arguments,
        "env": given["env"],
        "cwd": given["cwd"],
    }
    tools = await MultiServerMCPClient({"errands": server}).get_tools()
    agent = create_agent(ChatOpenAI(model="fake", base_url=given["model"], api_key="none"), tools)
    answers: list[str] = []
    messages: list[Any] = []
    for prompt in given["prompts"]:
        done = await agent.ainvoke({"messages": [*messages, {"role": "user", "content": prompt}]})
        messages = done["messages"]
        answers.append(messages[-1].content)
    return answers


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(converse(json.loads(sys.argv[1])))) + "\n")
