"""What callers that speak like OpenCode do all the time: launch an agent, wait for it, keep it busy."""

from __future__ import annotations

import re
from typing import Any

from errands.model.record import evolve
from errands.model.view import View
from errands.ports.dialect import Reply
from errands.testing.engines import WITHIN, until
from errands.testing.speaker import EngineCarrier, Speaker


def task_id(reply: Reply) -> str:
    (found,) = re.findall(r"^Task ID: (\S+)", reply.text, re.MULTILINE)
    return str(found)


async def launch(speaker: Speaker, prompt: str, **more: Any) -> str:
    given = {"description": "a task", "prompt": prompt, "agent": "offline", **more}
    return task_id(await speaker("background_task", **given))


async def answered(speaker: Speaker, prompt: str, **more: Any) -> str:
    found = await launch(speaker, prompt, **more)
    await speaker.engine.wait(found, timeout=WITHIN)
    return found


async def command(speaker: Speaker, line: str) -> str:
    """Start a command in the same session: where it does not matter what a task is, it is the quickest."""
    view = await speaker.engine.submit(line, parent=speaker.caller.session, description="a task")
    return view.id


async def ended(speaker: Speaker) -> str:
    return (await speaker.engine.wait(await command(speaker, "true"), timeout=WITHIN)).id


async def busy(speaker: Speaker) -> str:
    """Launch an agent that is in the middle of something."""
    found = await launch(speaker, "`sleep 600`")
    await until(lambda: _calls(speaker, found))
    return found


def _calls(speaker: Speaker, found: str) -> int:
    (view,) = speaker.engine.engine.summaries([found])
    assert view.agent is not None
    return view.agent.tool_calls


async def shown(speaker: Speaker, found: str) -> View:
    return await speaker.engine.get(found)


def within(speaker: Speaker, conversation: str) -> Speaker:
    """Return the same caller inside of a conversation that its frontend knows."""
    caller = evolve(speaker.caller, conversation=conversation)
    return Speaker(speaker.stage, EngineCarrier(speaker.engine, "opencode", caller), caller)
