"""Follow a task: its output, or its end, until it ends, a timeout or a key.

Following only reads; to stop following does not affect the task.
"""

from __future__ import annotations

import gc
import select
import time

from errands.engine.bell_client import BellClient
from errands.engine.waiting import LOOK, wait
from errands.frontends.cli.context import Context
from errands.model.run import task_of
from errands.model.view import RunView, View
from errands.ports.store import Query
from errands.text.describe import how_to_answer, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from errands.engine.engine import Engine
    from errands.frontends.cli.live.keyboard import KeyPresses
    from errands.frontends.cli.live.output_filter import OutputFilter

# Output does not ring the bell, so a log is polled at an interval between these.
SOONEST, LATEST = 0.01, 0.2
CHUNK = 1 << 20


class Watch:
    """Waits for changes of some tasks, woken by the bell."""

    def __init__(self, context: Context, task_ids: Sequence[str]) -> None:
        _collect_garbage()
        self._context = context
        self._ids = task_ids
        self._line = BellClient(context.engine.home.bell)
        self._watching = self._line.watch(task_ids)

    def news(self, timeout: float, presses: KeyPresses | None = None) -> None:
        """Wait for a change, a key or the timeout."""
        if not self._watching:
            # No daemon runs, and without one the task would not end.
            self._context.engine.ensure_daemon()
            self._watching = self._line.watch(self._ids)
            timeout = min(timeout, SOONEST)
        select.select(
            [*([self._line] if self._watching else ()), *([presses] if presses else ())], [], [], timeout
        )
        self._watching = self._watching and self._line.read() is not None

    def close(self) -> None:
        self._line.close()


def _collect_garbage() -> None:
    """Turn the garbage collector on, because a wait may be long; objects that exist by now are exempt.

    Otherwise the first collection, through everything imported, would take 3 ms.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def wait_for(
    context: Context,
    task_ids: Sequence[str],
    *,
    timeout: float | None = None,
    glance: Callable[[list[View]], None] | None = None,
    every: float = 0.5,
    notify: Callable[[str], None] | None = None,
    for_any: bool = False,
) -> list[View]:
    """Wait until all tasks have ended, or `for_any` of them, or the timeout; `glance` sees them meanwhile.

    A task that waits for approval counts as ended. An agent that waits for approval continues afterwards, so
    it is waited for, and `notify` gets the command to answer with, once for each question.
    """
    _collect_garbage()
    engine = context.engine
    deadline = None if timeout is None else time.monotonic() + timeout
    reported: set[int] = set()
    watch: Watch | None = None
    try:
        while True:
            # A script that changes before the start sends its task back to approval without ringing the bell.
            left = LOOK if deadline is None else max(0.0, min(LOOK, deadline - time.monotonic()))
            if glance is not None:
                glance(engine.summaries(task_ids))
                left = min(every, left)
            proposed = {view.id for view in engine.list(Query(states=("proposed",)))}
            waited = [each for each in task_ids if each not in proposed]
            views = engine.summaries(waited)
            for each in _awaited(engine, views):
                if each.question is not None and each.question.id not in reported:
                    reported.add(each.question.id)
                    (notify or context.note)(how_to_answer([each.id], context.look))
            if for_any and (proposed & {*task_ids} or any(not view.is_live for view in views)):
                return engine.summaries(task_ids)
            if for_any or any(view.agent is not None and view.is_live for view in views):
                # An agent that needs approval has not ended, so look at it after every change.
                watch = watch or Watch(context, waited)
                watch.news(left)
                live = [each for each in waited if not engine.has_ended(each)]
            else:
                live = wait(engine, waited, timeout=left)
            if not live or (deadline is not None and time.monotonic() >= deadline):
                return engine.summaries(task_ids)
    finally:
        if watch is not None:
            watch.close()


def _awaited(engine: Engine, waited: Sequence[View]) -> Iterator[View]:
    """Yield the tasks that need approval before agents can continue."""
    for view in waited:
        if view.agent is not None and view.agent.waiting == "approval":
            # A command is a task of its own; the question about any other call belongs to the agent.
            yield from [view] if view.question is not None else engine.proposals_of(view)


def wait_for_run(context: Context, view: View) -> RunView:
    """Wait for the end of the latest run of a recurring task."""
    watch = Watch(context, [view.id])
    try:
        while True:
            found = context.engine.view(view.id)
            if found.latest.number != view.latest.number or not found.is_live:
                history = context.engine.history(view.id, limit=10)
                return next(run for run in history if run.number == view.latest.number)
            watch.news(LOOK)
    finally:
        watch.close()


def follow(
    context: Context, run_id: str, output: OutputFilter, *, offset: int = 0, presses: KeyPresses | None = None
) -> int:
    """Show a run's output as it comes, until its end or a key; return the offset after it."""
    task_id, number = task_of(run_id)
    watch = Watch(context, [task_id])
    pause = SOONEST
    try:
        while True:
            # Read the state before the output, so that nothing written before the end is missed.
            view = context.engine.view(task_id)
            latest = view.latest
            is_live = latest.number == number and view.is_live and view.state != "proposed"
            shown_to = show_from(context, run_id, output, offset)
            if shown_to > offset:
                pause, offset = SOONEST, shown_to
            else:
                pause = min(pause * 1.5, LATEST)
                if pause == LATEST:
                    output.pause()
            if not is_live or (presses is not None and presses.is_waiting()):
                return offset
            watch.news(LOOK if latest.state == "pending" else pause, presses)
    finally:
        watch.close()


def show_from(context: Context, run_id: str, output: OutputFilter, offset: int) -> int:
    """Show a run's output so far from an offset; return the offset after it.

    Output printed meanwhile is left out: a task that prints fast would never let this end.
    """
    end = context.engine.tail(run_id, 0).next_offset
    while offset < end:
        piece = context.engine.output(run_id, offset=offset, limit=CHUNK)
        if piece.missing:
            output.gap(piece.missing)
        if piece.next_offset <= offset:
            break
        output.show(piece)
        offset = piece.next_offset
    return offset


def wait_for_start(context: Context, view: View, timeout: float) -> View:
    """Wait a moment for a task to start."""
    deadline = time.monotonic() + timeout
    watch = Watch(context, [view.id])
    try:
        while view.latest.state == "pending" and not view.waits and not view.is_held:
            if view.due_at is not None and view.due_at > now():
                break
            left = deadline - time.monotonic()
            if left <= 0:
                break
            watch.news(left)
            view = context.engine.list(Query(ids=(view.id,)))[0]
    finally:
        watch.close()
    return view
