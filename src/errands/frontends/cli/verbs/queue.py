"""hold, release, move, edit and lane: decide what starts next, and how much at once."""

from __future__ import annotations

from errands.frontends.cli.approval.caller import YES, consent_of
from errands.frontends.cli.context import Context
from errands.frontends.cli.display.pending import why_pending
from errands.frontends.cli.display.recurring import say_recurring
from errands.frontends.cli.parser import (
    JSON_FIELDS,
    JSON_TASKS,
    Arguments,
    Usage,
    Verb,
    operand,
    option,
    whole,
)
from errands.frontends.cli.targets import fitting_task, given_or_newest
from errands.frontends.cli.task_options import command_of, flag_of, flags_of, given_options
from errands.model.options.table import BY_NAME, EDITABLE, OPTIONS
from errands.model.options.values import value_of
from errands.model.states import predicate
from errands.model.text.sanitise import line
from errands.model.view import NOT_APPROVED, View, plain_fields
from errands.text import Cell, Column, plural, table
from errands.text.describe import ago, now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from errands.model.limits import Lane
    from errands.text import Look


def hold(context: Context, arguments: Arguments) -> int:
    for each in given_or_newest(context, arguments.id, NOT_STARTED, _can_hold, "pending task"):
        view = context.engine.queue.hold(each)
        if arguments.json:
            context.print_view(view)
        else:
            context.say(f"held {view.id}  ({context.look.command('release')} {view.id})")
    return 0


def release(context: Context, arguments: Arguments) -> int:
    for each in given_or_newest(context, arguments.id, NOT_STARTED, _is_held, "held task"):
        was_held = context.engine.view(each).is_held
        view = context.engine.queue.release(each)
        if arguments.json:
            context.print_view(view)
        elif not was_held:
            context.say(f"{view.id} is not held{_what_now(context, view)}")
        elif view.latest.state == "pending":
            # Read again, it knows which tasks it waits for.
            context.say(f"released {view.id}{_what_now(context, context.engine.get(view.id))}")
        else:
            context.say(f"released {view.id}, {view.state}  ({context.look.command('show')} {view.id})")
    return 0


def move(context: Context, arguments: Arguments) -> int:
    if sum(map(bool, (arguments.first, arguments.last, arguments.before))) > 1:
        raise Usage("give one of --first, --last and --before")
    task_id = fitting_task(context, arguments.id, _is_pending)
    view = context.engine.queue.move(task_id, before=arguments.before, last=arguments.last)
    order = context.engine.queue.order(view.lane)
    if arguments.json:
        place = order.index(view.id) + 1 if view.id in order else None
        context.print_view(view, place=place)
    elif view.id in order:
        place = order.index(view.id) + 1
        context.say(f"moved {view.id}: now {place} of {len(order)} in lane {view.lane}")
    else:
        context.say(f"{view.id} has already started  ({context.look.command('show')} {view.id})")
    return 0


def edit(context: Context, arguments: Arguments) -> int:
    changes: dict[str, Any] = given_options(arguments)
    if not (changes or arguments.command):
        raise Usage(
            f"edit needs a change: errands edit {arguments.id} 'make test' for another command, or an option "
            "such as --priority high"
        )
    for name, value in changes.items():
        value_of(BY_NAME[name], value, flag_of(name))  # with the names of the flags, before anything changes
    task_id = fitting_task(context, arguments.id, _can_edit)
    kind = "shell" if context.engine.view(task_id).agent is None else "agent"
    for name in changes:
        if BY_NAME[name].kind not in ("", kind):
            which, what = ("prompts", "command") if kind == "shell" else ("commands", "prompt")
            raise Usage(f"{flag_of(name)} is for {which}, and {task_id} is a {what}; leave it out")
    if arguments.command:
        if kind == "shell":
            changes["command"] = command_of(arguments, arguments.command, place=1)
        else:
            if len(arguments.command) > 1:
                raise Usage("write the prompt as one word, in quotes")
            changes["prompt"] = arguments.command[0]
    view = context.engine.queue.edit(task_id, **changes, **consent_of(arguments))
    if view.state == "proposed":
        from errands.frontends.cli.approval.proposals import ask_or_report

        approved = ask_or_report(context, arguments, view, is_new=True)
        if approved is None:
            return NOT_APPROVED
        view = approved
    if arguments.json:
        context.print_view(view)
    elif arguments.quiet:
        context.say(view.id)
    elif view.standing is not None and view.state == "active":
        say_recurring(context, view, "edited")
    else:
        view = context.engine.get(view.id)  # which tasks it waits for
        context.say(f"edited {view.id}{_what_now(context, view)}  ({context.look.command('show')} {view.id})")
    return 0


