"""The engine: everything that can be done with tasks or asked about them, in any process.

A verb is a short transaction on the store, then a ring of the bell: when it returns, its effect is on disk.
Nothing here waits.
"""

from __future__ import annotations

from errands.engine.core import EngineCore
from errands.model.errors import ErrandsError, IllegalMove, NotFound
from errands.model.record import evolve
from errands.model.states import predicate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from errands.engine.agents.sessions import Sessions
    from errands.engine.approval.ruling import Judge, Ruling, Seen
    from errands.engine.live.hub import Changes
    from errands.engine.live.reports import Reports
    from errands.engine.notices.inbox import Inbox
    from errands.engine.queue import Queue
    from errands.engine.submit.submission import Submitter
    from errands.engine.tracing import Tracing
    from errands.engine.triggers.schedules import Schedules
    from errands.model.approval import Approval, AuditEntry, Consent, Scope, StandingApproval
    from errands.model.notices.notice import Notice
    from errands.model.options.draft import Draft
    from errands.model.verdict import Judgement
    from errands.model.view import View


class Engine(EngineCore):
    _cached_submitter: Submitter | None = None
    _cached_judge: Judge | None = None
    _cached_sessions: Sessions | None = None

    # Starting.

    def submit(self, draft: Draft) -> View:
        """Create a task and queue its first run; for a key that was used before, return that task."""
        return self.submit_all([draft])[0]

    def submit_all(self, drafts: Sequence[Draft]) -> list[View]:
        """Create tasks in one transaction, all or none: `after` may name another of these drafts."""
        seen: Seen = {}
        judged = [self._ruling(draft, seen) for draft in drafts]
        self.ensure_daemon()
        now = self.clock.now()
        with self.store:
            views = [self.with_live_facts(each) for each in self._submitter.submit_all(judged, now=now)]
        self._ring_for(views)
        return views

    def submit_each(self, drafts: Iterable[Draft]) -> list[View | ErrandsError]:
        """Create several tasks in one transaction; a refused one does not affect the others."""
        seen: Seen = {}
        judged = [self._ruling_or_refusal(draft, seen) for draft in drafts]
        self.ensure_daemon()
        with self.store:
            answers = [
                each if isinstance(each, ErrandsError) else self.with_live_facts(each)
                for each in self._submitter.submit_each(judged, now=self.clock.now())
            ]
        self._ring_for([each for each in answers if not isinstance(each, ErrandsError)])
        return answers

    def judge(self, draft: Draft) -> Judgement:
        """Return whether a draft would start at once, needs approval or is forbidden, and why."""
        return self._judge.judge(_checked(self._with_host(draft), self.clock.now()))

    def is_granted(self, draft: Draft) -> bool:
        """Return whether a person has approved a draft for the whole task of the agent that starts it."""
        return self._ruling(draft, {})[1].granted_by is not None

    def restart(
        self, task_id: str, *, consent: Consent = "none", door: str = "python", key: str | None = None
    ) -> View:
        """Run an ended task again, as a new run, which is judged like every start.

        With a `key`, the same restart asked for again by a caller that lost the reply starts nothing.
        """
        from errands.engine.submit.restart import restart

        task_id = self.resolve(task_id)
        restart(self, self._judge, lambda: self._submitter, task_id, consent=consent, door=door, key=key)
        return self.summaries([task_id])[0]

    def _ruling(self, draft: Draft, seen: Seen) -> tuple[Draft, Ruling]:
        draft = _checked(self._with_host(draft), self.clock.now())
        if draft.consent != "none" or self.consent != "none":
            from errands.engine.approval.approve import refuse_inside_a_run

            refuse_inside_a_run(self)
        ruling = self._judge.rule(draft, seen)
        if ruling.judgement.verdict == "ask":
            from errands.engine.approval.grants import command_grant

            ruling = evolve(ruling, granted_by=command_grant(self, draft, ruling))
        return draft, ruling

    def _with_host(self, draft: Draft) -> Draft:
        if draft.host is not None or self.config.runs.host:
            from errands.engine.fleet.placed_run import with_host

            draft = with_host(self, draft, self.config.runs.host)
        return draft

    def _ruling_or_refusal(self, draft: Draft, seen: Seen) -> tuple[Draft, Ruling | ErrandsError]:
        try:
            return self._ruling(draft, seen)
        except ErrandsError as error:
            return draft, error

    @property
    def _judge(self) -> Judge:
        if self._cached_judge is None:
            from errands.engine.approval.ruling import Judge

            self._cached_judge = Judge(self.config, self.home)
        return self._cached_judge

    @property
    def _submitter(self) -> Submitter:
        if self._cached_submitter is None:
            from errands.engine.submit.submission import Submitter

            self._cached_submitter = Submitter(self.store, self.config, self.home.runs, self.consent)
        return self._cached_submitter

    def _ring_for(self, views: Sequence[View]) -> None:
        ids = [view.id for view in views]
        if any(view.due_at or view.question or view.standing for view in views):
            self.bell.ring_about(ids)  # the daemon has to update its timers
        else:
            self.bell.ring_for({view.lane for view in views}, ids)

    # Approving.

    def approve(
        self, task_id: str, *, by: str, door: str, scope: Scope = "once", question: int | None = None
    ) -> View:
        """Approve a proposed task in the name of the person `by`, who used the frontend `door`.

        If an agent waits for a task of its own, that task is approved and returned. `question` is the one
        that the person saw; the answer counts for no other. With the scope `task` the same needs no approval
        again in the task of the same agent, with `always` nowhere.
        """
        from errands.engine.approval.approve import approve, leave_walls, may_leave_walls

        task_id = self.answer_target(task_id)
        self.ensure_daemon()
        if may_leave_walls(self.store, task_id):
            leave_walls(self, self._judge, self._submitter, task_id, by=by, door=door, scope=scope)
            return self.summaries([task_id])[0]
        approve(self, self._judge, task_id, by=by, door=door, scope=scope, shown=question)
        return self.summaries([task_id])[0]

    def reject(
        self, task_id: str, *, by: str, door: str, note: str = "", question: int | None = None
    ) -> View:
        """Reject a proposed task: it never starts, and lists leave it out."""
        from errands.engine.approval.approve import reject

        task_id = self.answer_target(task_id)
        reject(self, task_id, by=by, door=door, note=note, shown=question)
        return self.summaries([task_id])[0]

    def ask_anew(self, task_id: str, *, by: str, door: str) -> View:
        """Ask a new question about a rejected task, for a person who has changed their mind."""
        from errands.engine.approval.approve import ask_anew

        task_id = self.resolve(task_id)
        ask_anew(self, self._judge, self._submitter, task_id, by=by, door=door)
        return self.summaries([task_id])[0]

    def answer_target(self, task_id: str) -> str:
        from errands.engine.approval.approve import answer_target

        return answer_target(self, task_id)

    def proposals_of(self, agent: View) -> list[View]:
        """List the unanswered proposals of an agent's latest run, oldest first."""
        from errands.engine.approval.approve import proposals

        return proposals(self, agent)

    def approvals(self, task_id: str) -> list[Approval]:
        return self.store.approvals(self.resolve(task_id))

    def audit(self, task_id: str | None = None, *, limit: int | None = None) -> list[AuditEntry]:
        """List what was asked about all tasks, or about one and what it started, newest first.

        Questions about removed tasks are included.
        """
        if task_id is None:
            return self.store.audit(limit=limit)
        try:
            whose = self.resolve(task_id)
        except NotFound:
            whose = self.store.resolve_removed(task_id)
        return self.store.audit(whose, limit=limit)

    def withdraw_task_approvals(self, task_id: str, *, by: str, door: str) -> int:
        from errands.engine.approval.approve import withdraw_task_approvals

        return withdraw_task_approvals(self, task_id, by=by, door=door)

    def standing_approvals(self) -> list[StandingApproval]:
        return self.store.standing_approvals()

    def withdraw_standing_approval(self, name: str, *, by: str, door: str) -> StandingApproval:
        """Withdraw a standing approval, named by the beginning of its digest."""
        from errands.engine.approval.approve import withdraw_standing_approval

        return withdraw_standing_approval(self, name, by=by, door=door)

    # Ending.

    def cancel(self, task_ids: Iterable[str], *, by: str | None = None) -> list[View]:
        """Cancel tasks: pending ones at once, running ones by a request to the daemon. Idempotent."""
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
                elif run.state == "pending" and self.store.cancel_pending(run.id, by=who, now=now):
                    ended += after_unstarted_run(self.store, run.id, "cancelled", now=now)
                elif run.state == "running":
                    self.store.request_stop(run.id, by=who, now=now)
        self.bell.ring(ended, changed=[each for each in ids if each not in ended])
        views = self.summaries(ids)
        self._ensure_stopped(views)
        return views

    def stop(self, task_id: str, *, by: str | None = None) -> View:
        """Stop a task's running run; a pending one can only be cancelled."""
        from errands.engine.actor import actor

        view, who = self.get(task_id), by or actor()
        if view.latest.state != "running":
            raise IllegalMove(f"task {view.id} {predicate(view.state)}; only a running one can be stopped")
        with self.store:
            self.store.request_stop(view.latest.id, by=who, now=self.clock.now())
        self.bell.ring_about([view.id])
        self._ensure_stopped([view])
        return self.get(view.id)

    def _ensure_stopped(self, views: Sequence[View]) -> None:
        if any(view.latest.state == "running" for view in views):  # only the daemon carries out requests
            self.ensure_daemon()

    def retract(self, task_id: str) -> bool:
        from errands.engine.removal import retract

        return retract(self, task_id)

    def clear(self, task_ids: Iterable[str]) -> list[str]:
        from errands.engine.removal import clear

        return clear(self, task_ids)

    # Input, output and results.

    def get(self, task_id: str) -> View:
        """Return one task with its details and its runs."""
        from errands.engine.details import RECENT, details, with_answers

        task_id = self.resolve(task_id)
        view = self.with_live_facts(self.store.view(task_id))
        found = details(self, lambda: self.schedules, self.store.task(task_id), view)
        history = self.store.history(task_id, limit=-1 if view.standing is None else RECENT)
        if view.agent is not None:
            history = with_answers(self.store, history, task_id)
        return evolve(view, details=found, history=history)

    def mark_retrieved(self, view: View) -> None:
        """Note that a result was read for the first time; no notice changes."""
        if not view.is_live and view.latest.number and view.latest.retrieved_at is None:
            with self.store:
                self.store.mark_retrieved(view.latest.id, now=self.clock.now())
            self.bell.announce([view.id])

    def mark_shown(self, view: View, *, to: Iterable[str], reader: str) -> None:
        """Note that the end of a task was shown in these places, which no longer need a notice."""
        if view.is_live:
            return
        with self.store:
            self.mark_retrieved(view)
            for place in to:
                self.store.acknowledge(view.latest.id, place=place, reader=reader, now=self.clock.now())
        self.bell.announce([view.id])

    def take_notices(self, owner: str, *, reader: str, limit: int = 1000) -> list[Notice]:
        """Return and mark as delivered the unread notices of an owner; each is returned once."""
        with self.store:
            taken = self.store.take_inbox(owner, reader=reader, now=self.clock.now(), limit=limit)
        self.bell.announce({each.task_id for each in taken})
        return taken

    # Templates.

    def save_template(self, name: str, draft: Draft) -> None:
        """Save a draft under a name; a template of that name is replaced."""
        from errands.model.options.template import check_name, parameters, to_text

        check_name(name)
        draft = _checked(draft, self.clock.now())
        parameters(draft)
        with self.store:
            self.store.save_template(name, to_text(draft), now=self.clock.now())

    def remove_template(self, name: str) -> None:
        with self.store:
            self.store.remove_template(name)

    def template(self, name: str) -> Draft:
        from errands.model.options.template import from_text

        return from_text(self.store.template(name))

    def templates(self) -> dict[str, Draft]:
        from errands.model.options.template import from_text

        return {name: from_text(text) for name, text in self.store.templates().items()}

    def submit_template(self, name: str, values: Mapping[str, str], /, **changes: Any) -> View:
        """Start a saved draft with its parameters filled in; `changes` replace fields of the draft."""
        from errands.model.options.template import filled

        draft = filled(self.template(name), values)
        return self.submit(evolve(draft, **{"name": draft.name or name, "template": name, **changes}))

    # Other subjects.

    def changes(self) -> Changes:
        """Listen, in an event loop, to every change of every task: `async with` it, then `async for`."""
        from errands.engine.live.hub import listen

        return listen(self)

    @property
    def queue(self) -> Queue:
        """The verbs and questions about tasks that wait or run: pause, hold, move, edit, lanes ..."""
        from errands.engine.queue import Queue

        return Queue(self, schedules=lambda: self.schedules, rule=self._ruling)

    @property
    def reports(self) -> Reports:
        """What views read besides single tasks: long lists, timelines, slots."""
        from errands.engine.live.reports import Reports

        return Reports(self)

    @property
    def tracing(self) -> Tracing:
        """Where the time of a task went."""
        from errands.engine.tracing import Tracing

        return Tracing(self.store, self.get)

    @property
    def schedules(self) -> Schedules:
        """The verbs and questions about recurring tasks: pause, unpause, fire, coming ..."""
        from errands.engine.triggers.schedules import Schedules

        return Schedules(self)

    @property
    def notices(self) -> Inbox:
        """The verbs and questions about notices: unread, undelivered, retry ..."""
        from errands.engine.notices.inbox import Inbox

        return Inbox(self)

    @property
    def sessions(self) -> Sessions:
        """The verbs and questions about agents: ask, resume, acknowledge, conversation ..."""
        if self._cached_sessions is None:
            from errands.engine.agents.sessions import Sessions

            self._cached_sessions = Sessions(self, self.submit)
        return self._cached_sessions


def _checked(draft: Draft, now: datetime) -> Draft:
    from errands.model.options.check import checked  # reading commands do not pay for the table

    return checked(draft, now=now)
