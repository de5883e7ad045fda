"""schedule: when a task runs next, and the outcome of its past slots."""

from __future__ import annotations

from errands.engine.task_facts import recurring_facts
from errands.frontends.cli.context import Context
from errands.frontends.cli.display.recurring import times_lines
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Verb, operand, option, whole_from_one
from errands.frontends.cli.targets import fitting_task, newest_task
from errands.model.errors import BadValue
from errands.model.states import STANDING
from errands.model.text.sanitise import line
from errands.model.view import View, plain_fields, plain_value
from errands.text import Column, facts, plural, table, titled
from errands.text.describe import local, now, state_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from errands.model.schedule.slot_record import Slot


def schedule(context: Context, arguments: Arguments) -> int:
    if arguments.id is None:
        task_id = newest_task(context, STANDING, "repeats")
    else:
        task_id = fitting_task(context, arguments.id, lambda each: each.standing is not None)
    view = context.engine.get(task_id)
    if view.standing is None:
        raise BadValue(f"task {view.id} runs once and has no schedule; see errands show {view.id}")
    records = context.engine.schedules.ledger(view.id, arguments.number or 10)
    if arguments.json:
        _print_json(context, view, records)
        return 0
    look = context.look
    context.say(titled(view.id, state_word(view), look))
    context.say(*facts(_facts(view), look))
    coming = context.engine.schedules.coming(view.id)
    if coming:
        zone = (view.details or {}).get("trigger", {}).get("zone")
        context.say("", look.paint("next runs", "bold"), *times_lines(coming, zone))
    if records:
        context.say("", *_table(context, records))
    return 0


def _print_json(context: Context, view: View, records: list[Slot]) -> None:
    assert view.standing is not None
    names = ("slot", "until", "count", "outcome", "reason", "run", "at")
    context.print_json(
        {
            "id": view.id,
            "state": view.state,
            "schedule": view.standing.rule,
            "trigger": (view.details or {}).get("trigger"),
            "next_runs": [plain_value(each) for each in context.engine.schedules.coming(view.id)],
            "last_run_at": plain_value(view.standing.last_at),
            "run_count": view.standing.runs,
            "max_runs": view.standing.max_runs,
            "slots": [plain_fields(each, names) for each in records],
        }
    )


def _facts(view: View) -> Iterator[tuple[str, str]]:
    """Yield what `show` says about the schedule, with the state of the last run; the next runs are a list."""
    for name, value in recurring_facts(view, now()):
        if name != "next run":
            yield name, f"{value}, {view.latest.state}" if name == "last run" else value


def _table(context: Context, records: list[Slot]) -> list[str]:
    columns = (
        Column(title="DUE"),
        Column(title="OUTCOME"),
        Column(title="RUN", right=True),
        Column(title="REASON", flex=1),
    )
    rows = [
        (
            local(each.slot) + (f" and {plural(each.count - 1, 'more', 'more')}" if each.count > 1 else ""),
            each.outcome,
            "" if each.run is None else str(each.run),
            line(each.reason),
        )
        for each in records
    ]
    return table(columns, rows, context.look)


VERBS = (
    Verb(
        name="schedule",
        summary="show when a task runs next, and what happened at each earlier time",
        run=schedule,
        details="Every due time has one record: ran, late, coalesced (covered by a later run), skipped or "
        "missed, with the reason.",
        options=(
            option("-n, --number N", "show at most N records (default 10)", convert=whole_from_one),
            JSON_FIELDS,
        ),
        operands=(
            operand(
                "[ID]",
                "a recurring task (default the newest); errands ls --state active lists them",
                completes="standing",
            ),
        ),
    ),
)
