"""Launching: from a draft to a task with a queued run. The one way in, whatever the door."""

from __future__ import annotations

import os

from errands.engine.engine import launcher
from errands.engine.settle import settle
from errands.model.action import Prompt, Shell
from errands.model.draft import UNLIMITED, check
from errands.model.errors import BadValue, NotFound
from errands.model.limits import Limits
from errands.model.naming import command_slug, is_id, new_id, slug
from errands.model.order import ordered
from errands.model.plain import plain_text
from errands.model.record import evolve
from errands.model.task import Task
from errands.model.trigger import At, Now
from errands.model.view import first_view
from errands.text import did_you_mean

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms for every command
except ImportError:  # pragma: no cover
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta
    from typing import Any

    from errands.config import Config
    from errands.model.action import Action
    from errands.model.draft import Draft
    from errands.model.run import Cause, Run
    from errands.model.view import View
    from errands.ports.store import Store


class Launching:
    """Everything here happens inside the caller's transaction."""

    def __init__(self, store: Store, config: Config, runs_dir: str) -> None:
        self._store = store
        self._config = config
        self._runs_dir = runs_dir
        self._raw: dict[Any, Any] = {}
        self._digest = ""
        self._variables = ""

    def launch_all(self, drafts: Sequence[Draft], *, now: datetime) -> list[View]:
        """Create the tasks of several drafts, those first that others wait for."""
        for draft in drafts:
            check(draft)
        if len(drafts) == 1:
            return [self._launch(drafts[0], {}, now)]
        named = {draft.name or f"#{i}": draft for i, draft in enumerate(drafts)}
        if len(named) < len(drafts):
            raise BadValue("two drafts of one call have the same name; give each its own")
        views: dict[str, View] = {}
        ids: dict[str, str] = {}
        for name in ordered({name: draft.after for name, draft in named.items()}):
            views[name] = self._launch(named[name], ids, now)
            ids[name] = views[name].id
        return [views[name] for name in named]

    def again(self, task: Task, *, cause: Cause, now: datetime) -> None:
        """Queue another run of a task behind what it waits for."""
        self._wait(task, self._store.add_run(task.id, cause=cause, now=now, not_before=_due(task, now)), now)

    def _wait(self, task: Task, run: Run, now: datetime) -> None:
        waiting: list[str] = []
        for other in task.after:
            try:
                state = self._store.view(other).latest.state
            except NotFound:
                continue  # cleared since the first run: there is nothing left to wait for
            if state in ("pending", "running"):
                waiting.append(other)
            elif state != "completed":
                why = f"it waits for {other}, which is {state}"
                self._store.skip(run.id, reason="dependency", error=why, now=now)
                settle(self._store, run.id, "skipped", now=now)
                return
        if waiting:
            self._store.add_waits(run.id, waiting)

    def _launch(self, draft: Draft, ids: Mapping[str, str], now: datetime) -> View:
        if draft.key is not None:
            first = self._store.keyed(draft.key)
            if first is not None:
                return self._store.view(first)
        if draft.parent is not None and draft.parent.startswith("task:"):
            from errands.engine.prompting import check_fan_out

            check_fan_out(self._store, self._config, draft.parent)
        run = None
        while run is None:
            task = self._task(draft, ids, now)
            run = self._store.add_task(task, not_before=_due(task, now))
        self._store.add_environment(self._digest, self._variables)
        if task.after:
            self._wait(task, run, now)
            return self._store.view(task.id)
        return first_view(task, run, f"{self._runs_dir}/{run.id}/output.log")

    def _task(self, draft: Draft, ids: Mapping[str, str], now: datetime) -> Task:
        environ = os.environ if draft.environ is None else draft.environ
        cwd = os.path.abspath(draft.cwd or os.getcwd())
        if draft.prompt is None:
            return self._shell_task(draft, environ, cwd, ids, now)
        from errands.engine.prompting import asked

        prompt = asked(draft, self._store, self._config, environ)
        action = evolve(prompt, cwd=cwd, environment=self._environment(environ))
        lane = draft.lane or self._config.backends.get(prompt.agent, {}).get("lane", "agent")
        label = slug(draft.name or " ".join(prompt.text.split()[:4]))
        return self._made(
            draft,
            environ,
            ids,
            now,
            action=action,
            label=label,
            lane=lane,
            timeout=self._config.agents.timeout,
        )

    def _shell_task(
        self, draft: Draft, environ: Mapping[str, str], cwd: str, ids: Mapping[str, str], now: datetime
    ) -> Task:
        action = Shell(
            commands=(draft.command, *draft.then),
            cwd=cwd,
            environment=self._environment(environ),
            env=draft.env,
            before=draft.before,
            lastly=draft.lastly,
            input=draft.input,
        )
        label = slug(draft.name) if draft.name else command_slug(action.line)
        lane = "shell" if draft.lane is None else draft.lane
        return self._made(
            draft, environ, ids, now, action=action, label=label, lane=lane, timeout=self._config.runs.timeout
        )

    def _made(
        self,
        draft: Draft,
        environ: Mapping[str, str],
        ids: Mapping[str, str],
        now: datetime,
        *,
        action: Action,
        label: str,
        lane: str,
        timeout: timedelta | None,
    ) -> Task:
        self._check_lane(lane)
        runs = self._config.runs
        return Task(
            id=new_id(label, os.urandom(8)),
            kind="agent" if isinstance(action, Prompt) else "shell",
            state="active",
            name=draft.name or label,
            description=draft.description or draft.name or action.line,
            action=action,
            trigger=Now() if draft.at is None else At(time=draft.at),
            limits=Limits(
                timeout=_span(draft.timeout, timeout),
                idle=_span(draft.idle, runs.idle),
                on_idle=draft.on_idle or runs.on_idle,
                memory=_amount(draft.memory, runs.memory),
                cpu=_span(draft.cpu, runs.cpu),
                processes=_amount(draft.processes, runs.processes),
                output=draft.output or runs.output_cap,
                grace=runs.grace if draft.grace is None else draft.grace,
            ),
            lane=lane,
            priority=draft.priority,
            notify=draft.notify or self._config.notices.policy,
            owner=draft.owner or environ.get("ERRANDS_SESSION") or "user",
            parent=draft.parent,
            message=draft.message,
            batch=draft.batch,
            key=draft.key,
            template=draft.template,
            after=tuple(ids.get(each) or self._resolved(each) for each in draft.after),
            created_at=now,
            created_by=draft.created_by or launcher(environ),
        )

    def _resolved(self, task_id: str) -> str:
        # The empty text, which a script's unset variable gives, begins every id.
        if not is_id(task_id):
            raise NotFound(
                f"there is no task {task_id[:80]!r} to wait for; `errands ls` shows those there are"
            )
        return self._store.resolve(task_id)

    def _check_lane(self, lane: str) -> None:
        lanes = self._config.lanes
        if lane not in lanes:
            known = ", ".join(f"{name} ({width})" for name, width in lanes.items())
            raise BadValue(
                f"there is no lane {lane!r}{did_you_mean(lane, lanes)}. There are: {known}; "
                f"a new one is a line in the configuration: [lanes] {lane} = 2"
            )

    def _environment(self, environ: Mapping[str, str]) -> str:
        """Give the digest under which an environment is stored; most launches share one."""
        # The bytes behind os.environ: to compare them is fifty times faster than to decode them.
        raw = dict(getattr(environ, "_data", environ))
        if not self._digest or raw != self._raw:
            self._raw = raw
            self._variables = plain_text(dict(sorted(environ.items())))
            self._digest = blake2b(self._variables.encode(), digest_size=16).hexdigest()
        return self._digest


def _due(task: Task, now: datetime) -> datetime | None:
    return task.due_at if task.due_at is not None and task.due_at > now else None


def _span(asked: timedelta | None, default: timedelta | None) -> timedelta | None:
    return default if asked is None else None if asked == UNLIMITED else asked


def _amount(asked: int | None, default: int | None) -> int | None:
    return default if asked is None else asked or None
