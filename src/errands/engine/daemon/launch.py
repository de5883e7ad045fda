"""Launches: from a task and a claimed run to all that a shim has to know about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from errands.config import Config
from errands.engine.actor import LAUNCHED
from errands.engine.log_header import log_header
from errands.model.action import Prompt, Shell, written
from errands.model.approval import FLEET, is_contained, is_read_only
from errands.model.errors import HomeError
from errands.model.record import evolve
from errands.model.run import Run
from errands.model.span import caller, executing
from errands.model.task import Task
from errands.model.trigger import On
from errands.ports.home import Home
from errands.ports.rundir import PROGRESS
from errands.ports.runner import Launch, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.action import Command, Sandbox
    from errands.model.limits import Limits
    from errands.model.span import Place
    from errands.ports.runner import Role
    from errands.ports.store import Store

_CACHED_ENVIRONMENTS = 16
WARM_BACKENDS = ("builtin",)  # their libraries take so long to load that a zygote keeps them loaded
# The process of an agent asks the store for all the rest. `-P` keeps the project's own modules out.
_AGENT_STEP = Step(role="main", argv=(sys.executable, "-P", "-m", "errands.agents"), label="agent")


class LaunchBuilder:
    def __init__(self, store: Store, home: Home, config: Config) -> None:
        self._store = store
        self._home = home
        self._config = config
        self._environments: dict[tuple[str, str], tuple[Mapping[str, str], Place | None]] = {}

    def build(self, task: Task, run: Run) -> Launch:
        run_id, limits, action = run.id, task.limits, task.action
        directory = self._home.run(run_id)
        if task.host:
            return self._placed(task, run)
        read_only = isinstance(action, Shell) and action.sandbox is None and is_read_only(task)
        base, base_caller = self._environment(action.environment, action.cwd if read_only else "")
        env = {
            **action.env,
            "TRACEPARENT": executing(run, caller(action.env) or base_caller).traceparent,
            "ERRANDS_HOME": self._home.path,
            "ERRANDS_TASK_ID": task.id,
            "ERRANDS_RUN_ID": run_id,
            "ERRANDS_RUN_DIR": directory,
            "ERRANDS_PROGRESS": f"{directory}/{PROGRESS}",
        }
        prompt: str | None = None
        sandbox: Sandbox | None = None
        if isinstance(action, Prompt):
            exchange = self._store.exchange(run_id)
            prompt = None if exchange is None else exchange.text
            steps: tuple[Step, ...] = (_AGENT_STEP,)
        else:
            steps, sandbox = self._steps(action), action.sandbox
            if is_contained(task):
                from errands.engine.walls.sandbox import contained

                sandbox = contained(action, {**base, **env})
        is_guest = self._is_guest(task)
        if isinstance(task.trigger, On):
            env |= self._event(task, task.trigger, run, directory)
        elif is_guest and "ERRANDS_EVENT_SOURCE" in action.env:
            env |= self._guest_event(task, directory)
        launch = Launch(
            run_id=run_id,
            attempt=run.attempt,
            directory=directory,
            header=log_header(task, run, started=run.started_at or run.created_at, prompt=prompt),
            steps=steps,
            cwd=action.cwd,
            base=base,
            env=env,
            cap=limits.output,
            timeout=None if limits.timeout is None else max(limits.timeout.total_seconds() - run.spent, 0.1),
            idle=None if limits.idle is None or limits.on_idle == "report" else limits.idle.total_seconds(),
            grace=limits.grace.total_seconds(),
            limits=_tree_limits(limits),
            nice=limits.nice,
            input="none" if isinstance(action, Prompt) else action.input,
            may_wait=isinstance(action, Prompt),
            read_only=read_only,
            may_be_warm=isinstance(action, Prompt)
            and limits.nice is None
            and self._backend(action.agent) in WARM_BACKENDS,
        )
        if is_guest:
            launch = evolve(launch, fuse=self._home.fuse)
        if sandbox is None:
            return launch
        from errands.engine.walls.sandbox import sandboxed

        return sandboxed(launch, sandbox, self._home)

    def _is_guest(self, task: Task) -> bool:
        """Return whether another home placed a task here, or the agent that started it."""
        if task.door == FLEET:
            return True
        if not task.created_by.startswith(LAUNCHED) or not os.path.exists(self._home.guests):
            return False
        from errands.engine.submit.prompt_spec import is_guest

        return is_guest(self._store, [task.created_by.removeprefix(LAUNCHED)])

    def _placed(self, task: Task, run: Run) -> Launch:
        """Return the launch of a run that another host carries out; the fleet reads the rest in the store."""
        if not os.path.exists(self._home.fleet):
            raise HomeError(
                f"this home does not belong to a fleet any more, so it cannot run on {task.host!r}: "
                "errands host join URL"
            )
        return Launch(
            run_id=run.id,
            attempt=run.attempt,
            directory=self._home.run(run.id),
            header=b"",
            steps=(),
            cwd=task.action.cwd,
            env={},
            cap=task.limits.output,
            grace=task.limits.grace.total_seconds(),
            host=task.host,
        )

    def _backend(self, agent: str) -> object:
        from errands.config.backends import settings_of

        return settings_of(agent, self._config.backends)["backend"]

    def _event(self, task: Task, trigger: On, run: Run, directory: str) -> dict[str, str]:
        """Write the events that caused a run into its directory; return the variables about them."""
        from errands.engine.triggers import event_payload

        signals = event_payload.event_payload(self._store, task, run)
        if not signals:
            return {}
        event_payload.write_file(trigger, signals, directory)
        return event_payload.variables(trigger, signals, directory)

    def _guest_event(self, task: Task, directory: str) -> dict[str, str]:
        """Write the events that caused a run at another home into its directory here."""
        from errands.engine.triggers import event_payload

        _, number, _ = (task.key or "::").split(":", 2)
        return event_payload.hand_over(event_payload.guest_file(self._home, number), directory)

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

    def _environment(self, digest: str, reading_in: str) -> tuple[Mapping[str, str], Place | None]:
        """Return a submitter's environment, and the span it submitted in.

        What only reads, in the directory `reading_in`, gets a part of it. Reading it for every run would cost
        the daemon 9 % more processor time, and send it every time.
        """
        found = self._environments.get((digest, reading_in))
        if found is None:
            variables = self._store.environment(digest)
            found = variables, caller(variables)
            if reading_in:
                from errands.engine.walls.variables import read_only_variables

                found = read_only_variables(variables, reading_in, self._home.path), found[1]
            if len(self._environments) >= _CACHED_ENVIRONMENTS:
                self._environments.clear()
            self._environments[digest, reading_in] = found
        return found


def _tree_limits(limits: Limits) -> dict[str, float]:
    """Return the limits that are watched over a run's whole tree, by the names that the runner knows."""
    cpu = None if limits.cpu is None else limits.cpu.total_seconds()
    found = {"memory": limits.memory, "cpu": cpu, "processes": limits.processes}
    return {name: value for name, value in found.items() if value is not None}
