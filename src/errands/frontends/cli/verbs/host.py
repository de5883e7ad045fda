"""host, hosts: the fleet that this home belongs to, and the hosts in it."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand, option
from errands.model.errors import BadValue
from errands.model.text.sanitise import line
from errands.text import HOST_COLOURS, Cell, Column, plural, state_cell, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any, TypeVar

    from errands.ports.fleet import PlacedView

    T = TypeVar("T")

MOST_SLOTS = 1000
COLUMNS = (
    Column(title="HOST"),
    Column(title="STATE"),
    Column(title="RUNS"),
    Column(title="LABELS"),
    Column(title="SEEN"),
    Column(title="VERSION"),
)
PLACED = 50  # runs that are listed if no number is given
PLACED_COLUMNS = (
    Column(title="TASK"),
    Column(title="STATE"),
    Column(title="HOST"),
    Column(title="HOME"),
    Column(title="LANE"),
)
LANE_COLUMNS = (
    Column(title="LANE"),
    Column(title="WIDTH", right=True),
    Column(title="RUNNING", right=True),
    Column(title="PENDING", right=True),
)


def join(context: Context, arguments: Arguments) -> int:
    from errands.engine.fleet import member
    from errands.frontends.cli.verbs.daemon import replace

    engine = context.engine
    me = _run(
        member.join(
            engine,
            context.bootstrap.open_fleet,
            arguments.url,
            name=arguments.name or "",
            labels=arguments.label or (),
            slots=arguments.slots,
        )
    )
    replace(context)
    labels = f", labels {', '.join(me.labels)}" if me.labels else ""
    context.say(f"this home is the host {me.name} of the fleet: {plural(me.slots, 'slot')}{labels}")
    context.say("see the others with: errands hosts")
    return 0


def leave(context: Context, arguments: Arguments) -> int:
    from errands.engine.fleet import member
    from errands.frontends.cli.verbs.daemon import replace

    name = _run(member.leave(context.engine, context.bootstrap.open_fleet, is_forced=bool(arguments.force)))
    replace(context)
    context.say(f"the host {name} has left the fleet")
    return 0


def drain(context: Context, arguments: Arguments) -> int:
    from errands.engine.fleet import member

    wanted = not arguments.undo
    name = _run(member.drain(context.home, context.bootstrap.open_fleet, arguments.name, wanted=wanted))
    context.say(f"the host {name} {'takes no more runs' if wanted else 'takes runs again'}")
    return 0


def hosts(context: Context, arguments: Arguments) -> int:
    from errands.engine.fleet import member
    from errands.model.view import plain_fields

    found = _run(member.hosts(context.home, context.bootstrap.open_fleet))
    if arguments.json:
        for each in found:
            names = ("name", "state", "slots", "running", "seen", "version", "id", "epoch")
            context.print_json({**plain_fields(each, names), "labels": list(each.labels)})
        return 0
    rows: list[tuple[str | Cell, ...]] = [
        (
            Cell(text=each.name, colour="bold"),
            Cell(text=each.state, colour=HOST_COLOURS.get(each.state, "")),
            f"{each.running} of {each.slots}",
            ", ".join(each.labels) or "-",
            f"{each.seen:.0f} s ago",
            each.version,
        )
        for each in found
    ]
    context.say(*table(COLUMNS, rows, context.look))
    return 0


def list_placed(context: Context, arguments: Arguments) -> int:
    """List what is placed in the whole fleet: `errands ls --fleet`."""
    from errands.engine.fleet import member

    given = [
        f"--{name}" for name in ("state", "batch", "all", "watch", "columns") if getattr(arguments, name)
    ]
    if given:
        raise Usage(f"--fleet does not work together with {given[0]}; leave out one of them")
    limit = arguments.number or PLACED
    found = _run(member.placed(context.home, context.bootstrap.open_fleet, limit=limit))
    if arguments.json:
        for view, home, state in found:
            facts = {"task": view.task, "run_id": view.key.rpartition(":")[0], "state": state, "home": home}
            more = {"runs_on": view.host or None, "host": view.selector, "lane": view.lane}
            context.print_json({**facts, **more})
        return 0
    rows: list[tuple[str | Cell, ...]] = [
        (
            Cell(text=line(view.task), colour="bold"),
            state_cell("paused" if _is_paused(view) else state, context.look),
            _where(view),
            line(home),
            line(view.lane),
        )
        for view, home, state in found
    ]
    context.say(*table(PLACED_COLUMNS, rows, context.look))
    return 0


def _where(view: PlacedView) -> str:
    """Say which host has a placed run, or what it waits for."""
    from errands.ports.fleet.input import KEPT_BACK

    if view.selector == KEPT_BACK:
        return "held"
    if not view.host:
        return f"waiting for {line(view.selector)}"
    return line(view.host)


def _is_paused(view: PlacedView) -> bool:
    return view.outcome is None and bool(view.view.get("paused"))


def fleet_lanes(context: Context, arguments: Arguments, width: int | None) -> int:
    """List the lanes of the whole fleet, or limit one: `errands lane --fleet`."""
    from errands.engine.fleet import member
    from errands.engine.queue import check_lane

    name, sets = arguments.lane, arguments.width is not None
    if sets:
        check_lane(name, width)
    found = _run(member.lanes(context.home, context.bootstrap.open_fleet, name, sets=sets, width=width))
    if name is not None and not found and not sets:
        raise Usage(f"the fleet has no lane {name!r}; errands lane {name} 2 --fleet limits it")
    if arguments.json:
        for each in found:
            facts = {"name": each.name, "width": each.width}
            context.print_json({**facts, "running": each.running, "pending": each.waiting})
    elif sets:
        what = "no limit" if width is None else f"at most {plural(width, 'run')} at once"
        context.say(f"lane {name}: {what} in the whole fleet from now on")
    else:
        rows: list[tuple[str | Cell, ...]] = [
            (
                Cell(text=line(each.name), colour="bold"),
                "no limit" if each.width is None else str(each.width),
                str(each.running),
                str(each.waiting),
            )
            for each in found
        ]
        context.say(*table(LANE_COLUMNS, rows, context.look))
    return 0


def _run(work: Coroutine[Any, Any, T]) -> T:
    import asyncio

    return asyncio.run(work)


def _slots(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) <= MOST_SLOTS:
        raise BadValue(f"must be a number from 0 to {MOST_SLOTS} (got {text!r})")
    return int(text)


VERBS = (
    Verb(
        name="host join",
        summary="make this home a host of a fleet, which shares tasks through a PostgreSQL database",
        run=join,
        details="A home is the directory that holds all tasks of one Errands: $ERRANDS_HOME, or usually "
        "~/.local/state/errands. The tasks stay in it; other hosts only carry out their runs.",
        operands=(operand("URL", "the database, as postgresql://... or as env:NAME of a variable"),),
        options=(
            option("--name NAME", "the name of this host", default_text="its host name"),
            option("--label LABEL", "a label that tasks can choose it by", repeat=True),
            option(
                "--slots N",
                "how many runs of other hosts it takes at once; 0: none",
                convert=_slots,
                default=4,
            ),
        ),
        examples=(
            ("errands host join postgresql://db.example/fleet --label gpu", "take runs that need a GPU"),
            ("errands host join env:FLEET_URL --slots 0", "only hand out tasks"),
        ),
    ),
    Verb(
        name="host drain",
        summary="stop a host from taking more runs; the ones it has continue",
        run=drain,
        operands=(operand("[NAME]", "the host; default: this one"),),
        options=(option("--undo", "let it take runs again"),),
    ),
    Verb(
        name="host leave",
        summary="leave the fleet",
        run=leave,
        options=(option("--force", "leave even if runs are lost"),),
    ),
    Verb(
        name="hosts",
        summary="list the hosts of the fleet: their runs, labels, and when each was last seen",
        run=hosts,
        options=(JSON_FIELDS,),
    ),
)
