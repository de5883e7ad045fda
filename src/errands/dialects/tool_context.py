"""The context of one tool call; its caller sees only the tasks of its own session."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from typing import Any

from errands.dialects.output_text import Shown, bounded, middle_out, one_line
from errands.model.agent.session import is_conversation, message_batch
from errands.model.errors import BadValue, ErrandsError, NotFound, ambiguous, printed
from errands.model.text.ids import is_id, is_task_id, meant
from errands.model.text.sanitise import line, visible
from errands.model.view import View
from errands.ports.dialect import Caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.dialect import EngineApi

SHOWN = 30_000  # bytes of a task's output in one reply
ENDS_WITHIN = 10.0  # seconds until a cancelled task is gone, including its grace period
_MOMENT, _LOOKS = 0.005, 20  # seconds between checks of a task that is about to start, and how many
_HOSTS_TAKE = 30  # checks whether another host has begun a task, each after a glance
_GLANCE = 0.1  # seconds between checks of a recurring task's run, whose end rings no bell
_MOST = 1000  # tasks of one session that are searched
_LONGEST_NAME = 80
GENERAL = "general"  # the agent for everything, where a client has agents of its own


class Missing(NotFound):
    """The task does not exist, or the caller may not see it: the reply does not say which."""

    def __init__(self, task_id: str) -> None:
        self.shown = line(task_id[:_LONGEST_NAME])
        super().__init__(f"Task not found: {self.shown}")


class Declined(ErrandsError):  # noqa: N818
    """A person said no to what a call launched."""

    def __init__(self, view: View) -> None:
        self.view = view
        super().__init__(declined_text(view.id))


def declined_text(ids: str) -> str:
    return f"Declined by the person asked: {ids} did not start and will not."


class ToolContext:
    """`engine` and `caller`, and what dialects do with them."""

    def __init__(self, engine: EngineApi, caller: Caller) -> None:
        self.engine = engine
        self.caller = caller

    # Finding tasks.

    async def find(self, task_id: str) -> View:
        """Find a task by its id or a prefix that only one has, among those the caller sees."""
        if not is_id(task_id):
            raise Missing(task_id)
        if is_task_id(task_id):
            found = [view for view in await self.engine.list(ids=(task_id,)) if self._sees(view)]
            if found:
                return found[0]
        begun = {view.id: view for view in await self.tasks() if view.id.startswith(task_id)}
        if not begun:
            raise Missing(task_id)
        one = meant(task_id, [(view.id, view.is_live) for view in begun.values()])
        if one is None:
            raise ambiguous(task_id, list(begun))
        return begun[one]

    async def own_tasks(self, *, batch: str | None = None) -> list[View]:
        """List the tasks of the caller's session alone, for what cancels or removes many at once."""
        return [view for view in await self.tasks(batch=batch) if view.parent == self.caller.session]

    async def tasks(self, *, states: Iterable[str] = (), batch: str | None = None) -> list[View]:
        """List what the caller sees, newest first; rejected tasks are in no list."""
        session = None if self.caller.everything else self.caller.session
        views = await self.engine.list(states=states, batch=batch, parent=session, limit=_MOST)
        if session is not None:
            # What its shell started with `errands run` reports to the session, and has no other parent.
            known = {view.id for view in views}
            told = await self.engine.list(states=states, batch=batch, owner=session, limit=_MOST)
            views = [*views, *(view for view in told if view.id not in known)]
            views.sort(key=lambda view: view.created_at, reverse=True)
        return [view for view in views if self._sees(view)]

    def _sees(self, view: View) -> bool:
        if is_conversation(view) and view.owner == self.caller.session:
            return False  # the caller's own run: it cannot wait for that, and to cancel it ends the caller
        return self.caller.everything or self.caller.session == (view.parent or view.owner)

    # Launching. A call that asked a person is repeated after the answer, which may be no.

    async def submit(self, command: str, *, is_awaited: bool = False, **options: Any) -> View:
        """Run a command, with the options of this caller and `options`."""
        is_awaited = is_awaited and self.caller.wake == "session"
        return await self._taken(
            await self.engine.submit(command, is_awaited=is_awaited, **self.options(**options))
        )

    async def ask(self, prompt: str, *, is_awaited: bool = False, **options: Any) -> View:
        """Let an agent work on a prompt, with the options of this caller and `options`."""
        view = await self.engine.ask(prompt, is_awaited=is_awaited, **self.options(**options))
        return _accepted(view)

    async def _taken(self, view: View) -> View:
        """Return a task that was not declined; one for another host, once that has begun it or asks."""
        return _accepted(await self.started(view) if view.host else view)

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the options of a draft: origin, whom to notify, and `more`, without what is None."""
        caller = self.caller
        said: dict[str, Any] = {
            "cwd": caller.cwd,
            "parent": caller.session,
            "owner": caller.session if caller.wake == "session" else None,
            "message": caller.message,
            "batch": None if caller.message is None else message_batch(caller.session or "", caller.message),
            "created_by": caller.actor,
            "door": caller.door,
            "within": caller.cwd,
        }
        said |= {name: value for name, value in more.items() if value is not None}
        return {name: value for name, value in said.items() if value is not None}

    def directory(self, given: str | None) -> str:
        """Return where a task runs: the caller's directory, or one relative to it."""
        return self.caller.cwd if given is None else os.path.join(self.caller.cwd, os.path.expanduser(given))

    def agent(self, name: str | None) -> tuple[str | None, str]:
        """Return the agent with this name, or else the default one and a note that says so.

        A client with agents of its own means those; a name that is unknown there is a mistake.
        """
        own = self.caller.agents
        if own and (name or GENERAL) in own:
            return own[name or GENERAL], ""
        if own and name is not None and not self.engine.knows_agent(name):
            raise BadValue(f"Unknown agent {one_line(name, 80)!r}; known: {', '.join(own)}")
        if name is None or self.engine.knows_agent(name):
            return name, ""
        if self.caller.subagents_of:
            return f"{self.caller.subagents_of}/{name}", ""
        return None, f"Unknown agent {one_line(name, 80)!r}; the configured one does it."

    # Waiting.

    async def started(self, view: View) -> View:
        """Return a task that was just launched once it has left the queue; most do in a moment."""
        times, pause = (_HOSTS_TAKE, _GLANCE) if view.host else (_LOOKS, _MOMENT)
        for _ in range(times):
            waits = view.latest.state == "pending" and view.state != "proposed" and view.standing is None
            if not waits or view.waits or view.due_at is not None or view.latest.paused_at is not None:
                break
            await asyncio.sleep(pause)
            (view,) = await self.engine.list(ids=(view.id,))
        return view

    async def wait_or_background(self, view: View, milliseconds: float) -> View:
        """Wait in the foreground for a task that continues in the background if it takes longer."""
        if view.state == "proposed":
            if self._is_notified(view):
                await self.engine.give_up_waiting(view.latest.id)
            return view
        view = await self.wait(view, milliseconds)
        if view.is_live:
            await self.engine.give_up_waiting(view.latest.id)
        return view

    async def wait(self, view: View, milliseconds: float) -> View:
        """Wait until a task ends or the time has passed; a session that sees the end is not notified again.

        For a recurring task, wait for the current run, if there is one.
        """
        is_notified, run = self._is_notified(view), view.latest.id
        if is_notified and view.is_live:
            await self.engine.expect(run)
        view = await self._end_of(view, milliseconds / 1000)
        is_later_run = view.standing is not None and view.latest.id != run
        if is_notified and (view.is_live or is_later_run):
            await self.engine.give_up_waiting(view.latest.id if view.standing is None else run)
        elif is_notified:
            await self.engine.acknowledge(view.latest.id, reader=self.caller.door)  # it may be a retry
        return view

    async def _end_of(self, view: View, seconds: float) -> View:
        if view.standing is None:
            return await self.engine.wait(view.id, timeout=seconds)
        run, deadline = view.latest.id, time.monotonic() + seconds
        while view.is_live and view.latest.id == run and time.monotonic() < deadline:
            await asyncio.sleep(min(_GLANCE, max(0.0, deadline - time.monotonic())))
            (view,) = await self.engine.list(ids=(view.id,))
        return view

    async def cancel(self, *views: View) -> list[View]:
        """Cancel tasks and wait until their processes are gone; their session is not notified of that."""
        awaited = {view.id: view.latest.id for view in views if view.is_live and self._is_notified(view)}
        for run in awaited.values():
            await self.engine.expect(run)
        await self.engine.cancel(*(view.id for view in views), by=self.caller.actor)
        deadline = time.monotonic() + ENDS_WITHIN
        ended = [
            await self.engine.wait(view.id, timeout=max(0.0, deadline - time.monotonic())) for view in views
        ]
        for view in ended:
            if view.id in awaited and view.is_live:
                await self.engine.give_up_waiting(awaited[view.id])
            elif view.id in awaited:
                await self.engine.acknowledge(awaited[view.id], reader=self.caller.door)
        return ended

    async def tell(self, view: View) -> None:
        """Note that the reply of this call tells the caller's session how a task ended."""
        if self._is_notified(view):
            await self.engine.acknowledge(view.latest.id, reader=self.caller.door)

    def _is_notified(self, view: View) -> bool:
        """Return whether the caller's session is told how the latest run of a task ends."""
        return view.owner == self.caller.session and view.latest.number > 0

    # The queue.

    async def control(self, view: View, action: str) -> View:
        """Pause, hold or move a task, or take that back."""
        match action:
            case "pause":
                return await self.engine.pause(view.id, by=self.caller.actor)
            case "unpause":
                return await self.engine.unpause(view.id)
            case "hold":
                return await self.engine.hold(view.id, by=self.caller.actor)
            case "release":
                return await self.engine.release(view.id)
            case _:
                return await self.engine.move(view.id, last=action == "last")

    async def edit(self, view: View, **changes: Any) -> View:
        """Change a task that has not started; a person may have to approve what it is now."""
        return await self._taken(
            await self.engine.edit(view.id, door=self.caller.door, within=self.caller.cwd, **changes)
        )

    # Reading.

    async def result(self, view: View, *, longest: int = SHOWN, rest: str | None = None) -> Shown:
        """Return an agent's answer, or else what a task printed, fenced and bounded.

        `rest` says where to read what is left out, if the dialect has a tool for that.
        """
        if not view.latest.number:
            return Shown(text="")  # its trigger has not fired yet
        await self.engine.mark_retrieved(view)
        rest = rest or _where(view)
        answer = None if view.agent is None or view.is_live else view.agent.answer
        if not answer and view.latest.cause == "resume" and view.latest.state in ("failed", "cancelled"):
            # The resume came to nothing, so the result of the task is still the earlier one.
            answer, rest = ((await self.engine.get(view.id)).details or {}).get("result"), _where(view)
        if answer:
            clean = (await self.engine.mask(view.id)).text(visible(answer))
            return bounded(clean, longest, rest=rest, label=f"answer of {view.id}")
        content, is_all = await self._beginning(view, longest)
        mask = await self.engine.mask(view.id)
        if is_all:
            clean = mask.output(content, before=b"", after=b"")
            if view.agent is not None and view.latest.error:
                # The process of an agent also prints why it failed, which every reply says anyway.
                clean = clean.removesuffix(printed(view.latest.error))
        else:
            tail = await self.engine.tail(view.id, longest // 40)
            clean = middle_out(content, tail, longest, mask, rest=rest)
        return bounded(clean, None, rest="", label=f"output of {view.id}", is_cut=not is_all)

    async def _beginning(self, view: View, longest: int) -> tuple[bytes, bool]:
        """Read an output up to a length or a gap; return whether that is all."""
        content = b""
        while len(content) < longest:
            piece = await self.engine.output(view.id, offset=len(content), limit=longest - len(content))
            if piece.missing or not piece.content:
                return content, not piece.missing
            content += piece.content
        return content, False

    async def tail(self, view: View, count: int) -> Shown:
        if not view.latest.number:
            return Shown(text="")
        await self.engine.mark_retrieved(view)
        tail = await self.engine.tail(view.id, count)
        mask = await self.engine.mask(view.id)
        clean = mask.output(tail.content, before=tail.before, after=tail.after)
        return bounded(clean, SHOWN, rest=_where(view), label=f"output of {view.id}")


def _accepted(view: View) -> View:
    if view.state == "rejected":
        raise Declined(view)
    return view


def _where(view: View) -> str:
    if view.agent is not None and not view.is_live:
        return f"all of it: errands show {view.id}"
    return f"all of it: errands logs {view.id}, or the file {view.latest.output_file}"
