"""pause, unpause and fire: pause a running task or a schedule, continue it, or run a recurring task now."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.display.pending import why_pending
from errands.frontends.cli.display.recurring import say_recurring
from errands.frontends.cli.parser import JSON_TASKS, Arguments, Verb, operand, option
from errands.frontends.cli.reply import REPLY, check_reply, reply
from errands.frontends.cli.targets import ALL, all_live, each_of, fitting_task, fleet_control, given_or_newest
from errands.model.errors import UnknownTask
from errands.model.states import LIVE
from errands.model.view import View


def pause(context: Context, arguments: Arguments) -> int:
    if arguments.all:
        return _pause_all(context, arguments)
    try:
        ids = given_or_newest(context, arguments.id, LIVE, _can_pause, "running task that can be paused")
    except UnknownTask as error:
        return fleet_control(context, error).pause(
            arguments,
            "pause",
            lambda each: fitting_task(context, each, _can_pause),
            lambda ids: _pause(context, arguments, ids),
        )
    return _pause(context, arguments, ids)


def _pause(context: Context, arguments: Arguments, ids: list[str]) -> int:
    for each in ids:
        view = context.engine.queue.pause(each, run=arguments.run)
        if arguments.json:
            context.print_view(settled(context, view))
            continue
        undo = f"({context.look.command('unpause')} {'--run ' if arguments.run else ''}{view.id})"
        if view.standing is not None and not arguments.run:
            current = "; its current run continues" if view.is_live else ""
            context.say(f"paused {view.id}{current}  {undo}")
        elif view.is_held:
            context.say(f"held {view.id}: it does not start  {undo}")
        else:
            view = settled(context, view)
            if context.engine.queue.has_settled(view):
                context.say(f"paused {view.id}: its processes are suspended  {undo}")
            else:
                context.say(f"pausing {view.id}: some of its processes still run  {undo}")
    return 0


def _pause_all(context: Context, arguments: Arguments) -> int:
    views = context.engine.summaries(all_live(context, arguments))
    pending = [view.id for view in views if _can_hold(view)]
    running = [view.id for view in views if _can_pause(view)]
    for view in views:
        if view.latest.state == "running" and view.agent is not None:
            context.note(f"{view.id} continues: a running agent cannot be paused")
    if not (pending or running):
        context.note("no task of yours runs or waits that could be paused; schedules are paused by id")
    # What is pending would start in the place of what is paused.
    return each_of(context, [*pending, *running], lambda each: _pause(context, arguments, [each]))


def unpause(context: Context, arguments: Arguments) -> int:
    if arguments.all:
        views = context.engine.summaries(all_live(context, arguments))
        ids = [view.id for view in views if _is_paused(view)]
        if not ids:
            context.note("no task of yours is paused or held; schedules are continued by id")
        return each_of(context, ids, lambda each: _unpause(context, arguments, [each]))
    try:
        ids = given_or_newest(context, arguments.id, (*LIVE, "paused"), _is_paused, "paused task")
    except UnknownTask as error:
        return fleet_control(context, error).pause(
            arguments,
            "unpause",
            lambda each: fitting_task(context, each, _is_paused),
            lambda ids: _unpause(context, arguments, ids),
        )
    return _unpause(context, arguments, ids)


def _unpause(context: Context, arguments: Arguments, ids: list[str]) -> int:
    for each in ids:
        before = context.engine.view(each)
        view = context.engine.queue.unpause(before.id, run=arguments.run)
        if arguments.json:
            context.print_view(settled(context, view))
        elif view.standing is not None and not arguments.run:
            say_recurring(context, view)
        elif before.latest.paused_at is None:
            context.say(f"{view.id} is not paused")
        elif before.is_held:
            context.say(f"released {view.id}: {why_pending(context, context.engine.get(view.id))}")
        else:
            settled(context, view)
            context.say(f"continued {view.id}  ({context.look.command('show')} {view.id})")
    return 0


def _can_pause(view: View) -> bool:
    return view.latest.state == "running" and not view.is_paused and view.agent is None


def _can_hold(view: View) -> bool:
    return view.latest.state == "pending" and view.state != "proposed" and not view.is_held


def _is_paused(view: View) -> bool:
    return view.is_paused or view.is_held or view.state == "paused"


def settled(context: Context, view: View) -> View:
    """Wait until the processes of a task are suspended or continue; the daemon signals them."""
    import time

    give_up = time.monotonic() + SETTLED_WITHIN
    while not context.engine.queue.has_settled(view) and time.monotonic() < give_up:
        time.sleep(0.005)
        view = context.engine.view(view.id)
    return view


def fire(context: Context, arguments: Arguments) -> int:
    check_reply(arguments)
    view = context.engine.schedules.fire(arguments.id)
    if view.standing is None:
        return reply(context, arguments, view)
    code = _follow_run(context, view, is_shown=not arguments.json) if arguments.wait else 0
    if arguments.json:
        context.print_view(context.engine.get(view.id))
    elif arguments.quiet and not arguments.wait:
        context.say(view.latest.id)
    elif not arguments.quiet and not arguments.wait:
        how = context.look.command("logs" if context.look.prefix == "/" else "logs -f")
        context.say(f"started {view.latest.id}  ({how} {view.latest.id})")
    return code


def _follow_run(context: Context, view: View, *, is_shown: bool) -> int:
    """Show the output of a recurring task's run until it ends; return its exit code."""
    from errands.frontends.cli.live.follow import follow, wait_for_run
    from errands.frontends.cli.live.output_filter import OutputFilter
    from errands.model.view import run_exit_code

    if is_shown:
        output = OutputFilter(context, context.engine.mask(view.id))
        try:
            follow(context, view.latest.id, output)
        finally:
            output.close()
    return run_exit_code(wait_for_run(context, view))


SETTLED_WITHIN = 5.0  # seconds
TASKS = operand("[ID...]", "the tasks", completes="open")
RUN = option("--run", "for a recurring task: its current run, not its schedule")

VERBS = (
    Verb(
        name="pause",
        summary="pause a running task or a schedule until you unpause it",
        run=pause,
        details="Without an id, pauses the newest running task that you started. All processes of a "
        "running task are suspended (SIGSTOP) and keep their memory; its time limits do not count, and its "
        "place in the lane is free for others. A task that has not started is held. For a "
        "recurring task, the schedule is paused: its current run continues unless --run is given, and one "
        "that has not started is cancelled. A running agent cannot be paused, but the commands that it has "
        "started can. errands resume is something else: it sends an agent another prompt.",
        options=(ALL, RUN, JSON_TASKS),
        operands=(TASKS,),
        examples=(
            ("errands pause build-4k2", "let others have the machine for a while"),
            ("errands unpause build-4k2", "and continue"),
            ("errands pause --all", "everything you started except schedules"),
        ),
    ),
    Verb(
        name="unpause",
        summary="continue a paused task or schedule",
        run=unpause,
        starts=True,
        details="Without an id, continues the newest paused or held task that you started. A task "
        "continues at once, even if its lane is full by now. With --all, what you held starts as well. "
        "The times of a schedule are counted from now.",
        options=(ALL, RUN, JSON_TASKS),
        operands=(TASKS,),
    ),
    Verb(
        name="fire",
        summary="run a task now, regardless of its schedule",
        run=fire,
        starts=True,
        details="The schedule stays as it is. A task that is due later starts now.",
        options=tuple(option for option in REPLY if option.flags[-1] != "--raw"),
        operands=(operand("ID", "the task", completes="standing"),),
        examples=(("errands fire nightly-4k2 --wait", "and see what it prints"),),
    ),
)
