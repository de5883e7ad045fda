"""Chat notices: what the background tasks of a chat did, posted to its agent before the next prompt.

Each is posted as a message of its own, fenced, so that nothing it quotes can pass for the person's words. A
notice stays in the inbox until it is posted, and a posted one is recognised by its mark: it is reported once.
"""

from __future__ import annotations

from errands.engine.notices.inbox import is_answered, is_own
from errands.engine.notices.run_result import shown
from errands.model.agent.session import is_conversation
from errands.model.notices.delivery import delivery_of, message, sealed, share
from errands.model.notices.result import Hints
from errands.model.run import task_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from errands.engine.agents.agent_context import RunContext
    from errands.engine.engine import Engine
    from errands.model.notices.delivery import Delivery
    from errands.model.notices.notice import Notice
    from errands.model.task import Task
    from errands.ports.agent import Agent
    from errands.ports.store import Store

BUDGET = 20_000  # bytes of a delivery
BY_PERSON = "the person does, with y or n"
MOST = 500  # notices before one prompt; the others come before the next


async def announce(engine: Engine, agent: Agent, session: str, context: RunContext) -> None:
    """Post what is new to the session of a chat; do nothing for any other task."""
    store, task = engine.store, engine.store.task(task_of(context.run)[0])
    if not is_conversation(task):
        return
    for delivery in news(store, task, now=engine.clock.now()):
        mark = f"[notice {delivery.key}]"
        with store:
            # Notices that arrive after a crash get a mark of their own; under this one they would be skipped.
            store.assign_delivery([each.id for each in delivery.notices])
        if not any(mark in each for each in context.messages(session) or ()):
            report = message(shown(engine, delivery), mark, BUDGET, _hints(context))
            await agent.post(session, report, context)
        with store:
            store.mark_delivered([each.id for each in delivery.notices], now=engine.clock.now())


def news(store: Store, task: Task, *, now: datetime) -> list[Delivery]:
    """Return the deliveries for the inbox of a chat.

    The agent's own calls, which it knows about, and answered questions are left out.
    """
    waiting: list[Notice] = []
    past: list[Notice] = []
    for notice in store.inbox(task.owner)[:MOST]:
        is_past = is_own(store, task.id, notice) or is_answered(store, notice)
        (past if is_past else waiting).append(notice)
    if past:
        with store:
            store.mark_delivered([each.id for each in past], now=now)
    deliveries = []
    while waiting:
        taken = sealed(waiting) or waiting[: share(waiting, BUDGET)]
        deliveries.append(delivery_of(taken))
        waiting = [each for each in waiting if each not in taken]
    return deliveries


def _hints(context: RunContext) -> Hints:
    """Return how an agent reads more: with its background tools, or else with a command."""
    if context.background is None:
        return Hints(answer=BY_PERSON)
    return Hints(show='show {"id": "ID"}', logs='output {"id": "ID"}', answer=BY_PERSON)
