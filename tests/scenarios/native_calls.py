"""Calls of our own dialect that several tests make."""

from __future__ import annotations

from typing import Any

from errands.testing.speaker import Speaker, facts


async def run(speaker: Speaker, command: str, **more: Any) -> str:
    return str(facts(await speaker("run", command=command, **more))["id"])


async def finished(speaker: Speaker, command: str, **more: Any) -> str:
    return await run(speaker, command, wait=20_000, **more)
