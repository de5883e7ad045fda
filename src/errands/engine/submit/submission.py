"""Submission: from a draft to a task with a queued run. Every frontend comes through here."""

from __future__ import annotations

import os

from errands.engine.actor import LAUNCHED, actor
from errands.engine.approval.questions import ask, without_evidence
from errands.engine.log_header import create_log
from errands.engine.submit.dependency_order import dependency_order
from errands.engine.submit.draft_trigger import drafted_trigger, due_time
from errands.engine.submit.environment import Environments
from errands.engine.submit.limits import limits_of
from errands.model.action import Shell
from errands.model.approval import BY_JUDGE, BY_MODE, SAID_YES, is_unasked, scope_of, way_in
from errands.model.errors import BadValue, ErrandsError, NotFound, StoreError, never_ends, unknown_task
from errands.model.limits import lane_widths
from errands.model.record import evolve
from errands.model.task import Task
from errands.model.text.ids import command_slug, is_id, new_id, slug
from errands.model.trigger import Cron, Every, On, recurring
from errands.model.verdict import Reason
from errands.model.view import first_view
from errands.ports.home import Home, note_awaited
from errands.ports.rundir import LOG
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from errands.config import Config
    from errands.engine.approval.ruling import Ruling
    from errands.model.action import Action
    from errands.model.approval import Approval, Consent, Way
    from errands.model.notices.notice import Address, Policy
    from errands.model.options.draft import Draft
    from errands.model.run import Run
    from errands.model.trigger import Trigger
    from errands.model.verdict import Judgement
    from errands.model.view import View
    from errands.ports.store import Store


