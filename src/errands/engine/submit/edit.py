"""Editing a task that has not started, or a recurring task between two runs."""

from __future__ import annotations

from errands.engine.actor import actor
from errands.engine.approval.questions import without_evidence
from errands.engine.log_header import renew_log
from errands.engine.submit.draft_trigger import drafted_trigger, due_time
from errands.engine.submit.edit_schedule import changed_since, schedule_options, write_schedule
from errands.engine.submit.limits import limits_of
from errands.engine.submit.submission import Submitter
from errands.model.action import Prompt
from errands.model.errors import BadValue, IllegalMove
from errands.model.limits import Limits
from errands.model.options.draft import HERE, Draft
from errands.model.options.table import BY_NAME, EDITABLE
from errands.model.options.values import value_of
from errands.model.record import evolve, fields
from errands.model.states import predicate
from errands.model.trigger import recurring
from errands.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from errands.engine.approval.ruling import Ruling
    from errands.model.action import Action
    from errands.model.task import Task
    from errands.model.view import View

_ADDED = ("env", "budget")  # what is given is added, as on the command line


def check_changes(view: View, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse an edit without effect, one that comes too late, or one that this task cannot have."""
    what = "prompt" if isinstance(task.action, Prompt) else "command"
    if not changes:
        raise BadValue(f"nothing to change in task {task.id}; give a {what}, or an option such as priority")
    if view.is_live and view.latest.cause == "resume":
        raise IllegalMove(
            f"task {view.id} answers a follow-up prompt, which cannot be edited; "
            "cancel it, and resume it with another one"
        )
    if recurring(task.trigger) is None:
        _check_pending(view)
        again = [name for name in changes if name in BY_NAME and BY_NAME[name].group == "recurring"]
        if again and (again != ["zone"] or "at" not in changes):
            raise BadValue(f"task {task.id} runs once, so {again[0]} cannot be changed; start another one")
    else:
        _check_between_runs(view)
        if "at" in changes:
            raise BadValue(
                f"task {task.id} is a recurring task and has no start time (at); change its schedule"
            )
    for name in changes:
        if name in ("command", "prompt"):
            if name != what:
                raise BadValue(f"task {task.id} is a {what}, not a {name}; cancel it, and start another one")
        elif name not in EDITABLE:
            near = did_you_mean(name, EDITABLE)
            raise BadValue(f"{name!r} cannot be edited{near}; cancel the task, and start another one")


def _check_pending(view: View) -> None:
    if view.latest.state != "pending" or not view.latest.number:
        raise IllegalMove(f"task {view.id} {predicate(view.state)}; only a pending task can be edited")


def _check_between_runs(view: View) -> None:
    if view.task_state not in ("proposed", "active", "paused"):
        raise IllegalMove(f"task {view.id} is {view.state}; start another one")
    if view.latest.state == "running":
        raise IllegalMove(
            f"run {view.latest.number} of {view.id} is running, so it cannot be edited now; try again when "
            "that has ended (errands pause keeps the next one from starting)"
        )


def drafted(task: Task, changes: Mapping[str, Any], environ: Mapping[str, str]) -> Draft:
    """Return a draft of what the task would run, with only those of the other options that change."""
    draft = Draft(
        **_action_options(task.action, changes),
        cwd=task.action.cwd,
        env=task.action.env,
        host=task.host or HERE,
        priority=task.priority,
        lane=task.lane,
        environ=environ,
        parent=task.parent,
        created_by=task.created_by,
    )
    changes = {**schedule_options(task, changes), **changes}
    for name in _ADDED:
        if name in changes:
            added = value_of(BY_NAME[name], changes[name], name)
            changes = {**changes, name: {**getattr(draft, name), **added}}
    return evolve(draft, **changes)


def _action_options(action: Action, changes: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(action, Prompt):
        kept = ("agent", "model", "tools", "allow", "allow_tools", "budget")
        options = {name: getattr(action, name) for name in kept}
        if "agent" in changes:
            options["model"] = None  # each agent has its own
        return {"prompt": action.text, **options}
    first, *others = action.commands
    walls = action.sandbox
    return {
        "command": first,
        "then": tuple(others),
        "before": action.before,
        "lastly": action.lastly,
        "input": action.input,
        "sandbox": "none" if walls is None else "files" if walls.network else "network",
    }


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
        """Write a task as it was edited, and ask about it if it needs approval."""
        judgement = ruling.judgement
        way = self._way(judgement, draft.consent)
        approver = None
        if way is None or (way == "judge" and judgement.verdict == "contained"):
            approver = self._earlier_approver(ruling)
            way = way if approver is None else None
        is_unasked = judgement.verdict == "auto" or approver is not None
        by = approver if way is None else self._approver(way, actor(), draft.door)
        assert draft.environ is not None
        action = self._edited_action(task, draft, ruling, is_unasked=is_unasked)
        lost = (*task.removed.split(), *self._environments.removed.split())
        edited = evolve(
            task,
            state="proposed" if by is None else "paused" if task.state == "paused" else "active",
            name=draft.name or task.name,
            description=draft.description or _description(task, draft, action.line),
            action=action,
            trigger=task.trigger,
            limits=_limits(task.limits, limits_of(draft, self._config.runs, timeout=None), changes),
            lane=self._edited_lane(task, draft, changes),
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
        if recurring(task.trigger) is None:
            number = self._write_once(edited, view, draft, changes, now)
        else:
            number = write_schedule(self._store, self._config, task, edited, view, draft, changes, now=now)
        self._store.add_environment(self._environments.digest, self._environments.variables)
        self._store.add_event(task.id, "edited", run=number, now=now, detail=f"by {actor()}")
        self._note(edited, number, judgement.reasons, way, now)
        if view.latest.state == "pending" and view.latest.number:
            renew_log(self._runs_dir, edited, self._store.run(view.latest.id))

    def _write_once(
        self, edited: Task, view: View, draft: Draft, changes: Mapping[str, Any], now: datetime
    ) -> int:
        """Write a task that has not started; return the number of its run."""
        if "at" in changes:
            edited = evolve(edited, trigger=drafted_trigger(draft, self._config, now=now))
        run = self._store.run(view.latest.id)
        not_before = due_time(edited, now) if "at" in changes else self._store.not_before(run.id)
        if not self._store.replace_task(
            edited, run=run.number, since=view.updated_at, not_before=not_before, now=now
        ):
            raise changed_since(edited)
        return run.number

    def _edited_action(self, task: Task, draft: Draft, ruling: Ruling, *, is_unasked: bool) -> Action:
        assert draft.environ is not None
        action, old = self._action(draft, ruling, draft.environ, is_unasked=is_unasked), task.action
        if not isinstance(action, Prompt) or not isinstance(old, Prompt):
            return action
        if old.fork is not None and old.agent != action.agent:
            raise BadValue(
                f"task {task.id} begins with a copy of a conversation with {old.agent!r}, "
                f"so {action.agent!r} cannot answer it; leave the agent out"
            )
        return evolve(action, fork=old.fork, fork_at=old.fork_at, depth=old.depth)

    def _edited_lane(self, task: Task, draft: Draft, changes: Mapping[str, Any]) -> str:
        """Return the lane: an agent brings its own, unless the task was put into another one."""
        if isinstance(task.action, Prompt) and "agent" in changes and "lane" not in changes:
            from errands.config.backends import lane_of

            if task.lane == lane_of(task.action.agent, self._config.backends):
                return lane_of(draft.agent or task.action.agent, self._config.backends)
        return draft.lane or task.lane


def _description(task: Task, draft: Draft, line: str) -> str:
    """Return what an edited task is for: what it was, unless that was only its name or command."""
    return task.description if task.description not in (task.name, task.command) else draft.name or line


def _limits(old: Limits, new: Limits, changes: Mapping[str, Any]) -> Limits:
    return evolve(old, **{name: getattr(new, name) for name in fields(Limits) if name in changes})