def _what_now(context: Context, view: View) -> str:
    """Say what a task waits for, or its state."""
    if view.standing is None and view.latest.state == "pending":
        return f": {why_pending(context, view)}"
    return f"; it {predicate(view.state)}"


NOT_STARTED = ("pending", "proposed")


def _is_pending(view: View) -> bool:
    return view.latest.state == "pending"


def _can_edit(view: View) -> bool:
    return _is_pending(view) or (view.standing is not None and view.is_open)


def _can_hold(view: View) -> bool:
    return _is_pending(view) and not view.is_held


def _is_held(view: View) -> bool:
    return view.is_held


def lane(context: Context, arguments: Arguments) -> int:
    width = _width(arguments.width)
    if arguments.fleet:
        from errands.frontends.cli.verbs.host import fleet_lanes

        return fleet_lanes(context, arguments, width)
    queue = context.engine.queue
    if arguments.width is None:
        lanes = queue.lanes()
        if arguments.lane is not None:
            lanes = [each for each in lanes if each.name == arguments.lane]
            if not lanes:
                raise Usage(f"unknown lane {arguments.lane!r}; errands lane {arguments.lane} 2 adds it")
    else:
        known = {each.name for each in queue.lanes()}
        lanes = [queue.set_lane(arguments.lane, width)]
    if arguments.json:
        for each in lanes:
            context.print_json(plain_fields(each, FIELDS))
    elif arguments.width is None:
        context.say(*_table(context, lanes))
    else:
        context.say(_said(lanes[0], context.look, is_new=arguments.lane not in known))
    return 0


def _width(given: str | None) -> int | None:
    if given in (None, DEFAULT):
        return None
    try:
        return whole(given)
    except ValueError:
        raise Usage(f"a width is a whole number or {DEFAULT} (got {given!r})") from None


DEFAULT = "default"
FIELDS = ("name", "width", "configured", "running", "pending", "set_by", "set_at")
COLUMNS = (
    Column(title="LANE"),
    Column(title="WIDTH", right=True),
    Column(title="RUNNING", right=True),
    Column(title="PENDING", right=True),
    Column(title="WIDTH FROM", flex=1, least=13, drop=1),
)


def _table(context: Context, lanes: list[Lane]) -> list[str]:
    rows = [
        (
            Cell(text=each.name, colour="bold"),
            str(each.width),
            str(each.running),
            str(each.pending),
            _origin(each),
        )
        for each in lanes
    ]
    return table(COLUMNS, rows, context.look)


def _origin(lane: Lane) -> str:
    if lane.set_at is None:
        return "configuration" if lane.configured is not None else "unknown to this configuration"
    other = "" if lane.configured is None else f"; configured: {lane.configured}"
    return f"set by {line(lane.set_by or '')} {ago(lane.set_at, at=now())}{other}"


def _said(lane: Lane, look: Look, *, is_new: bool) -> str:
    if lane.set_at is None and lane.configured is None:
        rest = "; what is pending in it starts one at a time" if lane.pending else ""
        return f"removed lane {lane.name}, which the configuration does not have{rest}"
    what = "nothing more starts" if not lane.width else f"{plural(lane.width, 'run')} at once"
    more = ""
    if lane.set_at is not None and lane.configured not in (None, lane.width):
        back = look.command(f"lane {lane.name} {DEFAULT}")
        more = f"; the configuration says {lane.configured} (to go back: {back})"
    return f"{'new lane' if is_new else 'lane'} {lane.name}: {what} from now on{more}"


