"""cancel and stop: end tasks, or only their current run."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.live.follow import wait_for, wait_for_run
from errands.frontends.cli.parser import JSON_TASKS, Arguments, Verb, operand, option
from errands.frontends.cli.targets import (
    ALL,
    BATCH,
    all_live,
    chosen,
    fitting_task,
    fleet_tasks,
    newest_task,
)
from errands.model.errors import UnknownTask
from errands.model.states import OPEN, predicate
from errands.model.view import View
from errands.text.describe import ending_line, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def cancel(context: Context, arguments: Arguments) -> int:
    if arguments.all:
        ids = all_live(context, arguments)
        if not ids:
            context.note("no task of yours runs or waits; recurring tasks are cancelled by id")
            return 0
    elif arguments.id or arguments.batch is not None:
        try:
            ids = chosen(
                context, arguments, lambda each: fitting_task(context, each, lambda view: view.is_open)
            )
        except UnknownTask as error:
            return fleet_tasks(context, error).cancel(
                arguments, context.engine.resolve, lambda ids: _cancel(context, arguments, ids)
            )
    else:
        ids = [newest_task(context, OPEN, "to cancel", own=True)]
    return _cancel(context, arguments, ids)


def _cancel(context: Context, arguments: Arguments, ids: list[str]) -> int:
    before = {each: not context.engine.has_ended(each) for each in ids}
    if arguments.batch is not None:
        # In a batch, only live tasks are cancelled.
        ids = [each for each in ids if before[each]] or ids
    views = context.engine.cancel(ids)
    return _report(context, arguments, views, before)


def stop(context: Context, arguments: Arguments) -> int:
    ids = [fitting_task(context, each, lambda view: view.is_live) for each in arguments.id]
    before = {each: context.engine.view(each).is_live for each in ids}
    views = [context.engine.stop(each) for each in ids]
    if not arguments.no_wait:
        for view in views:
            if view.standing is not None:  # it outlives this run
                wait_for_run(context, view)
        recurring = [view.id for view in views if view.standing is not None]
        views = [context.engine.get(view.id) if view.id in recurring else view for view in views]
    return _report(context, arguments, views, before)


def _report(context: Context, arguments: Arguments, views: Sequence[View], before: dict[str, bool]) -> int:
    """Wait until no process of the tasks is left, unless --no-wait is given, and print how they ended."""
    if any(_is_ending(view) for view in views) and not arguments.no_wait:
        # An agent that is being ended needs no approval any more.
        views = wait_for(context, [view.id for view in views], notify=lambda _: None)
    code = 0
    for view in views:
        if arguments.json:
            context.print_view(view)
        elif before[view.id]:
            context.say(ending_line(view, context.look, at=now()))
        elif view.state == "cancelled":
            context.say(f"{view.id} is already cancelled")
        else:
            context.note(f"errands: {view.id} {predicate(view.state)}; there is nothing to stop")
        if not before[view.id] and view.state != "cancelled":
            code = 1
    return code


def _is_ending(view: View) -> bool:
    """Return whether a task is about to end; a recurring task that was only stopped is not."""
    return view.is_live and (view.standing is None or view.state == "cancelled")


NO_WAIT = option("--no-wait", "return without waiting for the processes to end")
IDS = operand("[ID...]", "the tasks", completes="live")

VERBS = (
    Verb(
        name="cancel",
        summary="cancel tasks: SIGTERM to all their processes, SIGKILL after a grace period",
        run=cancel,
        details="Without an id, cancels the newest live task that you started. A task that has not started "
        "never will. Returns when no process of the task is left.",
        options=(BATCH, ALL, NO_WAIT, JSON_TASKS),
        operands=(IDS,),
        examples=(
            ("errands cancel pytest-7k", ""),
            ("errands cancel --batch nightly", "the rest of a batch"),
            ("errands cancel --all", "everything you started except schedules"),
        ),
    ),
    Verb(
        name="stop",
        summary="stop the current run of a task, but keep the task",
        run=stop,
        details="For a one-shot task this is the same as cancel; a recurring task runs again at its "
        "next time.",
        options=(NO_WAIT, JSON_TASKS),
        operands=(operand("ID...", "the tasks", completes="live"),),
    ),
)
