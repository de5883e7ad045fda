"""The dispatcher: takes ready runs out of their lanes, as many as there is room for.

It only claims; the runs start after the transaction that claimed them has been committed, so a run that was
started is always known to have been.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime

from errands.config import Config
from errands.engine.asking import ask_again
from errands.engine.evidence import changes, refreshed
from errands.engine.home import Home
from errands.model.action import written
from errands.model.approval import evidence_of
from errands.model.record import evolve
from errands.model.run import Run
from errands.model.task import Task
from errands.ports.runner import Launch, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.action import Command
    from errands.model.sandbox import Sandbox
    from errands.ports.runner import Role
    from errands.ports.store import Store

# The width of a lane that only the launcher's configuration knows: its runs must not wait for ever.
UNKNOWN_LANE = 1
_CACHED_ENVIRONMENTS = 16


class Dispatcher:
    def __init__(self, store: Store, home: Home, config: Config) -> None:
        self._store = store
        self._home = home
        self._config = config
        self._environments: dict[str, Mapping[str, str]] = {}
        self._lanes: dict[str, str] = {}
        self._used: dict[str, int] = {}
        self._backlog: set[str] = set()
        self._asked: list[str] = []

    def look(self) -> None:
        """Learn which lanes have ready runs. What nobody else changed is known without looking."""
        self._backlog = set(self._store.ready_lanes())

    def expect(self, lanes: Iterable[str]) -> None:
        """Take it that these lanes have ready runs; when they have none, the next claim finds out."""
        self._backlog.update(lanes)

    @property
    def has_room(self) -> bool:
        """Tell whether a ready run could be claimed now."""
        return any(self._room(lane) > 0 for lane in self._backlog)

    def claim(self, *, now: datetime) -> list[tuple[Task, Run]]:
        """Claim as many runs as the lanes have room for."""
        claimed: list[tuple[Task, Run]] = []

        def fit(task: Task, run: Run) -> bool:
            return self.is_fit(task, run, now)

        for lane in sorted(self._backlog):
            room = self._room(lane)
            if room > 0:
                found = self._store.claim(lane, limit=room, now=now, fit=fit)
                if len(found) < room:
                    self._backlog.discard(lane)
                claimed += found
        return claimed

    def is_fit(self, task: Task, run: Run, now: datetime) -> bool:
        """Tell whether a run may start: what it was approved for is what would run, and that is not long ago.

        Otherwise it is held, and a person is asked anew. Call it inside a transaction.
        """
        within = self._config.approval.expires
        evidence = evidence_of(task)
        fresh = None if evidence is None else refreshed(evidence, task.action.cwd)
        said = [] if evidence is None or fresh is None else changes(evidence, fresh)
        since = max(filter(None, (task.approved_at, task.due_at, run.created_at)))
        if not said and task.verdict != "auto" and now - since > within:
            said = [f"it was approved {_utc(since)} and did not start in time"]
        if said:
            ask_again(self._store, task, run, fresh, said, now=now, within=within)
            self._asked.append(task.id)
        return not said

    def asked(self) -> list[str]:
        """Name the tasks about which a person is asked anew since the last time."""
        asked, self._asked = self._asked, []
        return asked

    def hold(self, task: Task, run: Run) -> None:
        """Count a run against its lane, once, until it is freed."""
        if run.id not in self._lanes:
            self._lanes[run.id] = task.lane
            self._used[task.lane] = self._used.get(task.lane, 0) + 1

    def free(self, run_id: str) -> None:
        lane = self._lanes.pop(run_id, None)
        if lane is not None:
            self._used[lane] -= 1

    def _room(self, lane: str) -> int:
        return self._config.lanes.get(lane, UNKNOWN_LANE) - self._used.get(lane, 0)

    def launch(self, task: Task, run: Run) -> Launch:
        """Gather all a shim has to know about a run."""
        directory = self._home.run(run.id)
        limits, action = task.limits, task.action
        labels = [written(each) for each in action.commands]
        launch = Launch(
            run_id=run.id,
            attempt=run.attempt,
            directory=directory,
            header=_header(task, run, labels),
            steps=(
                *[self._step("before", each, written(each)) for each in action.before],
                *[
                    self._step("main", each, label)
                    for each, label in zip(action.commands, labels, strict=True)
                ],
                *[self._step("finally", each, written(each)) for each in action.lastly],
            ),
            cwd=action.cwd,
            base=self._environment(action.environment),
            env={
                **action.env,
                "ERRANDS_HOME": self._home.path,
                "ERRANDS_TASK_ID": task.id,
                "ERRANDS_RUN_ID": run.id,
                "ERRANDS_RUN_DIR": directory,
                "ERRANDS_PROGRESS": f"{directory}/progress",
            },
            cap=limits.output,
            timeout=None if limits.timeout is None else limits.timeout.total_seconds(),
            idle=None if limits.idle is None or limits.on_idle == "report" else limits.idle.total_seconds(),
            grace=limits.grace.total_seconds(),
            memory=limits.memory,
            cpu=None if limits.cpu is None else limits.cpu.total_seconds(),
            processes=limits.processes,
            input=action.input,
        )
        return launch if action.sandbox is None else self._enclosed(launch, action.sandbox)

    def _step(self, role: Role, command: Command, label: str) -> Step:
        argv = (self._config.runs.shell, "-c", command) if isinstance(command, str) else command
        return Step(role=role, argv=argv, label=label)

    def _enclosed(self, launch: Launch, sandbox: Sandbox) -> Launch:
        """Put every step inside the walls that were asked for."""
        from errands.engine.enclosing import enclose

        steps = [
            evolve(
                step,
                argv=enclose(
                    step.argv,
                    sandbox,
                    cwd=launch.cwd,
                    run_dir=launch.directory,
                    home=self._home.path,
                    person=launch.base.get("HOME", ""),
                ),
            )
            for step in launch.steps
        ]
        return evolve(launch, steps=tuple(steps))

    def _environment(self, digest: str) -> Mapping[str, str]:
        found = self._environments.get(digest)
        if found is None:
            found = self._store.environment(digest)
            if len(self._environments) >= _CACHED_ENVIRONMENTS:
                self._environments.clear()
            self._environments[digest] = found
        return found


def _utc(moment: datetime) -> str:
    return str(moment)[:19] + " UTC"


def _header(task: Task, run: Run, labels: list[str]) -> bytes:
    """Write what a log begins with, so that it can be understood alone."""
    started = run.started_at or run.created_at
    lines = [
        f"task      {task.id}, run {run.number}",
        *[f"command   {each}" for each in labels],
        f"directory {task.action.cwd}",
        f"approved  by {task.approved_by}, {_utc(task.approved_at or task.created_at)} ({task.door})",
        f"started   {_utc(started)}",
    ]
    text = "# " + "\n# ".join(lines) + "\n"
    if len(text.splitlines()) > len(lines):
        # Every line is marked, whatever the command contains: the header must not be mistaken for output.
        text = "".join(f"# {line}\n" for each in lines for line in each.splitlines())
    return text.encode(sys.getfilesystemencoding(), "surrogateescape") + b"\n"
