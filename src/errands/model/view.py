"""A view: what a frontend shows of a task and its latest run, read in one query.

`state` is what a person would call it: a task with a follow-up prompt is `resumed` until it has answered.
"""

from __future__ import annotations

from errands.model.action import Prompt
from errands.model.notices.notice import CONDITIONS
from errands.model.record import fields, record
from errands.model.states import LIVE, STANDING
from errands.model.text.json_text import utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime, timedelta
    from typing import Any

    from errands.model.approval import Approval
    from errands.model.notices.notice import Address, Policy
    from errands.model.run import Run
    from errands.model.states import RunState, TaskState
    from errands.model.task import Task
    from errands.model.text.progress import Progress
    from errands.model.trigger import Standing

NOT_APPROVED, STILL_LIVE, STOPPED, NO_RESULT = 4, 124, 143, 125  # exit codes of `errands wait`


@record
class RunView:
    """One run of a task; in the history of an agent's, `result` is its answer and `usage` what that took."""

    id: str
    number: int
    cause: str
    state: RunState
    attempt: int
    created_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    stop_requested_at: datetime | None = None
    paused_at: datetime | None = None
    paused_for: float = 0.0
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    failure: str | None = None
    error: str | None = None
    elapsed: float | None = None
    bytes: int = 0
    lines: int = 0
    truncated: bool = False
    leftovers: int = 0
    summary: str | None = None
    hooks: str | None = None
    output_failed: str | None = None
    retrieved_at: datetime | None = None
    output_file: str = ""
    result: str | None = None
    usage: Mapping[str, int] = {}


@record
class AgentView:
    """What only agent tasks have: their session, and what their latest run is doing."""

    name: str
    model: str | None = None
    resume_count: int = 0
    forked: bool = False
    tool_calls: int = 0
    tools: tuple[str, ...] = ()
    usage: Mapping[str, int] = {}
    activity_at: datetime | None = None
    waiting: str | None = None
    answer: str | None = None
    timeout: timedelta | None = None


@record
class RecurringView:
    """What only recurring tasks have: when they run, and how often they did.

    One that waits for events also has a `health`, when its source was last checked, and its latest signal.
    """

    trigger: Standing
    rule: str
    next_at: datetime | None
    last_at: datetime | None
    runs: int
    failures: int = 0
    max_runs: int | None = None
    health: str | None = None
    checked_at: datetime | None = None
    signal_at: datetime | None = None


@record
class RetryView:
    """Which retry of a task its live run is; `at` is when it may start, None once it may."""

    number: int
    of: int
    at: datetime | None


@record
class View:
    """A task with its latest run, number 0 for a recurring task that has not run yet.

    `host` was asked for, `runs_on` has the latest run, and `no_host` says why none has begun it. `question`
    is the open one about a proposed task. `details` and `history` are set in the view of a single task.
    """

    id: str
    kind: str
    state: str
    task_state: TaskState
    name: str
    description: str
    command: str
    cwd: str
    lane: str
    priority: str
    batch: str | None
    key: str | None
    template: str | None
    owner: str
    notify: Policy
    parent: str | None
    created_at: datetime
    created_by: str
    updated_at: datetime
    runs: int
    due_at: datetime | None
    waits: int
    latest: RunView
    progress: Progress | None = None
    activity_at: datetime | None = None
    approved_by: str | None = None
    approved_at: datetime | None = None
    door: str = ""
    verdict: str = "auto"
    channels: tuple[Address, ...] = ()
    question: Approval | None = None
    agent: AgentView | None = None
    standing: RecurringView | None = None
    retry: RetryView | None = None
    host: str = ""
    runs_on: str = ""
    no_host: str = ""
    details: Mapping[str, Any] | None = None
    history: tuple[RunView, ...] = ()

    @property
    def wake(self) -> str:
        """How the end of the task will be reported."""
        if self.notify == "never":
            return f"none; ask with `errands wait {self.id}`"
        ways = [_way(each) for each in self.channels]
        when = f"{CONDITIONS[self.notify]}: " if self.notify in CONDITIONS else ""
        return when + "; ".join([*ways, f"inbox of {self.owner}: `errands notices`"])

    @property
    def agent_task(self) -> str | None:
        """The task whose agent ran this command in one of its runs; None for every other task."""
        run = self.created_by.removeprefix("run ")
        if self.parent == self.owner or not (self.key or "").startswith(f"{run}:"):
            return None
        return run.rpartition(".")[0]

    @property
    def is_live(self) -> bool:
        return self.latest.state in LIVE and self.latest.number > 0

    @property
    def is_open(self) -> bool:
        """Whether it can be cancelled: a run is live, or its trigger may still start one."""
        return self.is_live or (self.standing is not None and self.task_state in ("proposed", *STANDING))

    @property
    def is_cancelling(self) -> bool:
        return self.latest.state == "running" and self.latest.stop_requested_at is not None

    @property
    def is_paused(self) -> bool:
        """Whether its processes are suspended."""
        return self.latest.state == "running" and self.latest.paused_at is not None and not self.is_cancelling

    @property
    def is_held(self) -> bool:
        """Whether it does not start until it is released."""
        return self.latest.state == "pending" and self.latest.paused_at is not None

    @property
    def needs_approval(self) -> bool:
        """Whether it waits for approval: before it starts, or before its agent continues."""
        return self.state == "proposed" or self.question is not None

    @property
    def is_resumed(self) -> bool:
        """Whether a follow-up prompt is being answered."""
        return self.is_live and self.latest.cause == "resume"

    @property
    def marks(self) -> str:
        """What lists show after the id: `(resumed)`, `(forked)`."""
        if self.agent is None:
            return ""
        words = ["(resumed)"] if self.agent.resume_count else []
        return " ".join([*words, "(forked)"] if self.agent.forked else words)


