"""Rollup: what a run's ending means for the run, its task, and whoever is to be told.

Pure: it decides, the supervisor writes.
"""

from __future__ import annotations

from errands.model.action import Shell
from errands.model.notices.notice import should_notify
from errands.model.record import record
from errands.model.schedule.cursor import MOST_FAILURES
from errands.model.states import run_after, task_after
from errands.model.trigger import recurring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.ending import Ending
    from errands.model.run import Run
    from errands.model.schedule.cursor import ScheduleCursor
    from errands.model.states import Failure, RunState, TaskState
    from errands.model.task import Task

SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
    8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE",
    14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
}  # fmt: skip


@record
class Outcome:
    """`retry` says that a standing task tries again, `failures` how often it has failed in a row.

    `result` is a print of what was found, to see whether the next run finds something else.
    """

    run_state: RunState
    task_state: TaskState
    failure: Failure | None
    error: str | None
    notify: bool
    retry: bool = False
    failures: int = 0
    result: str = ""


def rollup(
    task: Task, run: Run, ending: Ending, cursor: ScheduleCursor | None = None, result: str = "something"
) -> Outcome:
    """Say what an ending means. The run's own result wins over a stop that came too late to matter.

    `hearing` is that of a standing task, `result` a print of what the run reports, empty for nothing.
    """
    failure, error = _failure(task, ending)
    if ending.stop == "cancel":
        move = "cancel"
        error = _survivors(ending) or (f"stopped by {run.stop_by}" if run.stop_by else "stopped")
    else:
        move = "fail" if failure else "complete"
    run_state = run_after(run.state, move)
    failed = run_state == "failed"
    told = result if run_state == "completed" else f"{run_state} {error} {result}"
    failures = _failures(run, run_state, cursor)
    return Outcome(
        run_state=run_state,
        task_state=_task_state(task, run_state)
        if cursor is None
        else _standing_state(task, run, run_state, cursor, failures),
        failure=failure if failed else None,
        error=error,
        notify=should_notify(
            task.notify,
            failed=failed,
            is_empty=not told,
            has_changed=cursor is None or told != cursor.result,
        ),
        retry=failed and task.state == "active" and run.cause != "resume" and 0 < failures < MOST_FAILURES,
        failures=failures,
        result=told,
    )


def _failures(run: Run, run_state: RunState, cursor: ScheduleCursor | None) -> int:
    if cursor is None or run_state == "completed":
        return 0
    return cursor.failures + int(run_state == "failed" and run.cause != "resume")


def _standing_state(
    task: Task, run: Run, run_state: RunState, cursor: ScheduleCursor, failures: int
) -> TaskState:
    """Leave a standing task active, unless it has failed too often in a row or run as often as it should."""
    if task.state != "active" or run.cause == "resume":
        return task.state
    trigger = recurring(task.trigger)
    is_last = trigger is not None and trigger.max_runs is not None and cursor.runs >= trigger.max_runs
    if run_state == "failed" and failures >= MOST_FAILURES:
        return task_after(task.state, "give up" if is_last else "pause")
    if is_last and run_state != "failed":
        return task_after(task.state, "finish")
    return task.state


def _task_state(task: Task, run_state: RunState) -> TaskState:
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
