"""The engine: every verb and every question, in any process.

Verbs are short transactions on the store and then a ring of the doorbell, so when one returns its effect
is true and on disk. Whatever waits stands elsewhere; nothing here does.
"""

from __future__ import annotations

from errands.model.errors import BadValue, ErrandsError, IllegalMove, NotFound, StillLive
from errands.model.record import evolve
from errands.model.text.naming import is_id
from errands.ports.home import files_in, last_activity, recognised, remove_tree, reported
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from errands.config import Config
    from errands.engine.agents.sessions import Sessions
    from errands.engine.approval.ruling import Judge, Ruling
    from errands.engine.bell_client import BellClient
    from errands.engine.submit.submission import Submitter
    from errands.engine.tracing import Tracing
    from errands.engine.triggers.schedules import Schedules
    from errands.model.approval import Approval, AuditEntry, Consent
    from errands.model.event import Event
    from errands.model.notices.notice import Notice
    from errands.model.options.draft import Draft
    from errands.model.text.mask import Mask
    from errands.model.verdict import Judgement
    from errands.model.view import View
    from errands.ports.clock import Clock
    from errands.ports.home import Home
    from errands.ports.output import OutputPort, Piece
    from errands.ports.store import Store

MANY = 5000  # ids in one question: SQLite takes a limited number of values


