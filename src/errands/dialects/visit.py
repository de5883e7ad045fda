"""A visit: one call of one caller, who sees the tasks of its own session and no others."""

from __future__ import annotations

import os

from errands.dialects.showing import Shown, bounded, middle_out
from errands.model.errors import BadValue, NotFound
from errands.model.naming import is_id, is_task_id
from errands.model.sanitise import line, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from errands.model.view import View
    from errands.ports.dialect import Caller, Verbs

SHOWN = 30_000  # bytes of a task's output that one reply has room for
ENDS_WITHIN = 10.0  # seconds in which a cancelled task is gone, its grace included
_MOST = 1000  # tasks of one session that are looked through
_LONGEST_NAME = 80


class Missing(NotFound):
    """There is no such task, or it is none of the caller's business: nobody can tell which."""

    def __init__(self, task_id: str) -> None:
        self.shown = line(task_id[:_LONGEST_NAME])
        super().__init__(f"Task not found: {self.shown}")


class Visit:
    """`engine` and `caller`, and what every dialect does with them."""

    def __init__(self, engine: Verbs, caller: Caller) -> None:
        self.engine = engine
        self.caller = caller

    # Finding tasks.

    async def find(self, task_id: str) -> View:
        """Find a task by its id or a unique beginning of it, among those the caller sees."""
        if not is_id(task_id):
            raise Missing(task_id)
        if is_task_id(task_id):
            found = [view for view in await self.engine.list(ids=(task_id,)) if self._sees(view)]
            if found:
                return found[0]
        begun = [view for view in await self.tasks() if view.id.startswith(task_id)]
        if len(begun) != 1:
            raise Missing(task_id)
        return begun[0]

    async def tasks(self, *, states: Iterable[str] = (), batch: str | None = None) -> list[View]:
        """List what the caller sees, newest first; what was turned down is gone from every list."""
        parent = None if self.caller.everything else self.caller.session
        views = await self.engine.list(states=states, batch=batch, parent=parent, limit=_MOST)
        return [view for view in views if self._sees(view)]

    def _sees(self, view: View) -> bool:
        return self.caller.everything or view.parent == self.caller.session

    # Launching.

    @property
    def who(self) -> str:
        """The name that is kept of whoever calls: the run it is part of, or the program it speaks through."""
        if self.caller.run:
            return f"run {self.caller.run}"
        return f"agent {self.caller.client}" if self.caller.client else "agent"

    def options(self, **more: Any) -> dict[str, Any]:
        """Say of a draft where it comes from and who is told; what is None is left out."""
        caller = self.caller
        said: dict[str, Any] = {
            "cwd": caller.cwd,
            "parent": caller.session,
            "owner": caller.session if caller.wake == "session" else None,
            "message": caller.message,
            "batch": None if caller.message is None else f"{caller.session or ''}:{caller.message}",
            "created_by": self.who,
            "door": caller.door,
        }
        said |= {name: value for name, value in more.items() if value is not None}
        return {name: value for name, value in said.items() if value is not None}

    def session(self) -> str:
        """Name the conversation that a fork begins with."""
        if self.caller.session is None:
            raise BadValue("there is no conversation to fork here; leave out fork")
        return self.caller.session

    def directory(self, given: str | None) -> str:
        """Say where a task runs: where the caller is, or a place below or beside it."""
        return self.caller.cwd if given is None else os.path.join(self.caller.cwd, os.path.expanduser(given))

    # Waiting.

    async def ended(self, view: View, milliseconds: float) -> View:
        """Wait until a task ends or the time has passed; whoever gets the end so need not be told."""
        view = await self.engine.wait(view.id, timeout=milliseconds / 1000)
        if not view.is_live:
            await self.engine.acknowledge(view.latest.id, reader=self.caller.door)
        return view

    async def cancelled(self, *views: View) -> list[View]:
        """Cancel tasks and wait until their processes are gone."""
        await self.engine.cancel(*(view.id for view in views), by=self.who)
        return [await self.engine.wait(view.id, timeout=ENDS_WITHIN) for view in views]

    # Reading.

    async def result(self, view: View) -> Shown:
        """Give what a task has to show: an agent's answer, or else what was printed, fenced and bounded."""
        await self.engine.mark_retrieved(view)
        answer = None if view.agent is None or view.is_live else view.agent.answer
        if answer:
            clean = await self.engine.masked(view.id, visible(answer))
            return bounded(clean, SHOWN, rest=_where(view), label=f"answer of {view.id}")
        return await self.printed(view)

    async def printed(self, view: View) -> Shown:
        """Give the beginning and the end of what a task printed."""
        head = await self.engine.output(view.id, limit=SHOWN)
        content, is_cut = head.content, False
        if len(content) >= SHOWN:
            tail = await self.engine.tail(view.id, SHOWN // 40)
            content, is_cut = middle_out(head, tail, SHOWN, rest=_where(view))
        clean = await self.engine.masked(view.id, visible(content))
        return bounded(
            clean, None, rest="", label=f"output of {view.id}", is_cut=is_cut or view.latest.truncated
        )

    async def last_lines(self, view: View, count: int) -> Shown:
        """Give the last lines that a task printed."""
        await self.engine.mark_retrieved(view)
        tail = await self.engine.tail(view.id, count)
        clean = await self.engine.masked(view.id, visible(tail.content))
        return bounded(clean, SHOWN, rest=_where(view), label=f"output of {view.id}")


def _where(view: View) -> str:
    return f"all of it: errands logs {view.id}, or the file {view.latest.output_file}"
