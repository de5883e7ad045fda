"""Targets: the tasks a verb is about, given one by one or as a batch."""

from __future__ import annotations

from errands.frontends.cli.options import Option, Usage
from errands.model.errors import NotFound
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.frontends.cli.context import Context
    from errands.frontends.cli.options import Arguments

BATCH = Option(flags=("--batch",), metavar="NAME", help="all tasks of this batch", completes="batches")


def chosen(context: Context, arguments: Arguments, purpose: str) -> list[str]:
    """The full ids of the tasks that were asked for, each once."""
    if not arguments.id and arguments.batch is None:
        raise Usage(f"which task shall I {purpose}? Give its id or --batch; errands ls shows them")
    ids = [context.engine.resolve(each) for each in arguments.id]
    if arguments.batch is not None:
        ids += batch(context, arguments.batch)
    return list(dict.fromkeys(ids))


def batch(context: Context, name: str) -> list[str]:
    """The ids of a batch, oldest first."""
    ids = [view.id for view in context.engine.list(Query(batch=name))]
    if not ids:
        raise NotFound(f"there is no task in batch {name!r}; errands ls --all shows tasks and their batches")
    return ids[::-1]
