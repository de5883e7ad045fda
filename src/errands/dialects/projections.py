"""Projections of our states to the statuses of other tools: pure, and defined for every state."""

from __future__ import annotations

from errands.model.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.states import RunState, TaskState

OPENCODE = ("running", "completed", "error", "cancelled", "resumed")
CLAUDE = ("pending", "running", "completed", "error", "cancelled")
CLAUDE_TYPES = ("bash", "agent", "remote")
CO = ("pending", "running", "completed", "failed", "cancelled")
EGIRL = ("proposed", "active", "paused", "done", "failed")

ICONS = {
    "running": "⏳",
    "completed": "✓",
    "error": "✗",
    "cancelled": "⊘",
    "pending": "○",
}

_RECURRING: dict[TaskState, RunState] = {
    "proposed": "pending",
    "rejected": "cancelled",
    "active": "pending",
    "paused": "pending",
    "done": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}
_CLAUDE: dict[RunState, str] = {
    "pending": "pending",
    "running": "running",
    "completed": "completed",
    "failed": "error",
    "cancelled": "cancelled",
    "skipped": "cancelled",
}
_CO = {**_CLAUDE, "failed": "failed"}
_EGIRL: dict[TaskState, str | None] = {
    "proposed": "proposed",
    "rejected": None,
    "active": "active",
    "paused": "paused",
    "done": "done",
    "failed": "failed",
    "cancelled": None,
}
_EGIRL_RUN: dict[RunState, str | None] = {
    "pending": None,
    "running": "running",
    "completed": "success",
    "failed": "failure",
    "cancelled": "failure",
    "skipped": "skipped",
}


def phase(view: View) -> RunState:
    """Return the state of a task as if it were a run.

    A recurring task that waits for its next run, or is paused, is pending; it ends when its trigger does,
    however its latest run ended.
    """
    if view.task_state == "proposed":
        return "pending"
    return view.latest.state if view.standing is None or view.is_live else _RECURRING[view.task_state]


def opencode(view: View) -> str:
    """Return the status; a task in the queue, waiting for approval or its next run counts as running."""
    state = phase(view)
    if state in ("pending", "running"):
        return "resumed" if view.is_resumed else "running"
    return _CLAUDE[state]


def claude(view: View) -> str:
    return _CLAUDE[phase(view)]


def claude_exit_code(view: View) -> int | None:
    """Return the exit code of an ended task: -1 after a signal, as Claude Code reports it."""
    run = view.latest
    if view.is_live:
        return None
    return -1 if run.exit_code is None and run.signal is not None else run.exit_code


def co_exit_code(view: View) -> int | None:
    """Return the exit code of an ended task: minus the number of a signal, as Python reports it."""
    run = view.latest
    if view.is_live:
        return None
    return -run.signal if run.exit_code is None and run.signal is not None else run.exit_code


def claude_type(view: View) -> str:
    return "bash" if view.agent is None else "agent"


def co(view: View) -> str:
    return _CO[phase(view)]


def egirl(view: View) -> str | None:
    """Return the status; None for a task that counts as deleted."""
    return _EGIRL[view.task_state]


def egirl_run(state: RunState) -> str | None:
    """Return the status; None before the run has started."""
    return _EGIRL_RUN[state]
