"""What the process of an agent's run does, from start to exit code."""

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
from errands.model.errors import AgentError, ErrandsError, SessionGone, printed
from errands.model.record import evolve
from errands.model.run import task_of
from errands.model.view import STOPPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.agents.background_calls import Offer
    from errands.model.run import Run
    from errands.ports.agent import Agent, Answer

_CLOSE_WITHIN = 2.0  # seconds for an agent to stop what it started


async def answer(
    engine: Engine, run_id: str, make: Callable[[str], Agent], offer: Offer | None = None
) -> int:
    """Answer the prompt of a run; the answer, or why there is none, is stored before the process ends.

    `offer` makes the background tools of a conversation.
    """
    context = RunContext(engine, run_id, offer)
    if context.answer is not None:  # it was stored, and then the process died
        print(context.answer, flush=True)
        return 0
    discovery = Discovery(engine, run_id) if is_discovery(engine, run_id) else None
    if discovery is not None:
        if why := discovery.hindrance():
            with engine.store:
                engine.store.note_answer(run_id, "")
            print(f"not now: {why}", flush=True)
            return 0
        context.text, context.spec = discovery.prompt(), discovery.scoped(context.spec)
    try:
        agent = make(context.spec.agent)
    except ErrandsError as error:
        return fail(engine, run_id, error)
    answering = asyncio.ensure_future(
        _answer(engine, agent, context, is_first=is_first(engine.store.run(run_id), context))
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, answering.cancel)
    try:
        said = await answering
        if discovery is not None:
            said = evolve(said, text=discovery.propose(said.text))
        # At once: the agent may take its time to close, and what is stored is not asked for again.
        with engine.store:
            engine.store.note_answer(run_id, said.text)
        engine.bell.announce([task_of(run_id)[0]])
    except asyncio.CancelledError:
        await _abort(agent, context)
        return STOPPED
    except SessionGone as error:
        context.gone()
        return fail(engine, run_id, error)
    except ErrandsError as error:
        return fail(engine, run_id, error)
    finally:
        context.write_activity()
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE_WITHIN):
                await agent.close()
    print(said.text, flush=True)
    return 0


def is_first(run: Run, context: RunContext) -> bool:
    """Return whether nothing of a run is done yet; a session that comes with it is from another host."""
    return run.attempt <= 1 and (context.own is None or run.cause == "resume")


async def _answer(engine: Engine, agent: Agent, context: RunContext, *, is_first: bool) -> Answer:
    """Send the prompt to the task's session, which the first run opens; continue what was cut off."""
    await context.take_over()
    if context.own is not None and context.own.gone_at is not None:
        raise SessionGone
    if context.own is None:
        name = await (agent.open(context) if context.fork is None else agent.fork(context.fork, context))
        context.opened(name)
    else:
        name = context.own.name
    if is_first:
        await announce(engine, agent, name, context)
        return await agent.prompt(name, context.text, context)
    return await agent.recover(name, context.text, context)


async def _abort(agent: Agent, context: RunContext) -> None:
    if context.own is not None:
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE_WITHIN):
                await agent.abort(context.own.name)


def fail(engine: Engine, run_id: str, error: ErrandsError) -> int:
    """Store why the agent did not answer, and what it had said so far; return the exit code."""
    partial = error.partial if isinstance(error, AgentError) else ""
    failure = error.failure if isinstance(error, AgentError) else "agent"
    with engine.store:
        engine.store.note_answer(run_id, partial or None, failure=failure, error=str(error))
    if partial:
        print(partial, flush=True)
    print(printed(error), end="", file=sys.stderr, flush=True)
    return error.exit_code
