"""The engine for programs: the verbs of the Engine, and waiting that does not block the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Unpack

from errands.engine.bell_line import BellLine
from errands.engine.engine import Engine
from errands.engine.waiting import LOOK
from errands.model.errors import BadValue, ErrandsError
from errands.model.notices.notice import Notice
from errands.model.options.draft import Draft
from errands.model.options.table import BY_NAME
from errands.model.run import Event
from errands.model.states import ENDED, OPEN
from errands.model.view import View
from errands.ports.output import Piece
from errands.ports.store import Query
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.live.hub import Changes
    from errands.model.action import Command
    from errands.model.agent.session import Exchange
    from errands.model.approval import Scope
    from errands.model.limits import Lane
    from errands.model.options.typed import PromptOptions, TaskOptions
    from errands.model.text.mask import Mask

_CHUNK = 256 * 1024
_LOOK = 0.01  # seconds between two checks whether a run on another host has taken its input
# Tasks in one transaction. The first of many run while the last are judged: 400 shell lines take 9 % less
# time than in one transaction, and 2 % less than 100 at a time.
_AT_ONCE = 32
_READ_AT_ONCE = 100  # ended tasks, while others still run


class AsyncEngine:
    """What `errands.connect()` returns. Its verbs are local transactions, well under a millisecond each."""

    def __init__(self, engine: Engine, *, ensure_daemon: Callable[[], None] | None = None) -> None:
        self.engine = engine
        self._ensure_daemon = ensure_daemon or engine.ensure_daemon
        self._gathered: list[tuple[Draft, asyncio.Future[View]]] = []

    async def submit(
        self, command: Command | Sequence[str] | Draft, /, **options: Unpack[TaskOptions]
    ) -> View:
        """Create a task. What several coroutines submit at once is written in one transaction.

        A transaction for each of them would take 538 instead of 311 us of processor time per task.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[View] = loop.create_future()
        self._gathered.append((drafted(command, options), answer))
        if len(self._gathered) == 1:
            loop.call_soon(self._submit_gathered)
        return await answer

    def _submit_gathered(self) -> None:
        gathered, self._gathered = self._gathered[:_AT_ONCE], self._gathered[_AT_ONCE:]
        if self._gathered:
            asyncio.get_running_loop().call_soon(self._submit_gathered)
        wanted = [(draft, answer) for draft, answer in gathered if not answer.done()]
        try:
            found = self.engine.submit_each(draft for draft, _ in wanted)
        except Exception as error:  # noqa: BLE001  # passed on to the callers
            for _, answer in wanted:
                answer.set_exception(error)
            return
        for (_, answer), view in zip(wanted, found, strict=True):
            if isinstance(view, ErrandsError):
                answer.set_exception(view)
            else:
                answer.set_result(view)

    async def ask(
        self,
        text: str,
        /,
        *,
        resume: str | None = None,
        history: Sequence[str] | None = None,
        **options: Unpack[PromptOptions],
    ) -> View:
        """Ask an agent.

        `resume` takes no options: a conversation keeps those that it was started with. `history`
        is a conversation to fork, as pydantic-ai writes messages; the agent needs the backend `builtin`.
        """
        if resume is not None and (given := sorted(options.keys() - {"fork", "is_awaited"})):
            raise BadValue(
                f"a resume does not take {', '.join(given)}: a conversation keeps the options that it "
                "was started with; leave it out, or fork the conversation"
            )
        draft = drafted((), {**options, "prompt": text})
        return self.engine.sessions.ask(draft, resume=resume, history=history)

    async def resume(
        self, task_id: str, text: str, *, is_awaited: bool = False, key: str | None = None
    ) -> View:
        """Send a follow-up prompt to a completed task's session, as a new run; once for each key."""
        return self.engine.sessions.resume(task_id, text, is_awaited=is_awaited, key=key)

    async def conversation(self, task_id: str) -> list[tuple[int, Exchange]]:
        """List what an agent was asked and answered, oldest first, with the numbers of the runs."""
        return self.engine.sessions.conversation(task_id)

    async def end_session(self, name: str) -> None:
        """Note that a parent session is over: its tasks continue, and are kept no longer than others."""
        self.engine.sessions.end_session(name)

    async def submit_all(self, drafts: Sequence[Draft]) -> list[View]:
        """Create several tasks at once; `after` may name another one of them."""
        return self.engine.submit_all(drafts)

    async def get(self, task_id: str) -> View:
        return self.engine.get(task_id)

    async def output(self, task_id: str, *, offset: int = 0, limit: int | None = None) -> Piece:
        return self.engine.output(task_id, offset=offset, limit=limit)

    async def tail(self, task_id: str, lines: int | None = None) -> Piece:
        return self.engine.tail(task_id, lines)

    async def cancel(self, *task_ids: str, by: str | None = None) -> list[View]:
        return self.engine.cancel(task_ids, by=by)

    async def restart(self, task_id: str, *, key: str | None = None) -> View:
        """Run an ended task again, as a new run; once for each key."""
        return self.engine.restart(task_id, key=key)

    async def pause(self, task_id: str, *, by: str | None = None, run: bool = False) -> View:
        """Pause a schedule, or suspend the processes of a running task; a pending one is held."""
        return self.engine.queue.pause(task_id, by=by, run=run)

    async def unpause(self, task_id: str, *, run: bool = False) -> View:
        return self.engine.queue.unpause(task_id, run=run)

    async def hold(self, task_id: str, *, by: str | None = None) -> View:
        """Keep a pending task from starting until it is released."""
        return self.engine.queue.hold(task_id, by=by)

    async def release(self, task_id: str) -> View:
        return self.engine.queue.release(task_id)

    async def move(self, task_id: str, *, before: str | None = None, last: bool = False) -> View:
        """Move a pending task to the front of its lane, to the end, or before another one."""
        return self.engine.queue.move(task_id, before=before, last=last)

    async def edit(self, task_id: str, /, **changes: Any) -> View:
        """Change the command or options of a pending task, which is judged again."""
        return self.engine.queue.edit(task_id, **changes)

    async def lanes(self) -> Sequence[Lane]:
        return self.engine.queue.lanes()

    async def set_lane(self, name: str, width: int | None, *, by: str | None = None) -> Lane:
        """Set the width of a lane from now on; None: as the configuration says."""
        return self.engine.queue.set_lane(name, width, by=by)

    async def fire(self, task_id: str) -> View:
        """Run a task now, whatever its trigger says."""
        return self.engine.schedules.fire(task_id)

    async def approve(
        self,
        task_id: str,
        *,
        by: str,
        door: str = "python",
        scope: Scope = "once",
        question: int | None = None,
    ) -> View:
        """Approve a proposed task on behalf of a person whom the program knows.

        `question` is the one that the person saw; the answer counts for no other.
        """
        return self.engine.approve(task_id, by=by, door=door, scope=scope, question=question)

    async def reject(
        self, task_id: str, *, by: str, door: str = "python", note: str = "", question: int | None = None
    ) -> View:
        return self.engine.reject(task_id, by=by, door=door, note=note, question=question)

    async def clear(self, *task_ids: str) -> list[str]:
        return self.engine.clear(task_ids)

    async def send(self, task_id: str, content: bytes, *, eof: bool = False) -> None:
        for _ in self.engine.sending(task_id, content, eof=eof):
            await asyncio.sleep(_LOOK)

    async def mask(self, *task_ids: str) -> Mask:
        """Return what hides the secrets of tasks, and well-known tokens, in a text."""
        return self.engine.mask(*task_ids)

    async def mark_retrieved(self, view: View) -> None:
        self.engine.mark_retrieved(view)

    async def expect(self, run_id: str) -> None:
        """Note that the caller blocks until a run ends, and needs no notice meanwhile."""
        self.engine.sessions.expect(run_id)

    async def acknowledge(self, run_id: str, *, reader: str) -> None:
        """Note that the caller has the result, and needs no notice."""
        self.engine.sessions.acknowledge(run_id, reader=reader)

    async def give_up_waiting(self, run_id: str) -> None:
        """Note that the caller has stopped waiting, and needs a notice after all."""
        self.engine.sessions.give_up_waiting(run_id)

    def knows_agent(self, name: str) -> bool:
        from errands.config.backends import is_agent

        return is_agent(name, self.engine.config.backends)

    def now(self) -> datetime:
        return self.engine.clock.now()

    async def events(self, task_id: str) -> list[Event]:
        return self.engine.events(task_id)

    async def take_notices(self, owner: str = "user", *, reader: str = "python") -> list[Notice]:
        """Return the unread notices of an owner; each is returned once."""
        return self.engine.take_notices(owner, reader=reader)

    async def wait(self, task_id: str, *, timeout: float | timedelta | None = None) -> View:
        """Wait until a task ends, or the time-out passes; the view says which."""
        return (await self.wait_all([task_id], timeout=timeout))[0]

    async def wait_all(
        self, task_ids: Sequence[str], *, timeout: float | timedelta | None = None
    ) -> list[View]:
        known = self.engine.store.liveness(task_ids)
        ids = [each if each in known else self.engine.resolve(each) for each in task_ids]
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        if seconds is not None and seconds < 0:
            raise BadValue(f"a time-out cannot be negative: {seconds}")
        deadline = None if seconds is None else time.monotonic() + seconds
        # Read the first of many while the others still run.
        views: list[View] = []
        in_time = True
        for start in range(0, len(ids), _READ_AT_ONCE):
            some = ids[start : start + _READ_AT_ONCE]
            in_time = in_time and await self._wait_for(some, deadline)
            views += self.engine.summaries(some)
        return views

    async def _wait_for(self, task_ids: Sequence[str], deadline: float | None) -> bool:
        """Wait for tasks to end; return whether all have."""
        while True:
            known = self.engine.store.liveness(task_ids)
            live = [each for each in task_ids if known.get(each, True)]
            # Wait for the last one first: when it has ended, most others have, too.
            if not live or not await self._wait(live[-1], deadline):
                return not live

    async def _wait(self, task_id: str, deadline: float | None) -> bool:
        if self.engine.store.ended(task_id):
            return True
        async with BellLine(
            self.engine, [task_id], ensure_daemon=self._ensure_daemon, ends_only=True
        ) as line:
            while not self.engine.store.ended(task_id):
                left = LOOK if deadline is None else min(LOOK, deadline - time.monotonic())
                if left <= 0:
                    return False
                await line.news(left)
        return True

    async def watch(self, *task_ids: str) -> AsyncIterator[View]:
        """Yield a task's view whenever it changes; any task's if none is named. It never ends by itself.

        If a ring is lost, the change is seen at the next poll.
        """
        ids = tuple(self.engine.resolve(each) for each in task_ids)
        seen = {view.id: _place(view) for view in self._watched(ids, ())}
        async with BellLine(self.engine, ids or ("*",), ensure_daemon=self._ensure_daemon) as line:
            while True:
                changed = await line.news(LOOK)
                for view in self._watched(changed or ids, () if changed else seen):
                    place = _place(view)
                    if changed or seen.get(view.id) != place:
                        seen[view.id] = place
                        yield view
                    if not ids and not view.is_live:
                        seen.pop(view.id, None)

    def changes(self) -> Changes:
        """Listen to every change of every task: `async with engine.changes() as changes`, then `async for`.

        All listeners of a process share one line to the daemon. A change has ids alone; read what is shown.
        """
        return self.engine.changes()

    def _watched(self, ids: Sequence[str], seen: Iterable[str]) -> list[View]:
        """Return these tasks, or by default all open ones and those that were open when last seen."""
        if ids:
            return self.engine.list(Query(ids=tuple(ids)))
        live = self.engine.list(Query(states=OPEN))
        gone = set(seen).difference(view.id for view in live)
        return [*live, *self.engine.list(Query(ids=tuple(gone)))]

    async def follow(self, task_id: str) -> AsyncIterator[bytes]:
        """Yield a task's output from its beginning, as it is printed, until the run has ended."""
        view = self.engine.get(task_id)
        run_id, offset = view.latest.id, 0
        async with BellLine(self.engine, [view.id], ensure_daemon=self._ensure_daemon) as line:
            while True:
                over = self._is_over(view, run_id)
                piece = self.engine.output(run_id, offset=offset, limit=_CHUNK)
                offset = piece.next_offset
                if piece.content:
                    yield piece.content
                    await asyncio.sleep(0)  # a task that prints fast must not starve the loop
                elif over:
                    return
                else:
                    await line.news(0.1)

    def _is_over(self, view: View, run_id: str) -> bool:
        """Return whether a run has ended; a recurring task outlives its runs."""
        if view.standing is None:
            return self.engine.store.ended(view.id)
        return not view.latest.number or self.engine.store.run(run_id).state in ENDED

    async def list(
        self,
        *,
        states: Iterable[str] = (),
        batch: str | None = None,
        parent: str | None = None,
        owner: str | None = None,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[View]:
        asked = None if ids is None else tuple(ids)
        return self.engine.list(
            Query(states=tuple(states), batch=batch, parent=parent, owner=owner, ids=asked, limit=limit)
        )


def drafted(command: Any, options: Mapping[str, Any]) -> Draft:
    """Return the draft for the arguments of `submit`: a shell line, words or a draft, and task options."""
    if isinstance(command, Draft):
        if options:
            raise BadValue(f"a Draft takes no further options (got {', '.join(options)}); put them into it")
        return command
    for name in options:
        if name not in BY_NAME and name != "prompt":
            raise BadValue(
                f"unknown option {name!r}{did_you_mean(name, BY_NAME)}; see docs/reference/python.md"
            )
    return Draft(command=command, **options)


def _place(view: View) -> tuple[object, ...]:
    """Return facts that change when a task moves on, or when its agent waits for something else."""
    waiting = view.agent.waiting if view.agent else None
    return view.latest.id, view.latest.state, view.latest.stop_requested_at, waiting
