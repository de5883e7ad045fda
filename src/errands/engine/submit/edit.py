"""Editing a pending task: what can be changed, and the task that comes of it."""

from __future__ import annotations

from errands.engine.actor import actor
from errands.engine.log_header import renew_log
from errands.engine.submit.draft_trigger import drafted_trigger, due_time
from errands.engine.submit.limits import limits_of
from errands.engine.submit.submission import Submitter, without_evidence
from errands.model.action import Shell
from errands.model.errors import BadValue, IllegalMove
from errands.model.limits import Limits
from errands.model.options.draft import Draft
from errands.model.options.table import BY_NAME, EDITABLE
from errands.model.options.values import value_of
from errands.model.record import evolve, fields
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from errands.engine.approval.ruling import Ruling
    from errands.model.task import Task
    from errands.model.view import View


def check_changes(view: View, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse an edit that could do nothing, or that has no meaning for this task."""
    if not changes:
        raise BadValue(f"there is nothing to change; give a command or an option of task {task.id}")
    if view.standing is not None:
        raise IllegalMove(f"task {task.id} is a recurring task; cancel it, and start another one")
    if not isinstance(task.action, Shell):
        raise IllegalMove(f"task {task.id} is a prompt, which cannot be edited; cancel it, and ask again")
    for name in changes:
        if name not in EDITABLE and name != "command":
            near = did_you_mean(name, EDITABLE)
            raise BadValue(f"{name!r} cannot be edited{near}; cancel the task, and start another one")


def drafted(task: Task, changes: Mapping[str, Any], environ: Mapping[str, str]) -> Draft:
    """Return a draft of what the task would run with these changes; of the rest it has only the changes."""
    action = task.action
    assert isinstance(action, Shell)
    first, *others = action.commands
    walls = action.sandbox
    draft = Draft(
        command=first,
        then=tuple(others),
        before=action.before,
        lastly=action.lastly,
        cwd=action.cwd,
        env=action.env,
        input=action.input,
        sandbox="none" if walls is None else "files" if walls.network else "network",
        priority=task.priority,
        lane=task.lane,
        environ=environ,
        parent=task.parent,
        created_by=task.created_by,
    )
    if "env" in changes:
        added = value_of(BY_NAME["env"], changes["env"], "env")
        changes = {**changes, "env": {**action.env, **added}}  # variables are added, as on the command line
    return evolve(draft, **changes)


class Editor(Submitter):
    def edit(
        self,
        task: Task,
        view: View,
        draft: Draft,
        ruling: Ruling,
        changes: Mapping[str, Any],
        *,
        now: datetime,
    ) -> None:
        """Write a pending task as it was edited, and ask about it if it needs approval."""
        judgement = ruling.judgement
        way = self._way(judgement, draft.consent)
        approver = None
        if way is None or (way == "judge" and judgement.verdict == "contained"):
            approver = self._earlier_approver(ruling)
            way = way if approver is None else None
        is_unasked = judgement.verdict == "auto" or approver is not None
        by = approver if way is None else self._approver(way, actor(), draft.door)
        assert draft.environ is not None
        action = self._action(draft, ruling, draft.environ, is_unasked=is_unasked)
        lost = (*task.removed.split(), *self._environments.removed.split())
        edited = evolve(
            task,
            state="proposed" if by is None else "active",
            name=draft.name or task.name,
            description=draft.description or _description(task, draft, action.line),
            action=action,
            trigger=drafted_trigger(draft, self._config, now=now) if "at" in changes else task.trigger,
            limits=_limits(task.limits, limits_of(draft, self._config.runs, timeout=None), changes),
            lane=draft.lane or task.lane,
            priority=draft.priority,
            notify=draft.notify or task.notify,
            batch=draft.batch if "batch" in changes else task.batch,
            channels=task.channels
            if "channels" not in changes
            else self._channels(draft, draft.environ, task.owner),
            approved_by=by,
            approved_at=None if by is None else now,
            door=draft.door,
            verdict=judgement.verdict,
            digest=ruling.digest,
            evidence=ruling.evidence,
            removed=" ".join(dict.fromkeys(lost)),
        )
        edited = without_evidence(edited)
        self._check_lane(edited.lane)
        run = self._store.run(view.latest.id)
        not_before = due_time(edited, now) if "at" in changes else self._store.not_before(run.id)
        if not self._store.replace_task(
            edited, run=run.number, since=view.updated_at, not_before=not_before, now=now
        ):
            raise IllegalMove(f"task {task.id} has started or changed meanwhile; look at it again")
        self._store.add_environment(self._environments.digest, self._environments.variables)
        self._store.add_event(task.id, "edited", run=run.number, now=now, detail=f"by {actor()}")
        self._note(edited, run.number, judgement.reasons, way, now)
        renew_log(self._runs_dir, edited, run)


def _description(task: Task, draft: Draft, line: str) -> str:
    """Return what an edited task is for: what it was, unless that was only its name or command."""
    return task.description if task.description not in (task.name, task.command) else draft.name or line


def _limits(old: Limits, new: Limits, changes: Mapping[str, Any]) -> Limits:
    return evolve(old, **{name: getattr(new, name) for name in fields(Limits) if name in changes})
