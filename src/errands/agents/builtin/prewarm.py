"""Pay the start-up cost of the built-in agent before a process is forked for a run.

pydantic builds most of its classes on first use, and providers load half of their libraries then. Importing
this module is enough. No request is made, and nothing of a run is created or kept.
"""

from __future__ import annotations

import asyncio
from importlib import import_module

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.test import TestModel

from errands.agents.builtin import Builtin as Builtin

# What the first request and the price of its answer load.
_LATER = (
    "anyio._backends._asyncio",
    "concurrent.futures.thread",
    "genai_prices.data",
    "openai.resources.chat.chat",
    "openai.resources.responses.responses",
)


def prewarm() -> None:
    for name in _LATER:
        try:
            import_module(name)
        except ImportError:
            continue  # not every provider needs every library
    agent = Agent(TestModel())

    @agent.tool_plain
    async def echo(text: str, times: int = 1) -> str:
        """Say something again.

        Args:
            text: What is said.
            times: How often.
        """
        return text * times

    said = asyncio.run(agent.run("hello"))
    ModelMessagesTypeAdapter.validate_json(said.all_messages_json())


prewarm()
