"""A turn: one message of the person and the answer to it.

The model gate is held while the agent thinks, so that background runs on the same model pause; while it waits
for a person or for a command of its own, they continue.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Protocol

from errands.engine.agents.model_gate import ModelGate
from errands.engine.agents.speech import Said, SpeechReader
from errands.engine.bell_line import BellLine
from errands.engine.engine import Engine
from errands.model.errors import SessionGone
from errands.model.options.draft import Draft
from errands.model.record import evolve
from errands.model.states import ENDED
from errands.model.view import View


class AnswerWriter(Protocol):
    """What an answer is written to, as it arrives."""

    def write(self, said: Said) -> None: ...
    def finish(self, answer: str) -> None: ...


LANE = "chat"
POLL = 0.05  # seconds between two checks of the answer


def send(engine: Engine, draft: Draft) -> View:
    """Send a message to the conversation with the draft's key; the first one creates it.

    `draft.message` identifies the message, if its frontend has ids.
    """
    assert draft.prompt is not None
    assert draft.key is not None
    task_id = engine.id_by_key(draft.key)
    if task_id is not None:
        try:
            # The person waits for every turn, so the run itself may report that the session is gone.
            return engine.sessions.resume(task_id, draft.prompt, key=draft.message, may_start=False)
        except SessionGone:
            # Its backend does not know it (any more), so it cannot be resumed.
            engine.clear([task_id])
    return engine.sessions.ask(evolve(draft, lane=LANE, notify="never"))


async def stream_answer(engine: Engine, view: View, answer: AnswerWriter) -> View:
    """Write the answer of the latest run as it arrives; return the view when the run has ended."""
    run_id = view.latest.id
    reader = SpeechReader(engine.home.run(run_id))
    gate = ModelGate(engine.home.path)
    with ExitStack() as gates:
        is_held = False
        async with BellLine(engine, [view.id]) as line:
            while True:
                # Read the state first, so that nothing said before the end is missed.
                state = engine.run(run_id).state
                for said in reader.read():
                    answer.write(said)
                if state in ENDED:
                    break
                exchange = engine.sessions.exchange(run_id)
                thinks = exchange is None or exchange.waiting not in ("approval", "task")
                if thinks and not is_held:
                    gates.enter_context(gate)
                elif is_held and not thinks:
                    gates.close()
                is_held = thinks
                await line.news(POLL)
    ended = engine.summaries([view.id])[0]
    exchange = engine.sessions.exchange(run_id)
    answer.finish((exchange.answer if exchange else None) or "")
    return ended
