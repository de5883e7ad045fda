"""Replying: what the process of an agent's run does, from its first breath to its exit code."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from errands.engine.agents.agent_context import RunContext
from errands.engine.agents.discovery import Discovery, is_discovery
from errands.engine.engine import Engine
from errands.engine.notices.chat_notices import announce
from errands.model.agent.fork import PREAMBLE
from errands.model.errors import AgentError, ErrandsError, SessionGone
from errands.model.record import evolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.agent import Agent, Answer

STOPPED = 143
_FAREWELL = 2.0  # seconds for an agent to stop what it has set going


async def answer(engine: Engine, run_id: str, make: Callable[[str], Agent]) -> int:
    """Answer the prompt of a run; the answer, or why there is none, is stored before the process ends."""
    context = RunContext(engine, run_id)
    if context.answer is not None:  # it was stored, and then the process died
        print(context.answer, flush=True)
        return 0
    looking = Discovery(engine, run_id) if is_discovery(engine, run_id) else None
    if looking is not None:
        if why := looking.hindrance():
            with engine.store:
                engine.store.note_answer(run_id, "")
            print(f"not now: {why}", flush=True)
            return 0
        context.text = looking.prompt()
    try:
        agent = make(context.spec.agent)
    except ErrandsError as error:
        return fail(engine, run_id, error)
    speaking = asyncio.ensure_future(
        _speak(engine, agent, context, is_first=engine.store.run(run_id).attempt <= 1)
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, speaking.cancel)
    try:
        said = await speaking
        if looking is not None:
            said = evolve(said, text=looking.propose(said.text))
        # At once: an agent may take its time to leave, and what is stored needs no second asking.
        with engine.store:
            engine.store.note_answer(run_id, said.text)
    except asyncio.CancelledError:
        await _say_goodbye(agent, context)
        return STOPPED
    except SessionGone as error:
        context.gone()
        return fail(engine, run_id, error)
    except ErrandsError as error:
        return fail(engine, run_id, error)
    finally:
        context.write_notes()
        with suppress(Exception):
            async with asyncio.timeout(_FAREWELL):
                await agent.close()
    print(said.text, flush=True)
    return 0


async def _speak(engine: Engine, agent: Agent, context: RunContext, *, is_first: bool) -> Answer:
    """Send the prompt to the session of the task, which the first run opens; go on where it was cut off."""
    await context.sit_down()
    if context.own is not None and context.own.gone_at is not None:
        raise SessionGone
    if context.own is None:
        name = await (agent.open(context) if context.fork is None else agent.fork(context.fork, context))
        if context.fork is not None:
            await agent.post(name, PREAMBLE, context)
        context.opened(name)
    else:
        name = context.own.name
        if context.is_half_forked:
            await agent.post(name, PREAMBLE, context)
    if is_first:
        await announce(engine, agent, name, context)
        return await agent.prompt(name, context.text, context)
    return await agent.recover(name, context.text, context)


async def _say_goodbye(agent: Agent, context: RunContext) -> None:
    if context.own is not None:
        with suppress(Exception):
            async with asyncio.timeout(_FAREWELL):
                await agent.abort(context.own.name)


def fail(engine: Engine, run_id: str, error: ErrandsError) -> int:
    """Keep why there is no answer, and what was said until then; give the exit code."""
    partial = error.partial if isinstance(error, AgentError) else ""
    failure = error.failure if isinstance(error, AgentError) else "agent"
    with engine.store:
        engine.store.note_answer(run_id, partial or None, failure=failure, error=str(error))
    if partial:
        print(partial, flush=True)
    print(f"errands: {error}", file=sys.stderr, flush=True)
    return error.exit_code