def _way(address: Address) -> str:
    if address.channel == "inbox":
        return f"inbox of {address.target}"
    # The part after @ only distinguishes a terminal from a later one of the same name.
    target = address.target.partition("@")[0] if address.target.startswith("/dev/") else address.target
    return f"channel {address.channel} {target}".rstrip()


def unrun(task_id: str, created_at: datetime) -> RunView:
    """Return a stand-in for the latest run of a task that has none."""
    return RunView(
        id=f"{task_id}.0", number=0, cause="schedule", state="pending", attempt=0, created_at=created_at
    )


def first_view(task: Task, run: Run, output_file: str, question: Approval | None = None) -> View:
    """Return the view of a task that was just added, without reading it from the store."""
    latest = RunView(
        id=run.id, number=run.number, cause=run.cause, state=run.state, attempt=run.attempt,
        created_at=run.created_at, output_file=output_file,
    )  # fmt: skip
    return View(
        id=task.id, kind="remote" if task.host else task.kind, host=task.host,
        state=task.state if task.state == "proposed" else run.state, task_state=task.state,
        name=utf8(task.name), description=utf8(task.description), command=utf8(task.command),
        cwd=utf8(task.action.cwd), lane=task.lane, priority=task.priority, batch=task.batch, key=task.key,
        template=task.template, owner=task.owner, notify=task.notify, parent=task.parent,
        created_at=task.created_at, created_by=task.created_by, updated_at=task.created_at,
        runs=run.number, due_at=task.due_at, waits=0, latest=latest, approved_by=task.approved_by,
        approved_at=task.approved_at, door=task.door, verdict=task.verdict,
        channels=task.channels, question=question, agent=_first_agent_view(task),
    )  # fmt: skip


def shown_state(task: TaskState, run: RunView) -> str:
    if task in ("proposed", "rejected"):
        return task
    return "resumed" if run.cause == "resume" and run.state in LIVE else run.state


def _first_agent_view(task: Task) -> AgentView | None:
    action = task.action
    if not isinstance(action, Prompt):
        return None
    forked = action.fork is not None
    return AgentView(name=action.agent, model=action.model, forked=forked, timeout=task.limits.timeout)


def exit_code(view: View) -> int:
    """Return the exit code of `errands wait`: the task's own if it has one."""
    if view.state in ("proposed", "rejected"):
        return NOT_APPROVED
    if view.standing is not None:
        return {"done": 0, "cancelled": STOPPED, "active": STILL_LIVE}.get(view.state, 1)
    return run_exit_code(view.latest)


def run_exit_code(run: RunView) -> int:
    match run.state:
        case "completed":
            return 0
        case "skipped":
            return NO_RESULT
        case "pending" | "running":
            return STILL_LIVE
        case "failed" | "cancelled":
            if run.failure in ("lost", "interrupted"):
                return NO_RESULT
            if run.signal is not None:
                return 128 + run.signal
            if run.failure == "exit" and run.exit_code:
                return run.exit_code
            return STOPPED if run.state == "cancelled" else 1


