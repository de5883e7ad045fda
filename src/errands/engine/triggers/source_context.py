"""The context of an event source: what it may know and ask of the engine, for one task."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from errands.engine.engine import Engine
from errands.engine.walls.variables import read_only_variables
from errands.judge.evidence.evidence import changes, refreshed
from errands.model.action import Shell
from errands.model.approval import evidence_of, is_read_only
from errands.model.errors import Changed, NotFound, SourceError
from errands.model.task import Task
from errands.model.trigger import On
from errands.model.view import RunView, View
from errands.ports.source import CommandOutput, RunEnd, WatchedCommand
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.source import RunWatched

# File times lag behind by a kernel tick; what changed right before a run, the run has seen.
LAG = timedelta(milliseconds=20)
_DEEPEST = 16  # levels of tasks that led to each other


class WatchContext:
    """`run` runs the commands that tasks watch."""

    def __init__(self, engine: Engine, task: Task, since: datetime, run: RunWatched) -> None:
        self._engine = engine
        self._store = engine.store
        self._task = task
        self._run = run
        self._rung = asyncio.Event()
        self.task_id = task.id
        self.cwd = task.action.cwd
        self.home = engine.home.path
        self.since = since
        self.is_harmless = isinstance(task.action, Shell) and task.verdict == "auto"

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        except TimeoutError:
            pass
        self._rung.clear()

    async def execute(self, line: str, *, timeout: float) -> CommandOutput:
        """Run the line that was judged with the task; refuse it if it has changed since."""
        action = self._task.action
        if line != action.watch:
            raise SourceError("this line was not judged with the task, so it is not run")
        task = self._store.task(self.task_id)
        evidence = evidence_of(task)
        if evidence is not None and (said := changes(evidence, refreshed(evidence, self.cwd))):
            raise Changed(said)
        base, read_only = self._store.environment(action.environment), is_read_only(task)
        if read_only:
            base = read_only_variables(base, self.cwd, self.home)
        environ = {**base, **action.env}
        environ["ERRANDS_TASK_ID"] = self.task_id
        command = WatchedCommand(
            argv=(self._engine.config.runs.shell, "-c", line),
            cwd=self.cwd,
            env=environ,
            scratch=self._engine.home.scratch if read_only else "",
        )
        return await self._run(command, timeout=timeout)

    def ran_at(self, moments: Sequence[datetime]) -> list[bool | None]:
        runs = self._store.history(self.task_id, live_since=min(moments))
        times = [(run.started_at, run.completed_at) for run in reversed(runs) if run.started_at is not None]
        return [_is_within(each, times) for each in moments]

    def ended_runs(self, *, task: str | None, batch: str | None, after: Mapping[str, int]) -> list[RunEnd]:
        query = Query(ids=(task,)) if task is not None else Query(batch=batch)
        found: list[tuple[datetime, RunEnd]] = []
        views = self._store.views(query)
        if task is not None and not views:
            raise SourceError(f"task {task} is gone and will never end; cancel this one")
        for view in views:
            if view.id == self.task_id or not view.latest.number:
                continue
            if view.id in after and view.latest.number < after[view.id]:
                continue
            history = self._store.history(view.id)
            retried = {run.number - 1 for run in history if run.cause == "retry" and view.standing is None}
            for run in history:
                if run.completed_at is None or run.number <= after.get(view.id, 0) or run.number in retried:
                    continue
                if view.id in after or run.completed_at > self.since:
                    found.append((run.completed_at, self._end(view, run)))
        return [each for _, each in sorted(found, key=lambda pair: pair[0])]

    def webhook_settings(self, name: str) -> Mapping[str, Any]:
        settings = self._engine.config.webhooks.get(name)
        if settings is None:
            raise SourceError(
                f"the configuration no longer has a webhook {name!r}; write [webhooks.{name}] "
                "and start the daemon again, or cancel the task"
            )
        return {**settings, "listen": self._engine.config.events.listen}

    def setting(self, name: str) -> str:
        return str(getattr(self._engine.config.events, name))

    def _end(self, view: View, run: RunView) -> RunEnd:
        facts = {
            "task": view.id,
            "run": run.id,
            "state": run.state,
            "description": view.description[:200],
            "exit_code": run.exit_code,
            "error": None if run.error is None else run.error[:400],
            "summary": run.summary,
            "batch": view.batch,
            "output_file": run.output_file,
        }
        chain = tuple(dict.fromkeys(_chain(self._store, view.id, run.number)))
        return RunEnd(task_id=view.id, run=run.number, state=run.state, facts=facts, chain=chain)


def watching_since(engine: Engine, task: Task) -> datetime:
    cursor = engine.store.cursor(task.id)
    return task.created_at if cursor is None else cursor.processed_until


def watched(task: Task) -> On:
    assert isinstance(task.trigger, On)
    return task.trigger


def _is_within(moment: datetime, times: Sequence[tuple[datetime, datetime | None]]) -> bool | None:
    for started, completed in times:
        if moment >= started - LAG:
            if completed is None:
                return None
            if moment <= completed:
                return True
    return False


def _chain(store: Any, task_id: str, number: int, depth: int = 0) -> Iterator[str]:
    """Yield the tasks whose runs led to a run: those that signalled it, and the agents that started it."""
    yield task_id
    if depth >= _DEEPEST:
        return
    try:
        task = store.task(task_id)
        causes = {run.number: run.cause for run in store.history(task_id)}
    except NotFound:
        return
    while causes.get(number) == "retry":
        number -= 1
    for each in store.signals(task_id, run=number):
        try:
            yield from json.loads(each.body).get("chain", ())
        except (ValueError, AttributeError):
            continue
    if task.created_by.startswith("run "):
        above, _, run = task.created_by.removeprefix("run ").rpartition(".")
        if run.isdecimal():
            yield from _chain(store, above, int(run), depth + 1)