PENDING = operand("[ID...]", "the tasks", completes="live")

VERBS = (
    Verb(
        name="hold",
        summary="keep a pending task from starting until you release it",
        run=hold,
        details="Without an id, holds the newest pending task that you started. errands run --hold queues "
        "a task that is held from the start. A running task is paused instead: errands pause.",
        options=(JSON_TASKS,),
        operands=(PENDING,),
    ),
    Verb(
        name="release",
        summary="let a held task start when its turn comes",
        run=release,
        starts=True,
        details="Without an id, releases the newest held task that you started.",
        options=(JSON_TASKS,),
        operands=(PENDING,),
    ),
    Verb(
        name="move",
        summary="move a pending task within its lane, by default to the front",
        run=move,
        details="It takes the priority of its new neighbour. Tasks that are started later come after it.",
        options=(
            option("--first", "to the front, so that it starts next (default)"),
            option("--last", "to the end"),
            option("--before ID", "before this task of the same lane", completes="live"),
            JSON_TASKS,
        ),
        operands=(operand("ID", "the task", completes="live"),),
        examples=(
            ("errands move hotfix-3f", "it starts next"),
            ("errands move slow-7k --last", ""),
        ),
    ),
    Verb(
        name="edit",
        summary="change a pending task before it starts, or a recurring task between two runs",
        run=edit,
        starts=True,
        usage=(
            "edit ID [options] ['SHELL LINE']",
            "edit ID [options] -- COMMAND [ARG...]",
            "edit ID [options] ['PROMPT']",
        ),
        refused={
            **dict.fromkeys(("--command", "--cmd"), "write it after --, as in errands edit ID -- make test"),
            **dict.fromkeys(
                ("--after", "--key", "--fork"), "this cannot change; cancel the task, and start another one"
            ),
        },
        details="What is not given stays as it is: command or prompt, directory, environment, schedule, "
        "place in the lane. The task is judged again, as if it were started now, and an open question about "
        "it is asked again; a recurring task runs again once that is approved. A changed schedule counts "
        "from now. Another agent brings its own model. A task that runs once cannot become a recurring one, "
        "and a schedule cannot become an event.",
        options=(
            *[
                each
                for option in OPTIONS
                if option.name in EDITABLE
                for each in flags_of(option, start=False)
            ],
            YES,
            option("-q, --quiet", "print only the id"),
            JSON_TASKS,
        ),
        operands=(
            operand("ID", "the task", completes="live"),
            operand("[COMMAND...]", "what to run, or the prompt", completes="command"),
        ),
        examples=(
            ("errands edit deploy-3f 'make deploy TARGET=staging'", "another command"),
            ("errands edit deploy-3f --lane gpu --timeout 1h", "the same command, other options"),
            ("errands edit nightly-7k --cron '0 4 * * *'", "the same recurring task, at another time"),
            ("errands edit why-does-9m 'why does test_login fail?'", "another prompt, before it starts"),
        ),
    ),
    Verb(
        name="lane",
        summary="list the lanes, or set how many tasks a lane runs at once",
        run=lane,
        fields=FIELDS,
        details="A width that is set here takes effect at once, lasts, and overrides the configuration until "
        "errands lane NAME default. Runs beyond a smaller width continue; with 0 nothing more starts. A new "
        "name is a new lane.",
        options=(
            option("--fleet", "for the whole fleet: how many runs all hosts have at once"),
            JSON_FIELDS,
        ),
        operands=(
            operand("[LANE]", "the lane", completes="lanes"),
            operand("[WIDTH]", f"how many, or {DEFAULT}: as configured"),
        ),
        examples=(
            ("errands lane shell 8", "eight commands at once from now on"),
            ("errands lane gpu 1", "a new lane: errands run --lane gpu ..."),
            ("errands lane shell 0", "let nothing more start"),
            ("errands lane gpu 7 --fleet", "at most seven at once on all hosts together"),
        ),
    ),
)