def as_json(view: View) -> dict[str, Any]:
    """Flatten a view into plain values, times as ISO 8601 in UTC; the keys scripts may rely on."""
    from errands.model.text.ids import span_id

    run, agent, standing = view.latest, view.agent, view.standing
    flat: dict[str, Any] = {
        "id": view.id,
        "kind": view.kind,
        "state": view.state,
        "task_state": view.task_state,
        "run_state": run.state if run.number else None,
        "cancelling": view.is_cancelling,
        "paused_at": run.paused_at,
        "paused_for": run.paused_for,
        "name": view.name,
        "description": view.description,
        "command": view.command if agent is None else None,
        "prompt": None if agent is None else view.command,
        "cwd": view.cwd,
        "host": view.host or None,
        "runs_on": view.runs_on or None,
        "no_host": view.no_host or None,
        "lane": view.lane,
        "priority": view.priority,
        "batch": view.batch,
        "key": view.key,
        "template": view.template,
        "owner": view.owner,
        "notify": view.notify,
        "parent": view.parent,
        "parent_task": view.agent_task,
        "created_at": view.created_at,
        "created_by": view.created_by,
        "updated_at": view.updated_at,
        "due_at": view.due_at,
        "schedule": None if standing is None else standing.rule,
        "next_run_at": _next_run(view),
        "last_run_at": run.started_at if standing is None else standing.last_at,
        "run_count": view.runs if standing is None else standing.runs,
        "max_runs": None if standing is None else standing.max_runs,
        "health": None if standing is None else standing.health,
        "checked_at": None if standing is None else standing.checked_at,
        "last_event_at": None if standing is None else standing.signal_at,
        "waits": view.waits,
        "run_id": run.id if run.number else None,
        "span_id": span_id(run.id, run.created_at) if run.number else None,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "exit_code": run.exit_code,
        "signal": run.signal,
        "failure": run.failure,
        "error": run.error,
        "pid": run.pid,
        "duration": run.elapsed,
        "output_file": run.output_file,
        "output_bytes": run.bytes,
        "output_lines": run.lines,
        "output_failed": run.output_failed,
        "truncated": run.truncated,
        "leftovers": run.leftovers,
        "summary": run.summary,
        "retrieved_at": run.retrieved_at,
        "activity_at": view.activity_at,
        "progress": None if view.progress is None else plain_fields(view.progress),
        "verdict": view.verdict,
        "door": view.door,
        "approved_by": view.approved_by,
        "approved_at": view.approved_at,
        "approval": None if view.question is None else view.question.id,
        "reasons": [] if view.question is None else [plain_fields(each) for each in view.question.reasons],
        "expires_at": None if view.question is None else view.question.expires_at,
        "agent": None if agent is None else agent.name,
        "model": None if agent is None else agent.model,
        "resumed": view.is_resumed,
        "resume_count": 0 if agent is None else agent.resume_count,
        "forked": agent is not None and agent.forked,
        "waiting": None if agent is None else agent.waiting,
        "tool_calls": 0 if agent is None else agent.tool_calls,
        "recent_tools": [] if agent is None else list(agent.tools),
        "usage": {} if agent is None else dict(agent.usage),
        "answer": None if agent is None else agent.answer,
        "timeout": None if agent is None or agent.timeout is None else agent.timeout.total_seconds(),
        "channels": [str(each) for each in view.channels],
        "wake": view.wake,
        "retry": None if view.retry is None else plain_fields(view.retry),
        "runs": view.runs,
    }
    if view.details is not None:
        flat.update(view.details)
        flat["history"] = [plain_fields(each) for each in view.history]
    return {key: plain_value(value) for key, value in flat.items()}


def _next_run(view: View) -> datetime | None:
    if view.standing is not None:
        return view.standing.next_at
    if view.retry is not None:
        return view.retry.at
    return view.due_at if view.latest.state == "pending" else None


def plain_fields(record: Any, names: Iterable[str] = ()) -> dict[str, Any]:
    """Return these fields of a record, or else all of them, as JSON has them."""
    return {name: plain_value(getattr(record, name)) for name in names or fields(record)}


def plain_value(value: Any) -> Any:
    """Write a time as text; everything else is plain already."""
    return value.isoformat().replace("+00:00", "Z") if hasattr(value, "isoformat") else value
