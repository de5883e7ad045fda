"""The tasks that a verb acts on: by id, by batch, or all that wait for approval."""

from __future__ import annotations

from errands.frontends.cli.display.format import ago, needs_approval, now, state_word
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
    """Return the full ids of the given tasks, each once."""
    if not arguments.id and arguments.batch is None:
        raise Usage(f"there is no task to {purpose}; give its id or --batch (errands ls lists them)")
    ids = [context.engine.resolve(each) for each in arguments.id]
    if arguments.batch is not None:
        ids += batch(context, arguments.batch)
    return list(dict.fromkeys(ids))


def describe_matches(context: Context, error: Ambiguous) -> Ambiguous:
    """Return the error with the state and age of each task that the prefix matches."""
    if not error.ids:
        return error
    at, shown = now(), context.engine.summaries(error.ids[:MOST_NAMED])
    lines = [f"  {view.id}  {state_word(view)}, {ago(view.created_at, at=at)}" for view in shown]
    if len(error.ids) > len(shown):
        lines.append("  ... (errands ls --all)")
    return Ambiguous(
        "\n".join([f"{error.prefix!r} matches several tasks, newest first:", *lines])
        + f"\nType more of the id; the whole id of the newest is {shown[0].id}"
    )


def answerable(engine: Engine, *, batch: str | None = None) -> list[View]:
    """List what waits for approval, newest first: proposed tasks, and agents with a waiting call."""
    views = engine.list(Query(states=("proposed", "running"), batch=batch))
    return [view for view in views if needs_approval(view)]


def batch(context: Context, name: str) -> list[str]:
    """Return the ids of a batch, oldest first."""
    ids = [view.id for view in context.engine.list(Query(batch=name))]
    if not ids:
        raise NotFound(f"there is no task in batch {name!r}; errands ls --all shows tasks and their batches")
    return ids[::-1]
