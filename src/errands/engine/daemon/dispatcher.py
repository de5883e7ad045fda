"""The dispatcher: takes ready runs out of their lanes, as many as there is room for.

It only claims; the runs start after the transaction that claimed them has been committed, so a run that was
started is always known to have been.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime

from errands.config import Config
from errands.engine.approval.questions import ask_again
from errands.judge.evidence.evidence import changes, refreshed
from errands.model.action import Prompt, Shell, written
from errands.model.approval import evidence_of
from errands.model.record import evolve
from errands.model.run import Run
from errands.model.span import caller, executing
from errands.model.task import Task
from errands.model.trigger import On
from errands.ports.home import Home
from errands.ports.runner import Launch, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.action import Command
    from errands.model.sandbox import Sandbox
    from errands.model.span import Place
    from errands.ports.runner import Role
    from errands.ports.store import Store

# The width of a lane that only the launcher's configuration knows: its runs must not wait for ever.
UNKNOWN_LANE = 1
LENDING = ("approval", "task")  # what an agent's run waits for without its slot
_CACHED_ENVIRONMENTS = 16
WARM_BACKENDS = ("builtin",)  # those whose library takes so long to load that it is kept loaded
# The process of an agent asks the store for all the rest. `-P`: the project's own modules are not ours.
_AGENT_STEP = Step(role="main", argv=(sys.executable, "-P", "-m", "errands.agents"), label="agent")


class Dispatcher:
    def __init__(self, store: Store, home: Home, config: Config) -> None:
        self._store = store
        self._home = home
        self._config = config
        self._environments: dict[str, tuple[Mapping[str, str], Place | None]] = {}
        self._lanes: dict[str, str] = {}
        self._used: dict[str, int] = {}
        self._backlog: set[str] = set()
        # Runs that wait for others have lent their slots; those that want theirs back go first.
        self._lent: dict[str, str] = {}
        self._returning: list[str] = []
        self._asked: list[str] = []

    def look(self) -> None:
        """Learn which lanes have ready runs. What nobody else changed is known without looking."""
        self._backlog = set(self._store.ready_lanes())
        waiting = self._store.waiting_runs()
        for run_id, what in waiting.items():
            lane = self._lanes.get(run_id)
            # A new holder counts every run it finds: where they are too many, whoever wants a slot has none.
            if lane is not None and (what in LENDING or (what == "slot" and self._room(lane) < 0)):
                self._lent[run_id] = self._lanes.pop(run_id)
                self._used[lane] -= 1
        self._returning = [each for each, what in waiting.items() if what == "slot"]

    def expect(self, lanes: Iterable[str]) -> None:
        """Take it that these lanes have ready runs; when they have none, the next claim finds out."""
        self._backlog.update(lanes)

    @property
    def has_room(self) -> bool:
        """Tell whether a ready run could be claimed now, or one that waited could go on."""
        return any(self._room(lane) > 0 for lane in self._backlog) or any(
            each in self._lanes or (each in self._lent and self._room(self._lent[each]) > 0)
            for each in self._returning
        )

    def give_back(self) -> list[str]:
        """Let runs that have waited go on, as far as there is room; give their ids."""
        given = []
        for run_id in list(self._returning):
            lane = self._lent.get(run_id)
            if lane is not None and self._room(lane) > 0:
                self._lanes[run_id] = self._lent.pop(run_id)
                self._used[lane] += 1
            if run_id in self._lanes:
                self._returning.remove(run_id)
                self._store.set_waiting(run_id, None)
                given.append(run_id)
        return given

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
        run_id = run.id
        if run_id not in self._lanes and run_id not in self._lent:
            self._lanes[run_id] = task.lane
            self._used[task.lane] = self._used.get(task.lane, 0) + 1

    def free(self, run_id: str) -> None:
        self._lent.pop(run_id, None)
        lane = self._lanes.pop(run_id, None)
        if lane is not None:
            self._used[lane] -= 1

    def _room(self, lane: str) -> int:
        return self._config.lanes.get(lane, UNKNOWN_LANE) - self._used.get(lane, 0)

    def launch(self, task: Task, run: Run) -> Launch:
        """Gather all a shim has to know about a run."""
        run_id, limits, action = run.id, task.limits, task.action
        directory = self._home.run(run_id)
        base, base_caller = self._environment(action.environment)
        env = {
            **action.env,
            "TRACEPARENT": executing(run, caller(action.env) or base_caller).traceparent,
            "ERRANDS_HOME": self._home.path,
            "ERRANDS_TASK_ID": task.id,
            "ERRANDS_RUN_ID": run_id,
            "ERRANDS_RUN_DIR": directory,
            "ERRANDS_PROGRESS": f"{directory}/progress",
        }
        prompt = ""
        sandbox: Sandbox | None = None
        if isinstance(action, Prompt):
            exchange = self._store.exchange(run_id)
            prompt = action.text if exchange is None else exchange.text
            steps: tuple[Step, ...] = (_AGENT_STEP,)
        else:
            steps, sandbox = self._steps(action), action.sandbox
        if isinstance(task.trigger, On):
            env |= self._event(task, task.trigger, run, directory)
        launch = Launch(
            run_id=run_id,
            attempt=run.attempt,
            directory=directory,
            header=_header(task, run, prompt),
            steps=steps,
            cwd=action.cwd,
            base=base,
            env=env,
            cap=limits.output,
            timeout=None if limits.timeout is None else max(limits.timeout.total_seconds() - run.spent, 0.1),
            idle=None if limits.idle is None or limits.on_idle == "report" else limits.idle.total_seconds(),
            grace=limits.grace.total_seconds(),
            memory=limits.memory,
            cpu=None if limits.cpu is None else limits.cpu.total_seconds(),
            processes=limits.processes,
            input="none" if isinstance(action, Prompt) else action.input,
            may_wait=isinstance(action, Prompt),
            may_be_warm=isinstance(action, Prompt) and self._backend(action.agent) in WARM_BACKENDS,
            # What a person was asked about says for ever, where it ran, who said yes.
            may_be_traceless=task.verdict == "auto",
        )
        return launch if sandbox is None else self._enclosed(launch, sandbox)

    def _backend(self, agent: str) -> object:
        return self._config.backends.get(agent, {}).get("backend", agent)

    def _event(self, task: Task, trigger: On, run: Run, directory: str) -> dict[str, str]:
        """Leave what a run came of where its process finds it."""
        from errands.engine.triggers import event_payload

        signals = event_payload.event_payload(self._store, task, run)
        if not signals:
            return {}
        event_payload.leave(trigger, signals, directory)
        return event_payload.variables(trigger, signals, directory)

    def _steps(self, action: Shell) -> tuple[Step, ...]:
        if not action.before and not action.lastly:
            return tuple([self._step("main", each) for each in action.commands])
        return (
            *[self._step("before", each) for each in action.before],
            *[self._step("main", each) for each in action.commands],
            *[self._step("finally", each) for each in action.lastly],
        )

    def _step(self, role: Role, command: Command) -> Step:
        argv = (self._config.runs.shell, "-c", command) if isinstance(command, str) else command
        return Step(role=role, argv=argv, label=written(command))

    def _enclosed(self, launch: Launch, sandbox: Sandbox) -> Launch:
        """Put every step inside the walls that were asked for."""
        from errands.engine.daemon.sandbox import sandboxed

        steps = [
            evolve(
                step,
                argv=sandboxed(
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

    def _environment(self, digest: str) -> tuple[Mapping[str, str], Place | None]:
        """Give a launcher's environment, and the span in which it stood."""
        found = self._environments.get(digest)
        if found is None:
            variables = self._store.environment(digest)
            found = variables, caller(variables)
            if len(self._environments) >= _CACHED_ENVIRONMENTS:
                self._environments.clear()
            self._environments[digest] = found
        return found


def _utc(moment: datetime) -> str:
    return moment.isoformat(" ", "seconds")[:19] + " UTC"


def _header(task: Task, run: Run, prompt: str) -> bytes:
    """Write what a log begins with, so that it can be understood alone."""
    started, action = run.started_at or run.created_at, task.action
    what = (
        [f"agent     {action.agent}", f"prompt    {prompt}"]
        if isinstance(action, Prompt)
        else [f"command   {written(each)}" for each in action.commands]
    )
    lines = [
        f"task      {task.id}, run {run.number}",
        *what,
        f"directory {task.action.cwd}",
        f"approved  by {task.approved_by}, {_utc(task.approved_at or task.created_at)} ({task.door})",
        f"started   {_utc(started)}",
    ]
    text = "# " + "\n# ".join(lines) + "\n"
    if len(text.splitlines()) > len(lines):
        # Every line is marked, whatever the command contains: the header must not be mistaken for output.
        text = "".join(f"# {line}\n" for each in lines for line in each.splitlines())
    return text.encode(sys.getfilesystemencoding(), "surrogateescape") + b"\n"
