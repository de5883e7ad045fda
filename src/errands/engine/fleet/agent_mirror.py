"""Agents of this home on other hosts: what the fleet knows about them becomes what this home knows.

The prompt, the answer, what it cost, the calls and the session are stored as if the agent ran here. What a
person has to decide becomes an ordinary question of the task, and its answer goes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from errands.engine.approval.questions import ask
from errands.engine.fleet.agent_report import EVENTS, reasons_of
from errands.engine.fleet.far_task import question_mark
from errands.model.action import Prompt
from errands.model.agent.session import Session, remote_session
from errands.model.record import evolve

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from errands.engine.engine import Engine
    from errands.model.approval import Approval
    from errands.model.run import Run
    from errands.model.task import Task
    from errands.ports.fleet import Fleet, PlacedView

_SHOWN = ("approval", "task")  # what a run waits for that does not depend on the lanes of its host


class AgentMirror:
    def __init__(self, engine: Engine, fleet: Fleet) -> None:
        self._engine = engine
        self._fleet = fleet
        self._stored: dict[str, Mapping[str, Any]] = {}

    def keep_only(self, keys: Mapping[str, object]) -> None:
        """Forget runs that are over."""
        self._stored = {key: each for key, each in self._stored.items() if key in keys}

    async def record(self, view: PlacedView, task: Task, run: Run) -> None:
        """Store what is new about an agent; pass on answers to what it asks."""
        facts = view.view
        if not facts or not isinstance(task.action, Prompt):
            return
        await self._bring_events(view, task, run)
        if self._stored.get(view.key) != facts or view.outcome is not None:
            self._store_facts(facts, view, task, run)
            self._stored[view.key] = facts
            self._engine.bell.ring_about([task.id])
        await self._settle_questions(view, task, run)

    async def _bring_events(self, view: PlacedView, task: Task, run: Run) -> None:
        store = self._engine.store
        known = sum(1 for each in store.events(task.id) if each.run == run.number and each.name in EVENTS)
        new = await self._fleet.events(view.number, skip=known)
        if not new:
            return
        now = self._engine.clock.now()
        with store:
            for each in new:  # at our own time: the clock of the host is another one
                store.add_event(task.id, each["name"], run=run.number, now=now, detail=each["detail"])

    def _store_facts(self, facts: Mapping[str, Any], view: PlacedView, task: Task, run: Run) -> None:
        store, now = self._engine.store, self._engine.clock.now()
        with store:
            exchange = store.exchange(run.id)
            assert exchange is not None
            usage = {
                name: count - exchange.usage.get(name, 0)
                for name, count in facts.get("usage", {}).items()
                if count > exchange.usage.get(name, 0)
            }
            tools = facts.get("tools", [])
            if usage or tuple(tools) != exchange.tools:
                store.note_activity(run.id, usage=usage, tools=tools, now=now)
            waiting = facts.get("waiting") if facts.get("waiting") in _SHOWN else None
            if waiting != exchange.waiting:
                store.set_waiting(run.id, waiting)
            if facts["has_session"]:
                self._store_session(facts, view, task, run)
            if view.outcome is not None:
                store.note_answer(
                    run.id, facts.get("answer"), failure=facts.get("failure"), error=facts.get("error")
                )

    def _store_session(self, facts: Mapping[str, Any], view: PlacedView, task: Task, run: Run) -> None:
        store, name = self._engine.store, remote_session(view.host, facts["task"])
        known = store.session(task.id)
        if known is not None and (known.name == name or run.cause == "resume"):
            return
        assert isinstance(task.action, Prompt)
        store.add_session(
            Session(
                task_id=task.id,
                run=run.number,
                agent=facts["agent"],
                name=name,
                forked_from=task.action.fork,
                created_at=self._engine.clock.now(),
            )
        )

    async def _settle_questions(self, view: PlacedView, task: Task, run: Run) -> None:
        """Ask what the agent asks, one question at a time; send the answers back."""
        store, now = self._engine.store, self._engine.clock.now()
        asked = {_mark(view, each["id"]): each for each in view.view["questions"] if view.outcome is None}
        known = {each.digest: each for each in store.approvals(task.id)} if asked else {}
        waiting = store.question(task.id)
        if waiting is not None and waiting.digest.startswith(_mark(view, "")) and waiting.digest not in asked:
            with store:
                store.answer(waiting.id, "void", by="nobody", door="", now=now, note="answered on its host")
            waiting = None
            self._engine.bell.ring_about([task.id])
        for mark, each in asked.items():
            if mark in known:
                await self._send(view, each["id"], known[mark])
            elif waiting is None:
                within = self._engine.config.approval.expires
                held = evolve(task, digest=mark)
                with store:
                    waiting = ask(store, held, run.number, reasons_of(each), now=now, within=within)
                self._engine.bell.ring_about([task.id])

    async def _send(self, view: PlacedView, question: int, answer: Approval) -> None:
        if answer.state == "waiting":
            return
        # What is approved for good here says nothing about what the host allows for good.
        scope = "once" if answer.scope == "once" else "task"
        note = answer.note or ("" if answer.state in ("granted", "refused") else answer.state)
        said = {"state": answer.state, "by": answer.by or "nobody", "note": note, "scope": scope}
        await self._fleet.answer_agent(view.number, attempt=view.attempt, question=question, answer=said)


def _mark(view: PlacedView, question: int | str) -> str:
    return question_mark(view.number, view.attempt, question)
