"""Following: live output and live waiting, until the end, a time-out or a key.

Whoever follows only reads. Leaving, by a key, a signal or a time-out, leaves the task as it is.
"""

from __future__ import annotations

import gc
import select
import time

from errands.engine.bell_client import BellClient
from errands.engine.waiting import LOOK, wait
from errands.frontends.cli.display.format import how_to_answer, now
from errands.model.run import task_of
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from errands.engine.engine import Engine
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.live.keyboard import KeyPresses
    from errands.frontends.cli.live.output_filter import OutputFilter
    from errands.model.view import RunView, View

# Output rings no bell, so a log is looked at again after at least and at most so long.
SOONEST, LATEST = 0.01, 0.2
CHUNK = 1 << 20


class Watch:
    """A wait for news of some tasks, woken by the doorbell."""

    def __init__(self, context: Context, task_ids: Sequence[str]) -> None:
        gc.enable()  # whoever waits is no short command
        self._context = context
        self._ids = task_ids
        self._line = BellClient(context.engine.home.bell)
        self._watching = self._line.watch(task_ids)

    def news(self, timeout: float, presses: KeyPresses | None = None) -> None:
        """Wait for a change, a key or for the time to pass."""
        if not self._watching:
            # Nobody runs the loops, and whoever waits wants the task to end.
            self._context.engine.ensure_daemon()
            self._watching = self._line.watch(self._ids)
            timeout = min(timeout, SOONEST)
        select.select(
            [*([self._line] if self._watching else ()), *([presses] if presses else ())], [], [], timeout
        )
        self._watching = self._watching and self._line.read() is not None

    def close(self) -> None:
        self._line.close()


def wait_for(
    context: Context,
    task_ids: Sequence[str],
    *,
    timeout: float | None = None,
    glance: Callable[[list[View]], None] | None = None,
    every: float = 0.5,
    tell: Callable[[str], None] | None = None,
) -> list[View]:
    """Wait until all tasks have ended or the time has passed; `glance` sees them now and then.

    A task that needs the answer of a person counts as if it had ended. An agent that needs one goes on
    afterwards, so it is waited for, and `tell` gets what to type, once for each question.
    """
    gc.enable()  # whoever waits is no short command
    engine = context.engine
    deadline = None if timeout is None else time.monotonic() + timeout
    told: set[int] = set()
    watch: Watch | None = None
    try:
        while True:
            # A script that changes before the start sends a task back to a person, and no bell tells of that.
            left = LOOK if deadline is None else max(0.0, min(LOOK, deadline - time.monotonic()))
            if glance is not None:
                glance(engine.summaries(task_ids))
                left = min(every, left)
            held = {view.id for view in engine.list(Query(states=("proposed",)))}
            waited = [each for each in task_ids if each not in held]
            views = engine.summaries(waited)
            for each in _awaited(engine, views):
                if each.question is not None and each.question.id not in told:
                    told.add(each.question.id)
                    (tell or context.note)(how_to_answer([each.id]))
            if any(view.agent is not None and view.is_live for view in views):
                # What an agent needs a yes for is no end, so every change of it is worth a look.
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
    """Give the tasks that a person must answer before agents can go on."""
    for view in waited:
        if view.agent is not None and view.agent.waiting == "approval":
            # A command that it wants to run is a task of its own; other calls are asked about with the agent.
            yield from [view] if view.question is not None else engine.proposals_of(view)


def wait_for_run(context: Context, view: View) -> RunView:
    """Wait for the end of the latest run of a task that outlives its runs."""
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
    context: Context, run_id: str, lens: OutputFilter, *, offset: int = 0, presses: KeyPresses | None = None
) -> int:
    """Show a run's output as it comes, up to its end or to a key; give the offset after what was shown."""
    task_id, number = task_of(run_id)
    watch = Watch(context, [task_id])
    pause = SOONEST
    try:
        while True:
            # The state is read before the output: what a run wrote before its end is then never missed.
            view = context.engine.view(task_id)
            latest = view.latest
            is_live = latest.number == number and view.is_live and view.state != "proposed"
            went_on = show_from(context, run_id, lens, offset)
            if went_on > offset:
                pause, offset = SOONEST, went_on
            else:
                pause = min(pause * 1.5, LATEST)
                if pause == LATEST:
                    lens.pause()
            if not is_live or (presses is not None and presses.is_waiting()):
                return offset
            watch.news(LOOK if latest.state == "pending" else pause, presses)
    finally:
        watch.close()


def show_from(context: Context, run_id: str, lens: OutputFilter, offset: int) -> int:
    """Show what there is by now of a run's output from an offset; return the offset after it.

    What is printed meanwhile is not waited for: a task that prints fast would never let this end.
    """
    end = context.engine.tail(run_id, 0).next_offset
    while offset < end:
        piece = context.engine.output(run_id, offset=offset, limit=CHUNK)
        if piece.missing:
            lens.gap(piece.missing)
        if piece.next_offset <= offset:
            break
        lens.show(piece.content)
        offset = piece.next_offset
    return offset


def wait_for_start(context: Context, view: View, timeout: float) -> View:
    """Look for a moment whether a task starts at once."""
    deadline = time.monotonic() + timeout
    watch = Watch(context, [view.id])
    try:
        while view.latest.state == "pending" and not view.waits:
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
