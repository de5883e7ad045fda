"""A turn: one message of the person and the answer to it.

The gate is held while the agent thinks, so that background runs on the same model pause; while it waits for a
person or for a command of its own, they may go on.
"""

from __future__ import annotations

from contextlib import ExitStack

from errands.engine.agents.model_gate import ModelGate
from errands.engine.agents.speech import SpeechReader
from errands.engine.bell_line import BellLine
from errands.engine.engine import Engine
from errands.frontends.chat.agent_stream import AgentStream
from errands.model.errors import SessionGone
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.states import ENDED
from errands.model.view import View

LANE = "chat"
GLANCE = 0.05  # seconds between two looks at what is being said


def send(engine: Engine, draft: Draft) -> View:
    """Send a message to the conversation that the draft's key names; the first one makes it."""
    assert draft.prompt is not None
    assert draft.key is not None
    task_id = engine.id_by_key(draft.key)
    if task_id is not None:
        try:
            return engine.sessions.resume(task_id, draft.prompt)
        except SessionGone:
            # Its backend has forgotten it, or never knew it: there is nothing to go on with.
            engine.clear([task_id])
    return engine.sessions.ask(evolve(draft, lane=LANE, notify="never"))


async def attend(engine: Engine, view: View, speaking: AgentStream) -> View:
    """Stay with the latest run of a conversation until it has ended, and put on paper what is said."""
    run_id = view.latest.id
    stream = SpeechReader(engine.home.run(run_id))
    gate = ModelGate(engine.home.path)
    with ExitStack() as held:
        is_held = False
        async with BellLine(engine, [view.id]) as line:
            while True:
                # The state first: what was said before the end is then never missed.
                state = engine.run(run_id).state
                for said in stream.read():
                    speaking.hear(said)
                if state in ENDED:
                    break
                exchange = engine.sessions.exchange(run_id)
                thinks = exchange is None or exchange.waiting not in ("approval", "task")
                if thinks and not is_held:
                    held.enter_context(gate)
                elif is_held and not thinks:
                    held.close()
                is_held = thinks
                await line.news(GLANCE)
    ended = engine.summaries([view.id])[0]
    answer = engine.sessions.exchange(run_id)
    speaking.finish((answer.answer if answer else None) or "")
    return ended
