"""pause, unpause and fire: pause the schedule of a recurring task, resume it, or run the task now."""

from __future__ import annotations

from errands.frontends.cli.display.recurring import say_recurring
from errands.frontends.cli.parser import JSON, Operand, Verb
from errands.frontends.cli.reply import REPLY, check_reply, reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.view import View


def pause(context: Context, arguments: Arguments) -> int:
    for each in arguments.id:
        view = context.engine.schedules.pause(each)
        if arguments.json:
            context.print_view(view)
            continue
        current = "; its current run continues" if view.is_live else ""
        context.say(f"paused {view.id}{current}  ({context.look.command('unpause')} {view.id})")
    return 0


def unpause(context: Context, arguments: Arguments) -> int:
    for each in arguments.id:
        view = context.engine.schedules.unpause(each)
        if arguments.json:
            context.print_view(view)
        else:
            say_recurring(context, view)
    return 0


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
        output = OutputFilter(context, view)
        try:
            follow(context, view.latest.id, output)
        finally:
            output.close()
    return run_exit_code(wait_for_run(context, view))


TASKS = Operand(metavar="ID", help="the tasks", repeat=True, completes="standing")

VERBS = (
    Verb(
        name="pause",
        summary="pause a schedule",
        run=pause,
        details="The current run continues; one that has not started is cancelled. Undo: errands unpause.",
        options=(JSON,),
        operands=(TASKS,),
    ),
    Verb(
        name="unpause",
        summary="resume a paused schedule, counting from now",
        run=unpause,
        starts=True,
        options=(JSON,),
        operands=(TASKS,),
    ),
    Verb(
        name="fire",
        summary="run a task now, regardless of its schedule",
        run=fire,
        starts=True,
        details="The schedule stays as it is. A task that is due later starts now.",
        options=tuple(option for option in REPLY if option.flags[-1] != "--raw"),
        operands=(Operand(metavar="ID", help="the task", completes="standing"),),
        examples=(("errands fire nightly-4k2 --wait", "and see what it prints"),),
    ),
)
