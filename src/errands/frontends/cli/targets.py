"""Targets: the tasks a verb is about, given one by one or as a batch."""

from __future__ import annotations

from errands.frontends.cli.display.format import ago, needs_yes, now, state_word
from errands.frontends.cli.parser import Option, Usage
from errands.model.errors import Ambiguous, NotFound
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.engine.engine import Engine
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.parser import Arguments
    from errands.model.view import View

MOST_NAMED = 5
BATCH = Option(flags=("--batch",), metavar="NAME", help="all tasks of this batch", completes="batches")


def chosen(context: Context, arguments: Arguments, purpose: str) -> list[str]:
    """The full ids of the tasks that were asked for, each once."""
    if not arguments.id and arguments.batch is None:
        raise Usage(f"which task shall I {purpose}? Give its id or --batch; errands ls shows them")
    ids = [context.engine.resolve(each) for each in arguments.id]
    if arguments.batch is not None:
        ids += batch(context, arguments.batch)
    return list(dict.fromkeys(ids))


def told_apart(context: Context, error: Ambiguous) -> Ambiguous:
    """Say of each task that the beginning of an id fits how old it is and what became of it."""
    if not error.ids:
        return error
    at, shown = now(), context.engine.summaries(error.ids[:MOST_NAMED])
    lines = [f"  {view.id}  {state_word(view)}, {ago(view.created_at, at=at)}" for view in shown]
    if len(error.ids) > len(shown):
        lines.append("  ... (errands ls --all)")
    return Ambiguous(
        "\n".join([f"{error.prefix!r} matches several tasks, newest first:", *lines])
        + f"\nGive more letters; the newest is meant by its whole id: {shown[0].id}"
    )


def answerable(engine: Engine, *, batch: str | None = None) -> list[View]:
    """List what waits for a yes, newest first: proposed tasks, and agents that hold a call of theirs."""
    views = engine.list(Query(states=("proposed", "running"), batch=batch))
    return [view for view in views if needs_yes(view)]


def batch(context: Context, name: str) -> list[str]:
    """The ids of a batch, oldest first."""
    ids = [view.id for view in context.engine.list(Query(batch=name))]
    if not ids:
        raise NotFound(f"there is no task in batch {name!r}; errands ls --all shows tasks and their batches")
    return ids[::-1]
