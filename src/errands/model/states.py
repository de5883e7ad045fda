"""States: the two tables of all moves that exist.

A task is an order, a run is one execution of it. Every change of state is looked up here; a move that the
tables do not list raises and changes nothing. Terminal states of runs are final: the first one wins.
"""

from __future__ import annotations

from errands.model.errors import IllegalMove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    TaskState = Literal["proposed", "rejected", "active", "paused", "done", "failed", "cancelled"]
    RunState = Literal["pending", "running", "completed", "failed", "cancelled", "skipped"]
    Failure = Literal[
        "exit", "signal", "timeout", "idle", "limit", "spawn", "agent", "budget", "lost", "interrupted"
    ]
    Skip = Literal["overlap", "dependency", "quiet", "duplicate"]

TASK_MOVES: dict[str, dict[str, TaskState]] = {
    "proposed": {"approve": "active", "reject": "rejected", "give up": "failed", "cancel": "cancelled"},
    # A person who approves it after all answers a new question, about a new run.
    "rejected": {"ask again": "proposed"},
    "active": {
        "ask": "proposed",
        "pause": "paused",
        "finish": "done",
        "give up": "failed",
        "cancel": "cancelled",
    },
    "paused": {"unpause": "active", "cancel": "cancelled"},
    "done": {"reopen": "active"},
    "failed": {"reopen": "active"},
    "cancelled": {"reopen": "active"},
}

RUN_MOVES: dict[str, dict[str, RunState]] = {
    "pending": {"start": "running", "cancel": "cancelled", "skip": "skipped"},
    # Back to the queue only if it provably never started and needs a new approval.
    "running": {"complete": "completed", "fail": "failed", "cancel": "cancelled", "hold": "pending"},
    "completed": {},
    "failed": {},
    "cancelled": {},
    "skipped": {},
}

LIVE: tuple[RunState, ...] = ("pending", "running")
# The states, as a person calls them, of tasks that have not ended.
OPEN: tuple[str, ...] = ("proposed", *LIVE, "resumed")
# The states of a recurring task before it ends.
STANDING: tuple[TaskState, ...] = ("active", "paused")
ENDED: tuple[RunState, ...] = ("completed", "failed", "cancelled", "skipped")
EVERY_STATE: tuple[str, ...] = (*OPEN, *ENDED, *STANDING, "done", "rejected")
FAILURES: tuple[Failure, ...] = (
    "exit", "signal", "timeout", "idle", "limit", "spawn", "agent", "budget", "lost", "interrupted",
)  # fmt: skip
SKIPS: tuple[Skip, ...] = ("overlap", "dependency", "quiet", "duplicate")

# The sign of every state that people see; what is being cancelled, paused or held has one, too.
# A recurring task that waits for its next time must not look like one that runs.
SIGNS = {
    "proposed": "?", "rejected": "✗", "active": "○", "paused": "‖", "done": "✓", "pending": "○",
    "running": "●", "resumed": "●", "cancelling": "◐", "held": "‖", "completed": "✓", "failed": "✗",
    "cancelled": "⊘", "skipped": "»",
}  # fmt: skip


def predicate(state: str) -> str:
    """Return what a sentence says about something in this state: `is running`, `has failed`."""
    return "has failed" if state == "failed" else f"is {state}"


def not_running(task_id: str, state: str) -> str:
    """Return the message about input for a task that is not running."""
    return f"task {task_id} {predicate(state)}; input can only be sent to a running task"


def task_after(state: TaskState, move: str) -> TaskState:
    try:
        return TASK_MOVES[state][move]
    except KeyError:
        raise IllegalMove(_refusal("task", state, move, TASK_MOVES)) from None


def run_after(state: RunState, move: str) -> RunState:
    try:
        return RUN_MOVES[state][move]
    except KeyError:
        raise IllegalMove(_refusal("run", state, move, RUN_MOVES)) from None


def _refusal(
    what: str, state: str, move: str, moves: dict[str, dict[str, TaskState]] | dict[str, dict[str, RunState]]
) -> str:
    possible = ", ".join(moves.get(state, ())) or "nothing: this state is final"
    return f"a {what} that is {state} cannot {move}; it can: {possible}"
