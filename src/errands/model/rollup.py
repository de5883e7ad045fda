"""Rollup: what a run's ending means for the run, its task, and whoever is to be told.

Pure: it decides, the supervisor writes.
"""

from __future__ import annotations

from errands.model.action import Shell
from errands.model.notice import should_notify
from errands.model.record import record
from errands.model.states import run_after, task_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.ending import Ending
    from errands.model.run import Run
    from errands.model.states import Failure, RunState, TaskState
    from errands.model.task import Task

SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
    8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE",
    14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}  # fmt: skip


@record
class Outcome:
    run_state: RunState
    task_state: TaskState
    failure: Failure | None
    error: str | None
    notify: bool


def rollup(task: Task, run: Run, ending: Ending) -> Outcome:
    """Say what an ending means. The run's own result wins over a stop that came too late to matter."""
    failure, error = _failure(task, ending)
    if ending.stop == "cancel":
        move = "cancel"
        error = _survivors(ending) or (f"stopped by {run.stop_by}" if run.stop_by else "stopped")
    else:
        move = "fail" if failure else "complete"
    run_state = run_after(run.state, move)
    return Outcome(
        run_state=run_state,
        task_state=_task_state(task, run, run_state),
        failure=failure if run_state == "failed" else None,
        error=error,
        notify=should_notify(task.notify, failed=run_state == "failed"),
    )


def _task_state(task: Task, run: Run, run_state: RunState) -> TaskState:
    if task.state != "active":
        return task.state
    match run_state:
        case "completed":
            return task_after(task.state, "finish")
        case "cancelled":
            return task_after(task.state, "cancel")
        case _:
            return task_after(task.state, "give up")


def _failure(task: Task, ending: Ending) -> tuple[Failure | None, str | None]:
    if ending.interrupted:
        return "interrupted", "the machine restarted while this ran"
    if ending.lost is not None:
        return "lost", " ".join(filter(None, [ending.lost, _survivors(ending)]))
    if ending.failure is not None:
        return ending.failure, ending.error
    if ending.error is not None:
        return "spawn", ending.error
    match ending.stop:
        case "timeout":
            return "timeout", _stopped(
                f"ran longer than its time-out of {_seconds(task.limits.timeout)}", ending
            )
        case "idle":
            return "idle", _stopped(f"no output for {_seconds(task.limits.idle)} (idle time-out)", ending)
        case "memory":
            return "limit", _stopped(f"memory limit exceeded: {ending.peak}", ending)
        case "cpu":
            return "limit", _stopped(f"CPU time limit exceeded: {ending.peak}", ending)
        case "processes":
            return "limit", _stopped(f"process limit exceeded: {ending.peak}", ending)
        case "cancel" | None:
            pass
    if ending.signal is not None:
        name = SIGNALS.get(ending.signal, f"signal {ending.signal}")
        return "signal", _step(task, ending, f"killed by {name}")
    if ending.code:
        return "exit", _step(task, ending, f"exit code {ending.code}")
    if ending.code is None:
        return "lost", _stopped("its record does not say how it ended", ending)
    return None, None


def _step(task: Task, ending: Ending, what: str) -> str:
    """Name the step of a sequence that failed."""
    count = len(task.action.commands) if isinstance(task.action, Shell) else 1
    return what if count == 1 else f"{what} in step {ending.step + 1} of {count}"


def _stopped(why: str, ending: Ending) -> str:
    return " ".join(filter(None, [why, _survivors(ending)]))


def _survivors(ending: Ending) -> str | None:
    if not ending.survivors:
        return None
    pids = ", ".join(map(str, ending.survivors))
    return f"could not end these processes: {pids}"


def _seconds(span: object) -> str:
    total = span.total_seconds() if hasattr(span, "total_seconds") else 0.0
    return f"{total:g} s"