class Submitter:
    """Everything here happens inside the caller's transaction."""

    def __init__(self, store: Store, config: Config, runs_dir: str, consent: Consent) -> None:
        self._store = store
        self._config = config
        self._runs_dir = runs_dir
        self._consent = consent
        self._environments = Environments()
        self._added: list[tuple[Task, Run]] = []
        self._lanes: Mapping[str, int] = {}  # as they are during one call

    def submit_all(self, judged: Sequence[tuple[Draft, Ruling]], *, now: datetime) -> list[View]:
        """Create the tasks of several drafts, in the order of their dependencies."""
        self._added.clear()
        self._lanes = {}
        is_one = len(judged) == 1
        views = [self._submit(*judged[0], {}, set(), now)] if is_one else self._submit_in_order(judged, now)
        self._create_logs()
        return views

    def _submit_in_order(self, judged: Sequence[tuple[Draft, Ruling]], now: datetime) -> list[View]:
        named = {draft.name or f"#{i}": (draft, ruling) for i, (draft, ruling) in enumerate(judged)}
        if len(named) < len(judged):
            raise BadValue("two drafts of one call have the same name; use a different name for each")
        views: dict[str, View] = {}
        ids: dict[str, str] = {}
        kept: set[str] = set()
        for name in dependency_order({name: draft.after for name, (draft, _) in named.items()}):
            views[name] = self._submit(*named[name], ids, kept, now)
            ids[name] = views[name].id
        return [views[name] for name in named]

    def submit_each(
        self, judged: Sequence[tuple[Draft, Ruling | ErrandsError]], *, now: datetime
    ) -> list[View | ErrandsError]:
        """Create a task for every draft; a refused one does not affect the others."""
        self._added.clear()
        self._lanes = {}
        answers: list[View | ErrandsError] = []
        kept: set[str] = set()
        for draft, ruling in judged:
            if isinstance(ruling, ErrandsError):
                answers.append(ruling)
                continue
            try:
                answers.append(self._submit(draft, ruling, {}, kept, now))
            except StoreError:
                raise
            except ErrandsError as error:  # refused before anything was written
                answers.append(error)
        self._create_logs()
        return answers

    def _create_logs(self) -> None:
        """Create the logs of new runs just before the commit, so that few are left behind by a rollback."""
        for task, run in self._added:
            create_log(self._runs_dir, task, run)

    def restart(
        self,
        task: Task,
        ruling: Ruling,
        consent: Consent,
        door: str,
        *,
        now: datetime,
        approved_by: str | None = None,
        must_ask: bool = False,
    ) -> None:
        """Queue another run of a task, or ask about it first.

        An earlier approval of exactly the same still counts. `approved_by` is a person who approves it now;
        with `must_ask` a person decides, even if it is harmless or could run in a sandbox.
        """
        judgement = ruling.judgement
        if task.verdict != "auto" and judgement.verdict == "auto":
            # Its environment still has the variables that are withheld from harmless commands.
            judgement = evolve(judgement, verdict=task.verdict)
        way = self._way(judgement, consent)
        has_walls = judgement.verdict == "contained" and way in ("judge", "mode")
        if must_ask or (has_walls and self._still_counts(task, ruling)):
            way = None  # a person decides, or has taken the walls away
        if approved_by is not None:
            way = "typed"
        reasons: Sequence[Reason] = judgement.reasons
        by: str | None = None
        at: datetime | None = now
        if way is not None:
            by = approved_by or self._approver(way, actor(), door)
        elif not must_ask and self._still_counts(task, ruling):
            by, at, door = task.approved_by, task.approved_at, task.door
        else:
            at = None
            reasons = (*reasons, Reason(text="is started again", kind="restart"))
        state = "active" if by is not None else "proposed"
        approval = {"approved_by": by, "approved_at": at, "door": door}
        ruled = {"verdict": judgement.verdict, "digest": ruling.digest, "evidence": ruling.evidence}
        again = without_evidence(evolve(task, state=state, **approval, **ruled))
        self._store.rejudge(again, now=now)
        run = self._store.add_run(task.id, cause="restart", now=now, not_before=due_time(task, now))
        self._note(again, run.number, reasons, way or "judge", now)  # an earlier consent is recorded already
        self._wait(again, run, now)
        create_log(self._runs_dir, again, run)

    def trust(self, task: Task, ruling: Ruling, by: str, door: str, *, now: datetime) -> None:
        """Record that a person approved a recurring task, which has been running in a sandbox until now."""
        facts = {"digest": ruling.digest, "evidence": ruling.evidence}
        again = evolve(task, approved_by=by, approved_at=now, door=door, **facts)
        self._store.rejudge(again, now=now)
        number = self._store.view(task.id).latest.number
        self._note(again, number, ruling.judgement.reasons, "typed", now)

    def _still_counts(self, task: Task, ruling: Ruling) -> bool:
        """Return whether exactly this was approved, in a way that the configuration still allows."""
        if is_unasked(task) or task.approved_by is None or task.digest != ruling.digest:
            return False
        return self._config.approval.yes or not task.approved_by.endswith(SAID_YES)

    def _wait(self, task: Task, run: Run, now: datetime) -> None:
        waiting: list[str] = []
        for other in task.after:
            try:
                view = self._store.view(other)
            except NotFound:
                continue  # cleared since the first run: there is nothing left to wait for
            if view.standing is not None:
                raise never_ends(other)
            if view.is_live:
                waiting.append(other)
            elif view.state != "completed":
                why = f"it waited for {other} ({view.state})"
                self._store.skip_pending(run.id, reason="dependency", error=why, now=now)
                from errands.engine.daemon.outcome import after_unstarted_run

                after_unstarted_run(self._store, run.id, "skipped", now=now)
                return
        if waiting:
            self._store.add_waits(run.id, waiting)

    def _submit(
        self, draft: Draft, ruling: Ruling, ids: Mapping[str, str], kept: set[str], now: datetime
    ) -> View:
        """Create one task; `kept` are the environments that this transaction has stored already."""
        if draft.key is not None:
            first = self._store.id_by_key(draft.key)
            if first is not None:
                return self._store.view(first)
        by_agent = (draft.created_by or "").startswith(LAUNCHED)
        if draft.parent is not None and (by_agent or draft.parent.startswith("task:")):
            from errands.engine.submit.prompt_spec import check_fan_out

            check_fan_out(self._store, self._config, draft.parent, draft.created_by or "")
        judgement = ruling.judgement
        way = None if draft.propose else self._way(judgement, draft.consent, draft.host)
        approver = None
        if not draft.propose and (way is None or (way == "judge" and judgement.verdict == "contained")):
            approver = self._earlier_approver(ruling)
            way = way if approver is None else None
        run = None
        is_recurring = False
        while run is None and not is_recurring:
            task = self._task(draft, ruling, way, approver, ids, now)
            if recurring(task.trigger) is None:
                held_by = actor() if draft.hold else "the fleet" if draft.awaits else None
                run = self._store.add_task(task, not_before=due_time(task, now), held_by=held_by)
            else:
                is_recurring = self._add_recurring(task, now)
        if self._environments.digest not in kept:
            self._store.add_environment(self._environments.digest, self._environments.variables)
            kept.add(self._environments.digest)
        reasons: Sequence[Reason] = judgement.reasons
        if draft.propose and not reasons:
            reasons = (
                Reason(text="was only proposed; nothing in it looks harmful", kind="proposal", undo="yes"),
            )
        # A recurring task is asked about before it has a run: the question is about its first.
        question = self._note(task, 1 if run is None else run.number, reasons, way, now)
        if run is None:
            return evolve(self._store.view(task.id), question=question)
        self._added.append((task, run))
        if draft.is_awaited:
            text = task.action.line if draft.prompt is None else draft.prompt
            self._store.set_awaited(run.id, text)  # before it can end
        if draft.awaits:
            # In the transaction that holds it.
            note_awaited(Home(path=os.path.dirname(self._runs_dir)), run.id, draft.awaits)
        if task.after:
            self._wait(task, run, now)
            return self._store.view(task.id)
        view = first_view(task, run, f"{self._runs_dir}/{run.id}/{LOG}", question)
        return evolve(view, latest=evolve(view.latest, paused_at=now)) if held_by else view

    def _add_recurring(self, task: Task, now: datetime) -> bool:
        """Add a recurring task, and start its schedule if it may; return False if its id is taken."""
        from errands.engine.triggers.scheduler import next_fire
        from errands.engine.triggers.schedules import check_room
        from errands.model.schedule.cursor import ScheduleCursor

        next_at = None
        if task.state == "active":
            check_room(self._store, self._config)
            if isinstance(task.trigger, (Every, Cron)):
                next_at = next_fire(task.trigger, task.id, after=now)
        is_new = self._store.add_recurring(task, ScheduleCursor(processed_until=now, next_at=next_at))
        if is_new and isinstance(task.trigger, On):
            from errands.model.schedule.watch import Watch

            self._store.save_watch(Watch(task_id=task.id))
        return is_new

    def _action(
        self, draft: Draft, ruling: Ruling, environ: Mapping[str, str], *, is_unasked: bool
    ) -> Action:
        """Return what was judged, with its environment; a prompt also gets all that its agent needs."""
        action = ruling.action
        runs_unasked = is_unasked and (draft.prompt is None or bool(action.watch))
        kept = self._environments.take(environ, ruling.project if runs_unasked else None)
        if draft.prompt is None:
            return evolve(action, environment=kept)
        from errands.engine.submit.prompt_spec import asked

        prompt = asked(draft, self._store, self._config, environ)
        judged = ("cwd", "watch", "read_only", "cwd_is_named")
        return evolve(prompt, environment=kept, **{name: getattr(action, name) for name in judged})

    def _way(self, judgement: Judgement, consent: Consent, host: str | None = None) -> Way | None:
        if consent == "none":
            consent = self._consent
        rules = self._config.approval
        trusting = rules.mode == "trusting"
        return way_in(judgement, consent, yes=rules.yes, is_trusting=trusting, is_placed=bool(host))

    def _approver(self, way: Way, who: str, door: str) -> str:
        if way in ("judge", "mode"):
            return BY_JUDGE if way == "judge" else BY_MODE
        return who if way == "typed" else (door if door == "python" else who) + SAID_YES

    def _note(
        self, task: Task, run: int, reasons: Sequence[Reason], way: Way | None, now: datetime
    ) -> Approval | None:
        """Record the question about a task, or the consent it came with, an agent's included."""
        within = self._config.approval.expires
        if task.state == "proposed":
            return ask(self._store, task, run, reasons, now=now, within=within)
        if way in ("typed", "yes") or (way is None and not isinstance(task.action, Shell)):
            scope = scope_of(task, "once")
            self._store.ask(task, run, reasons, now=now, expires_at=now + within, granted=scope)
        return None

    def _earlier_approver(self, ruling: Ruling) -> str | None:
        """Return who approved exactly this before, for good or for the task of the agent that starts it."""
        always = self._store.standing_approvals(ruling.digest)
        return f"{always[0].by} (always)" if always else ruling.granted_by

    def _task(
        self,
        draft: Draft,
        ruling: Ruling,
        way: Way | None,
        approver: str | None,
        ids: Mapping[str, str],
        now: datetime,
    ) -> Task:
        environ = os.environ if draft.environ is None else draft.environ
        verdict = ruling.judgement.verdict
        # Without a question: an earlier approval, or harmless.
        is_unasked = verdict == "auto" or approver is not None
        timeout = self._config.runs.timeout
        action = self._action(draft, ruling, environ, is_unasked=is_unasked)
        if isinstance(action, Shell):
            label = slug(draft.name) if draft.name else command_slug(action.line)
            lane = "shell" if draft.lane is None else draft.lane
        else:
            from errands.config.backends import lane_of  # commands do not pay for it

            label = slug(draft.name or " ".join(action.text.split()[:4]))
            lane = draft.lane or ("agent" if action.host else lane_of(action.agent, self._config.backends))
            # A person or an agent that asks once may want an answer that takes hours.
            is_recurring = (draft.every or draft.cron or draft.on) is not None
            is_limited = is_recurring or "agents.timeout" in self._config.origin
            timeout = self._config.agents.timeout if is_limited else None
        who = self._environments.who
        by = approver if way is None else self._approver(way, who, draft.door)
        owner = draft.owner or self._environments.session or "user"
        self._check_lane(lane)
        trigger = drafted_trigger(draft, self._config, now=now)
        if draft.on is not None:
            from errands.engine.triggers.watches import checked

            trigger = checked(trigger, self._store, self._config)
        task = Task(
            id=new_id(label, os.urandom(8)),
            kind="shell" if draft.prompt is None else "agent",
            state="proposed" if by is None else "active",
            name=draft.name or label,
            description=draft.description or draft.name or action.line,
            action=action,
            trigger=trigger,
            limits=limits_of(draft, self._config.runs, timeout=timeout),
            lane=lane,
            priority=draft.priority,
            notify=draft.notify or self._policy(trigger),
            owner=owner,
            parent=draft.parent,
            message=draft.message,
            batch=draft.batch,
            key=draft.key,
            template=draft.template,
            after=(*(ids.get(each) or self._resolved(each) for each in draft.after), *draft.awaits),
            created_at=now,
            created_by=draft.created_by or who,
            approved_by=by,
            approved_at=None if by is None else now,
            door=draft.door,
            verdict=verdict,
            digest=ruling.digest,
            evidence=ruling.evidence,
            removed=self._environments.removed,
            channels=self._channels(draft, environ, owner),
        )
        return without_evidence(task)

    def _channels(self, draft: Draft, environ: Mapping[str, str], owner: str) -> tuple[Address, ...]:
        can_be_inferred = "ERRANDS_CHANNEL" in environ or bool(self._config.notices.channels)
        if draft.channels == () or (draft.channels is None and not can_be_inferred):
            return ()
        from errands.engine.notices.addresses import addresses

        return addresses(draft, environ, self._config, owner)

    def _policy(self, trigger: Trigger) -> Policy:
        """Return the default notice policy: a recurring task reports what is new."""
        policy = self._config.notices.policy
        return "on_change" if policy == "always" and recurring(trigger) is not None else policy

    def _resolved(self, task_id: str) -> str:
        # An empty string, such as an unset variable of a script, is a prefix of every id.
        if not is_id(task_id):
            raise unknown_task(task_id)
        found = self._store.resolve(task_id)
        if recurring(self._store.task(found).trigger) is not None:
            raise never_ends(found)
        return found

    def _check_lane(self, lane: str) -> None:
        lanes = self._lanes = self._lanes or lane_widths(self._config.lanes, self._store.lane_widths())
        if lane not in lanes:
            known = ", ".join(f"{name} ({width})" for name, width in lanes.items())
            from errands.config.keys import LANE_NAME, key_of

            advice = LANE_NAME if key_of("lanes", lane) is None else f"to add it: errands lane {lane} 2"
            raise BadValue(f"unknown lane {lane!r}{did_you_mean(lane, lanes)}; known: {known}; {advice}")
