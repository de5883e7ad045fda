"""Rollup: what a run's ending means for the run, its task and its notices.

Pure: it decides, `engine/daemon/outcome.py` writes.
"""

from __future__ import annotations

from datetime import timedelta

from errands.model.action import Shell
from errands.model.approval import is_contained
from errands.model.ending import (
    AT_WALL,
    AgentFailed,
    Cancelled,
    Exited,
    Interrupted,
    Killed,
    LimitExceeded,
    Lost,
    SpawnFailed,
)
from errands.model.errors import assert_never
from errands.model.notices.notice import should_notify
from errands.model.record import record
from errands.model.retry import RETRIED, Retry
from errands.model.schedule.cursor import SCHEDULED_RETRIES
from errands.model.states import run_after, task_after
from errands.model.trigger import recurring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from errands.model.ending import Ending, Limit
    from errands.model.limits import Limits
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
    """What to write: `retry_in` is the wait before the next try, `failures` counts those in a row.

    `result` is a digest of what the run reports, to see whether the next one reports something else.
    """

    run_state: RunState
    task_state: TaskState
    failure: Failure | None
    error: str | None
    notify: bool
    retry_in: timedelta | None = None
    failures: int = 0
    result: str = ""


def rollup(
    task: Task,
    run: Run,
    ending: Ending,
    *,
    cursor: ScheduleCursor | None = None,
    result: str = "something",
    earlier_failures: int = 0,
    backoff: timedelta = timedelta(),
) -> Outcome:
    """Decide what an ending means. The run's own result wins over a stop that came too late to matter.

    `cursor` is that of a recurring task; `earlier_failures` counts the runs that this one retries, of a task
    that runs once. `result` is a digest of what the run reports, empty for nothing.
    """
    failure, error = _meaning(task, run, ending)
    move = "cancel" if failure == "cancelled" else "fail" if failure is not None else "complete"
    run_state = run_after(run.state, move)
    failed = run_state == "failed"
    reported = result if run_state == "completed" else f"{run_state} {error} {result}"
    counts = failed and run.cause != "resume"
    before = earlier_failures if cursor is None else cursor.failures
    failures = 0 if run_state == "completed" else before + int(counts)
    retries = task.limits.retries if cursor is None else SCHEDULED_RETRIES
    delay = Retry(retries=retries, backoff=backoff).next_delay(failures) if counts else None
    may_retry = task.state == "active" and run.stop_requested_at is None
    retry_in = delay if may_retry and (cursor is not None or failure in RETRIED) else None
    return Outcome(
        run_state=run_state,
        task_state=_one_shot_state(task, run_state, is_retried=retry_in is not None)
        if cursor is None
        else _recurring_state(task, run, run_state, cursor, gives_up=counts and delay is None),
        failure=None if failure == "cancelled" else failure,
        error=error,
        # A one-shot task is reported once, when its last run has ended.
        notify=(cursor is not None or retry_in is None)
        and should_notify(
            task.notify,
            failed=failed,
            is_empty=not reported,
            has_changed=cursor is None or reported != cursor.result,
        ),
        retry_in=retry_in,
        failures=failures,
        result=reported,
    )


def _recurring_state(
    task: Task, run: Run, run_state: RunState, cursor: ScheduleCursor, *, gives_up: bool
) -> TaskState:
    """Keep a recurring task active, unless it failed too often in a row or has run as often as it should."""
    if task.state != "active" or run.cause == "resume":
        return task.state
    trigger = recurring(task.trigger)
    is_last = trigger is not None and trigger.max_runs is not None and cursor.runs >= trigger.max_runs
    if gives_up:
        return task_after(task.state, "give up" if is_last else "pause")
    if is_last and run_state != "failed":
        return task_after(task.state, "finish")
    return task.state


def _one_shot_state(task: Task, run_state: RunState, *, is_retried: bool) -> TaskState:
    if task.state != "active" or is_retried:
        return task.state
    match run_state:
        case "completed":
            return task_after(task.state, "finish")
        case "cancelled":
            return task_after(task.state, "cancel")
        case _:
            return task_after(task.state, "give up")


def _meaning(
    task: Task, run: Run, ending: Ending
) -> tuple[Failure | Literal["cancelled"] | None, str | None]:
    match ending.how:
        case Exited(code=0):
            return None, None
        case Exited(code=code):
            return "exit", _in_step(task, ending, f"exit code {code}") + _at_wall(task, ending)
        case Killed(signal=signal):
            return "signal", _in_step(task, ending, f"killed by {SIGNALS.get(signal, f'signal {signal}')}")
        case Cancelled():
            return "cancelled", _survivors(ending) or (
                f"stopped by {run.stop_by}" if run.stop_by else "stopped"
            )
        case LimitExceeded(limit=limit):
            failure: Failure = limit if limit in ("timeout", "idle") else "limit"
            return failure, _with_survivors(_excess(task.limits, limit, ending), ending)
        case SpawnFailed(error=error):
            return "spawn", error
        case AgentFailed(failure=failure, error=error):
            return failure, error
        case Lost(reason=reason):
            return "lost", _with_survivors(reason, ending)
        case Interrupted():
            return "interrupted", "the machine restarted while this ran"
        case never:
            assert_never(never)


def _at_wall(task: Task, ending: Ending) -> str:
    """Return what a failed run seems to have wanted that its sandbox does not allow."""
    wall, _, place = ending.wall.partition(" ")
    if wall not in ("network", "files"):
        return ""
    wanted = "to need the network" if wall == "network" else f"to write {place or 'where it may not'}"
    said = f"{AT_WALL}{wanted}, which its sandbox does not allow"
    # The runs of a schedule are not approved one by one.
    is_asked = is_contained(task) and recurring(task.trigger) is None
    return f"{said}: errands approve {task.id} runs it without one" if is_asked else said


def _excess(limits: Limits, limit: Limit, ending: Ending) -> str:
    match limit:
        case "timeout":
            return f"ran longer than its time-out of {_seconds(limits.timeout)}"
        case "idle":
            return f"no output for {_seconds(limits.idle)} (idle time-out)"
        case "memory":
            return f"memory limit exceeded: {ending.peak}"
        case "cpu":
            return f"CPU time limit exceeded: {ending.peak}"
        case "processes":
            return f"process limit exceeded: {ending.peak}"
        case never:
            assert_never(never)


def _in_step(task: Task, ending: Ending, what: str) -> str:
    """Name the command of a sequence that failed; the runner counts the hooks before it as steps too."""
    action = task.action
    if not isinstance(action, Shell) or len(action.commands) == 1:
        return what
    return f"{what} in step {ending.step + 1 - len(action.before)} of {len(action.commands)}"


def _with_survivors(why: str, ending: Ending) -> str:
    return " ".join(filter(None, [why, _survivors(ending)]))


def _survivors(ending: Ending) -> str | None:
    if not ending.survivors:
        return None
    return f"could not end these processes: {', '.join(map(str, ending.survivors))}"


def _seconds(span: timedelta | None) -> str:
    return f"{0.0 if span is None else span.total_seconds():g} s"