class Engine:
    def __init__(
        self,
        *,
        store: Store,
        home: Home,
        config: Config,
        clock: Clock,
        output: Callable[[], OutputPort],
        bell: BellClient,
        consent: Consent = "none",
    ) -> None:
        self.store = store
        self.home = home
        self.config = config
        self.clock = clock
        self.bell = bell
        self._output = output
        self._consent = consent
        self._launching: Submitter | None = None
        self._judging: Judge | None = None

    def close(self) -> None:
        self.bell.close()
        self.store.close()

    # Verbs.

    def submit(self, draft: Draft) -> View:
        """Create a task and queue its first run. A key that was used before gives the first task."""
        return self.submit_all([draft])[0]

    def submit_all(self, drafts: Sequence[Draft]) -> list[View]:
        """Create several tasks in one transaction: all of them or none.

        `after` may name another draft of the same call by its name; a circle is refused.
        """
        judged = [(draft, self._ruling(draft)) for draft in drafts]
        now = self.clock.now()
        with self.store:
            views = [self._shown(each) for each in self._launcher().launch_all(judged, now=now)]
        self._ring_for(views)
        return views

    def submit_each(self, drafts: Iterable[Draft]) -> list[View | ErrandsError]:
        """Create several tasks in one transaction, each for itself: a refused one keeps no other back."""
        judged = [(draft, self._ruling_or_refusal(draft)) for draft in drafts]
        with self.store:
            answers = [
                each if isinstance(each, ErrandsError) else self._shown(each)
                for each in self._launcher().launch_each(judged, now=self.clock.now())
            ]
        self._ring_for([each for each in answers if not isinstance(each, ErrandsError)])
        return answers

    def judge(self, draft: Draft) -> Judgement:
        """Say whether a draft would start at once, needs a person, or is forbidden, and why."""
        return self._judge().judge(draft)

    def _ruling(self, draft: Draft) -> Ruling:
        if draft.consent != "none" or self._consent != "none":
            from errands.engine.approval.approve import refuse_inside_a_run

            refuse_inside_a_run()
        return self._judge().rule(draft)

    def _ruling_or_refusal(self, draft: Draft) -> Ruling | ErrandsError:
        try:
            return self._ruling(draft)
        except ErrandsError as error:
            return error

    def _judge(self) -> Judge:
        if self._judging is None:
            from errands.engine.approval.ruling import Judge

            self._judging = Judge(self.config)
        return self._judging

    def approve(
        self, task_id: str, *, by: str, door: str, always: bool = False, question: int | None = None
    ) -> View:
        """Let a proposed task start, as the person `by` says who came through `door`.

        Of an agent that waits for a task of its own, that one is meant, and given. `question` is the one that
        person was shown; the answer counts for no other. With `always`, exactly this needs no question any
        more.
        """
        from errands.engine.approval.approve import answer_target, approve

        task_id = answer_target(self, task_id)
        approve(self, self._judge(), task_id, by=by, door=door, always=always, shown=question)
        return self.light([task_id])[0]

    def reject(
        self, task_id: str, *, by: str, door: str, note: str = "", question: int | None = None
    ) -> View:
        """Turn a proposed task down: it never starts and is gone from lists."""
        from errands.engine.approval.approve import answer_target, reject

        task_id = answer_target(self, task_id)
        reject(self, task_id, by=by, door=door, note=note, shown=question)
        return self.light([task_id])[0]

    def _ring_for(self, views: Sequence[View]) -> None:
        if any(
            view.due_at or view.question or view.standing for view in views
        ):  # the holder has to note a time
            self.bell.ring()
        else:
            self.bell.ring_for({view.lane for view in views})

    def cancel(self, task_ids: Iterable[str], *, by: str | None = None) -> list[View]:
        """End tasks: pending ones now, running ones by a request to the holder. Repeating is harmless."""
        from errands.engine.actor import actor
        from errands.engine.daemon.outcome import after_unstarted_run

        ids = [self.resolve(each) for each in task_ids]
        now, who = self.clock.now(), by or actor()
        ended: list[str] = []
        with self.store:
            for task_id in ids:
                view = self.store.view(task_id)
                run = view.latest
                if view.standing is not None:
                    ended += self.schedules.cancel(view, by=who, now=now)
                elif run.state == "pending" and self.store.withdraw(run.id, by=who, now=now):
                    ended += after_unstarted_run(self.store, run.id, "cancelled", now=now)
                elif run.state == "running":
                    self.store.request_stop(run.id, by=who, now=now)
        self.bell.ring(ended)
        return self.light(ids)

    def stop(self, task_id: str, *, by: str | None = None) -> View:
        """End a task's running run; a pending one is not stopped but cancelled."""
        from errands.engine.actor import actor

        view, who = self.get(task_id), by or actor()
        if view.latest.state != "running":
            raise IllegalMove(f"task {view.id} is {view.state}; only a running one can be stopped")
        with self.store:
            self.store.request_stop(view.latest.id, by=who, now=self.clock.now())
        self.bell.ring()
        return self.get(view.id)

    def restart(self, task_id: str, *, consent: Consent = "none", door: str = "python") -> View:
        """Run an ended task again, as a new run; it is judged anew, as everything that starts is."""
        from errands.engine.approval.approve import refuse_inside_a_run, ruling_on

        if consent != "none" or self._consent != "none":
            refuse_inside_a_run()
        task_id, now = self.resolve(task_id), self.clock.now()
        ruling = ruling_on(self, self._judge(), self.store.task(task_id))
        with self.store:
            view = self.store.view(task_id)
            if view.standing is not None:
                raise IllegalMove(f"task {task_id} runs again and again; errands fire {task_id} runs it now")
            if view.is_live:
                raise IllegalMove(f"task {task_id} is still live; cancel it first, or wait for it")
            self.store.reopen(task_id, now=now)
            self._launcher().again(self.store.task(task_id), ruling, consent, door, now=now)
        self.bell.ring()
        return self.light([task_id])[0]

    def clear(self, task_ids: Iterable[str]) -> list[str]:
        """Remove ended tasks with all they left; a live one is refused and nothing is removed."""
        ids = [self.resolve(each) for each in task_ids]
        with self.store:
            live = [each for each in ids if not self.store.ended(each)]
            if live:
                raise StillLive(
                    f"still live: {', '.join(live)}; cancel first, or leave out what is not finished"
                )
            # The rows go first: what is left of a directory without a row is swept by the janitor.
            runs = self.store.remove(ids, now=self.clock.now())
        for run_id in runs:
            remove_tree(self.home.run(run_id))
        if self.store.remnants(now=self.clock.now()):
            from errands.engine.agents.session_cleanup import start

            start(self.home)
        return ids

    def send(self, task_id: str, content: bytes, *, eof: bool = False) -> None:
        """Send input to a running task that was started for it."""
        view = self.get(task_id)
        if view.latest.state != "running":
            raise ErrandsError(f"task {view.id} is {view.state}; input can be sent to a running task only")
        self._output().send(self.home.run(view.latest.id), content, eof=eof)

    def mark_retrieved(self, view: View) -> None:
        """Note that a result was read for the first time; reading is not telling, so no notice changes."""
        if not view.is_live and view.latest.number and view.latest.retrieved_at is None:
            with self.store:
                self.store.mark_retrieved(view.latest.id, now=self.clock.now())

    def take_notices(self, owner: str, *, reader: str, limit: int = 1000) -> list[Notice]:
        """Hand over what an owner was not told yet; each notice once, whoever asks."""
        with self.store:
            return self.store.take_inbox(owner, reader=reader, now=self.clock.now(), limit=limit)

    def save_template(self, name: str, draft: Draft) -> None:
        """Save a draft under a name; a template of that name is replaced."""
        from errands.model.options.draft import check
        from errands.model.options.template import check_name, parameters, to_text

        check_name(name)
        check(draft)
        parameters(draft)
        with self.store:
            self.store.save_template(name, to_text(draft), now=self.clock.now())

    def remove_template(self, name: str) -> None:
        with self.store:
            self.store.remove_template(name)

    def submit_template(self, name: str, values: Mapping[str, str], **changes: Any) -> View:
        """Start a saved draft with its parameters filled in; `changes` replace fields of the draft."""
        from errands.model.options.template import filled, from_text

        draft = filled(from_text(self.store.template(name)), values)
        return self.submit(evolve(draft, template=name, **changes))

    @property
    def tracing(self) -> Tracing:
        """Where the time of a task went."""
        from errands.engine.tracing import Tracing

        return Tracing(self)

    @property
    def schedules(self) -> Schedules:
        """What is said and asked about standing tasks: pause, unpause, fire, coming ..."""
        from errands.engine.triggers.schedules import Schedules

        return Schedules(self)

    @property
    def sessions(self) -> Sessions:
        """The verbs and questions about agents: ask, resume, acknowledge, conversation ..."""
        from errands.engine.agents.sessions import Sessions

        return Sessions(self)

    def _launcher(self) -> Submitter:
        if self._launching is None:
            from errands.engine.submit.submission import Submitter

            self._launching = Submitter(self.store, self.config, self.home.runs, self._consent)
        return self._launching

    # Questions.

    def templates(self) -> dict[str, Draft]:
        from errands.model.options.template import from_text

        return {name: from_text(text) for name, text in self.store.templates().items()}

    def resolve(self, task_id: str) -> str:
        """Complete a unique prefix of a task's id. Anything that could not be an id is simply not found."""
        if not is_id(task_id):
            raise NotFound(f"there is no task {task_id[:80]!r}; `errands ls` shows those there are")
        return self.store.resolve(task_id)

    def get(self, task_id: str) -> View:
        """Show one task with its details and all its runs."""
        from errands.engine.details import RECENT, details

        task_id = self.resolve(task_id)
        view = self._shown(self.store.view(task_id))
        found = details(self, self.store.task(task_id), view)
        most = -1 if view.standing is None else RECENT
        return evolve(view, details=found, history=self.store.history(task_id, limit=most))

    def output(self, task_id: str, *, offset: int = 0, limit: int | None = None) -> Piece:
        """Read a task's output from an offset; the piece says where to go on."""
        if offset < 0:
            raise BadValue(f"offset must be 0 or more, not {offset}")
        return self._output().read(self._run_directory(task_id), offset=offset, limit=limit)

    def tail(self, task_id: str, lines: int | None = None) -> Piece:
        """Read the last lines of a task's output, whatever its size."""
        count = self.config.runs.tail_lines if lines is None else lines
        return self._output().tail(self._run_directory(task_id), count)

    def files(self, run_id: str) -> list[str]:
        """Name the files a run left in its directory."""
        return files_in(self.home.run(run_id))

    def mask(self, task_id: str) -> Mask:
        """Make what hides a task's secrets, and well-known tokens, wherever its output is shown."""
        from errands.model.text.mask import Mask

        task = self.store.task(self.resolve(task_id))
        return Mask({**self.store.environment(task.action.environment), **task.action.env})

    def events(self, task_id: str) -> list[Event]:
        return self.store.events(self.resolve(task_id))

    def approvals(self, task_id: str) -> list[Approval]:
        """List every question that was asked about a task, oldest first."""
        return self.store.approvals(self.resolve(task_id))

    def audit(self, task_id: str | None = None, *, limit: int | None = None) -> list[AuditEntry]:
        """List what was asked about all tasks, or about one and what it started, newest first.

        The answers about tasks that were removed are here, too.
        """
        if task_id is None:
            return self.store.audit(limit=limit)
        try:
            whose = self.resolve(task_id)
        except NotFound:
            whose = self.store.recalled(task_id)
        return self.store.audit(whose, limit=limit)

    def _run_directory(self, task_id: str) -> str:
        """A run's id, or a task's, which means its latest run."""
        if "." in task_id:
            parent, _, number = task_id.rpartition(".")
            return self.home.run(self.store.run(f"{self.resolve(parent)}.{number}").id)
        return self.home.run(self.store.view(self.resolve(task_id)).latest.id)

    def light(self, task_ids: Sequence[str]) -> list[View]:
        """Show tasks without their details, in the order asked for."""
        ids = tuple(task_ids)
        views = {
            view.id: view
            for start in range(0, len(ids), MANY)
            for view in self.list(Query(ids=ids[start : start + MANY]))
        }
        # One that is missing is damaged or was cleared: the store says which.
        return [views.get(each) or self._shown(self.store.view(each)) for each in ids]

    def _shown(self, view: View) -> View:
        """Add what only the directory of a running run knows, and what a proposed task asks."""
        if view.latest.state != "running":
            if view.state == "proposed" and view.question is None:
                return evolve(view, question=self.store.question(view.id))
            return view
        directory = self.home.run(view.latest.id)
        if (agent := view.agent) is not None:
            question = self.store.question(view.id) if agent.waiting == "approval" else None
            seen = reported(directory)
            return evolve(view, progress=seen, activity_at=agent.activity_at, question=question)
        seen = reported(directory) or recognised(self._output(), directory)
        return evolve(view, progress=seen, activity_at=last_activity(directory))

    def list(self, query: Query) -> list[View]:
        """List tasks, newest first."""
        return [self._shown(each) for each in self.store.views(query)]
