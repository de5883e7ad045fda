"""The verbs and questions about the conversations with agents."""

from __future__ import annotations

import os
from datetime import timedelta

from errands.engine.log_header import create_log
from errands.model.action import Prompt
from errands.model.agent.session import HISTORY, Session, check_resumable, remote_place, session_name
from errands.model.errors import Ambiguous, BadValue, ErrandsError, NotFound
from errands.model.record import evolve
from errands.model.run import task_of
from errands.ports.agent import SoughtSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from errands.engine.core import EngineCore
    from errands.model.agent.session import Exchange
    from errands.model.options.draft import Draft
    from errands.model.view import View

HOUR = timedelta(hours=1)
RESUMED = "resumed"  # an event: a caller resumed a task; the detail is the key of that call


class Sessions:
    def __init__(self, core: EngineCore, submit: Callable[[Draft], View]) -> None:
        self._core = core
        self._submit = submit
        self._store = core.store
        self._seen: dict[str, datetime] = {}  # when each parent session was last written down as seen

    def ask(
        self,
        draft: Draft,
        *,
        resume: str | None = None,
        history: Sequence[str] | None = None,
    ) -> View:
        """Ask an agent, in a new task or, with `resume`, in that of an earlier prompt.

        `history` is a conversation for the task to fork, as pydantic-ai writes messages.
        """
        if draft.prompt is None:
            raise BadValue("a prompt is missing; to run a command, submit it")
        if resume is not None:
            if draft.fork is not None:
                raise BadValue(
                    "fork and resume are mutually exclusive: a fork is a new task on a copy of the history, "
                    "a resume continues in the same session; use one of them"
                )
            return self.resume(resume, draft.prompt, is_awaited=draft.is_awaited)
        return self._submit(draft) if history is None else self._ask_with_history(draft, history)

    @property
    def can_take_history(self) -> bool:
        """Whether an agent is configured that can fork the conversation of a pydantic-ai program."""
        from errands.engine.submit.prompt_spec import readers

        return bool(readers(self._core.config))

    def _ask_with_history(self, draft: Draft, history: Sequence[str]) -> View:
        """Create a task together with the conversation that its first run forks."""
        name = f"{HISTORY}{os.urandom(8).hex()}"
        self._core.ensure_daemon()
        with self._store:
            view = self._submit(evolve(draft, fork=name))
            action = self._store.task(view.id).action
            if (
                isinstance(action, Prompt) and action.fork == name
            ):  # it is not an earlier task of the same key
                now = self._core.clock.now()
                given = Session(
                    task_id=view.id, run=0, agent=action.agent, name=name, forked_from=None, created_at=now
                )
                self._store.add_session(given)
                self._store.add_messages(given, history, run=0, now=now)
        self._core.bell.ring_about([view.id])
        return view

    def take_over(self, draft: Draft, steps: Sequence[tuple[str, str]]) -> View:
        """Create a task whose agent continues where one on another host stopped.

        The steps are the messages of its session, each with the number of its run there.
        """
        self._core.ensure_daemon()
        with self._store:
            view = self._submit(draft)
            action = self._store.task(view.id).action
            if isinstance(action, Prompt) and self._store.session(view.id) is None:
                run, now = view.latest, self._core.clock.now()
                name = session_name(view.id)
                mine = Session(
                    task_id=view.id, run=run.number, agent=action.agent, name=name, forked_from=None,
                    created_at=now,
                )  # fmt: skip
                self._store.add_session(mine)
                bodies = [body.replace(f'"{there}"', f'"{run.id}"') for there, body in steps]
                self._store.add_messages(mine, bodies, run=run.number, now=now)
        self._core.bell.ring_about([view.id])
        return view

    def resume(
        self,
        task_id: str,
        text: str,
        *,
        is_awaited: bool = False,
        key: str | None = None,
        may_start: bool = True,
    ) -> View:
        """Send a follow-up prompt to a completed task's session, as a new run; of two at once one wins.

        With a `key`, the same prompt sent again by a caller that lost the reply is not sent twice.
        `may_start`: whether to start an agent just to ask it whether it still has the session.
        """
        if not text.strip():
            raise BadValue("the prompt is empty; say what the agent should do next")
        core, now = self._core, self._core.clock.now()
        try:
            task_id = core.resolve(task_id)
        except Ambiguous:
            raise
        except NotFound:
            raise NotFound(f"Task not found: {task_id}") from None
        if self._is_resumed(task_id, key):
            return core.summaries([task_id])[0]
        check_resumable(self._store.view(task_id), session := self._store.session(task_id))
        if session is not None and self._is_lost(session, may_start=may_start):
            with self._store:
                self._store.mark_session_gone(session, now=now)
        core.ensure_daemon()
        with self._store:
            if self._is_resumed(task_id, key):
                return core.summaries([task_id])[0]
            view = self._store.view(task_id)
            check_resumable(view, self._store.session(task_id))
            if view.task_state not in ("active", "paused"):  # as a recurring task may be
                self._store.move_task(task_id, "reopen", now=now)
            run = self._store.add_run(task_id, cause="resume", now=now)
            self._store.add_exchange(run.id, text, is_awaited=is_awaited)
            if key is not None:
                self._store.add_event(task_id, RESUMED, run=run.number, now=now, detail=key)
            create_log(core.home.runs, self._store.task(task_id), run, prompt=text)
        core.bell.ring_about([task_id])
        return core.summaries([task_id])[0]

    def has_message(self, task_id: str, message: str) -> bool:
        """Return whether a message of a conversation started the task, or resumed it under this key."""
        return self._store.task(task_id).message == message or self._is_resumed(task_id, message)

    def _is_resumed(self, task_id: str, key: str | None) -> bool:
        if key is None:
            return False
        return any((each.name, each.detail) == (RESUMED, key) for each in self._store.events(task_id))

    def _is_lost(self, session: Session, *, may_start: bool) -> bool:
        """Return whether a backend no longer has a session; without an answer, assume that it has."""
        look = self._core.has_session
        if look is None or session.name == session_name(session.task_id):  # it is in our store
            return False
        if remote_place(session.name) is not None:  # its host says so when it gets the prompt
            return False
        action = self._store.task(session.task_id).action
        try:
            sought = SoughtSession(
                agent=session.agent,
                name=session.name,
                environ={**self._store.environment(action.environment), **action.env},
                cwd=action.cwd,
                messages=tuple(self._store.messages(session)),
                may_start=may_start,
            )
            return not look(sought)
        except ErrandsError:  # an agent that cannot be made now is reported by the run
            return False

    def expect(self, run_id: str) -> None:
        """Note that a caller blocks until a run ends, of an agent or a command, and needs no notice of it."""
        action = self._store.task(task_of(run_id)[0]).action
        text = action.text if isinstance(action, Prompt) else action.line
        with self._store:
            self._store.set_awaited(run_id, text)
        self._announce(run_id)

    def acknowledge(self, run_id: str, *, reader: str) -> None:
        """Note that the session has got the answer, and needs no notice of it."""
        owner = self._store.task(task_of(run_id)[0]).owner
        with self._store:
            self._store.acknowledge(run_id, place=owner, reader=reader, now=self._core.clock.now())
        self._announce(run_id)

    def give_up_waiting(self, run_id: str) -> None:
        with self._store:
            self._store.set_awaited(run_id, None)
        self._announce(run_id)

    def _announce(self, run_id: str) -> None:
        self._core.bell.announce([task_of(run_id)[0]])

    def end_session(self, name: str) -> None:
        """Note that a parent session is over. What it started continues; what is finished may be removed."""
        self._seen.pop(name, None)
        with self._store:
            self._store.end_session(name, now=self._core.clock.now())

    def see_session(self, name: str) -> None:
        """Note that the frontend of a parent session is still there: what the session started is kept.

        Frontends call it whenever they hear from the session; most calls write nothing.
        """
        now, often = self._core.clock.now(), min(HOUR, self._core.config.retention.keep / 10)
        last = self._seen.get(name)
        if last is None or now - last >= often:
            with self._store:
                self._store.see_session(name, now=now)
            self._seen[name] = now

    def deleted(self, name: str, *, parent: str) -> None:
        """Note that a backend has deleted a session: it is over as a parent, and cannot be resumed or forked.

        `parent` is the name under which it starts tasks.
        """
        self.end_session(parent)
        session = self._store.session(name=name)
        if session is not None:
            with self._store:
                self._store.mark_session_gone(session, now=self._core.clock.now())

    def check_resumable(self, view: View) -> None:
        """Raise an error that says why, if no other prompt can be sent to an agent now."""
        check_resumable(view, self._store.session(view.id))

    def sessions(self, *, limit: int = 1000) -> list[Session]:
        return self._store.sessions(limit=limit)

    def exchange(self, run_id: str) -> Exchange | None:
        return self._store.exchange(run_id)

    def conversation(self, task_id: str) -> list[tuple[int, Exchange]]:
        """List what a task was asked and answered, oldest first, with the numbers of the runs."""
        return self._store.exchanges(self._core.resolve(task_id))
