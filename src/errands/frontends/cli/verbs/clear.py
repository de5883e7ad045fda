"""clear: remove ended tasks, with their output and files."""

from __future__ import annotations

from datetime import timedelta

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import JSON_FIELDS, Arguments, Usage, Verb, operand, option
from errands.frontends.cli.targets import BATCH, chosen
from errands.model.states import ENDED
from errands.model.text.duration import parse_duration
from errands.ports.store import Query
from errands.text import plural


def age(text: str) -> timedelta:
    """Read a duration that has a unit: removal is final, so `1` is not guessed at."""
    if text.strip().replace(".", "", 1).isdecimal():
        raise Usage(f"{text} has no unit; write {text}s, {text}h or {text}d")
    return parse_duration(text)


def clear(context: Context, arguments: Arguments) -> int:
    sweeping = arguments.all or arguments.failed or arguments.state or arguments.owner or arguments.older
    if sweeping and arguments.id:
        raise Usage("give either ids, or --all, --failed, --state, --owner or --older")
    if not sweeping and not arguments.id and arguments.batch is None:
        raise Usage("say what to remove: ids, --batch, --failed, --older or --all")
    ids = _swept(context, arguments) if sweeping else chosen(context, arguments)
    removed = context.engine.clear(ids) if ids else []
    if arguments.json:
        for each in removed:
            context.print_json({"id": each, "cleared": True})
    else:
        context.say(f"cleared {plural(len(removed), 'task')}")
    return 0


def _swept(context: Context, arguments: Arguments) -> list[str]:
    states = (*arguments.state, *(["failed"] if arguments.failed else [])) or (*ENDED, "done")
    views = context.engine.list(Query(states=states, batch=arguments.batch, owner=arguments.owner))
    if arguments.older is not None:
        limit = context.engine.clock.now() - arguments.older
        views = [view for view in views if (view.latest.completed_at or view.updated_at) < limit]
    return [view.id for view in views]


VERBS = (
    Verb(
        name="clear",
        summary="remove ended tasks with their output and files",
        run=clear,
        fields=("id", "cleared"),
        details="If one of the given tasks has not ended, nothing is removed; --all, --failed, "
        "--state, --owner and --older skip live tasks.",
        options=(
            BATCH,
            option("-a, --all", "every ended task"),
            option("--failed", "every failed task, like --state failed"),
            option("--state STATE", "every ended task in this state", choices=(*ENDED, "done"), repeat=True),
            option("--owner SESSION", "every ended task of this session"),
            option(
                "--older DURATION",
                "every task that ended longer ago than this; give a unit, such as 7d",
                convert=age,
            ),
            JSON_FIELDS,
        ),
        operands=(operand("[ID...]", "the tasks", completes="ended"),),
        examples=(
            ("errands clear --state completed --older 1d", "keep what failed"),
            ("errands clear --batch nightly", "a whole batch"),
        ),
    ),
)
