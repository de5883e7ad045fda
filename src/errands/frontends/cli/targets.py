"""The tasks that a verb acts on: by id, by batch, or all that wait for approval."""

from __future__ import annotations

from errands.frontends.cli.context import Context
from errands.frontends.cli.parser import Arguments, Usage, option
from errands.model.errors import Ambiguous, ErrandsError, NotFound, StoreError, UnknownTask
from errands.model.record import evolve
from errands.model.states import OPEN
from errands.model.text.sanitise import line
from errands.model.view import RunView, View
from errands.ports.store import Query
from errands.text.describe import ago, now, state_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from errands.frontends.cli.fleet_control import FleetControl
    from errands.frontends.cli.fleet_tasks import FleetTasks
    from errands.model.options.draft import Draft

MOST_NAMED = 5
MOST_COMPARED = 100  # tasks whose ids begin alike
BATCH = option("--batch NAME", "all tasks of this batch", completes="batches")
ALL = option("-a, --all", "all tasks that you started and that run or wait, except recurring ones")


def chosen(context: Context, arguments: Arguments, complete: Callable[[str], str] | None = None) -> list[str]:
    """Return the full ids of the given tasks, each once; `complete` completes the beginning of one."""
    ids = [(complete or context.engine.resolve)(each) for each in arguments.id]
    if arguments.batch is not None:
        ids += batch(context, arguments.batch)
    return list(dict.fromkeys(ids))


def all_live(context: Context, arguments: Arguments) -> list[str]:
    """Return the ids of the caller's tasks that run or wait, oldest first; recurring ones never end."""
    if arguments.id or getattr(arguments, "batch", None) is not None:
        raise Usage("give either --all, or ids")
    query = Query(states=OPEN, owner=context.session, with_commands=False)
    return [view.id for view in context.engine.list(query) if view.standing is None][::-1]


def newest_task(context: Context, states: tuple[str, ...], purpose: str, *, own: bool = False) -> str:
    """Return the newest task in one of these states, and say which one that is.

    It is one that the caller started; if there is none, any other, except for verbs that change something.
    The commands of agents are part of their tasks, so they are not meant.
    """
    for owner in (context.session,) if own else (context.session, None):
        views = context.engine.list(Query(states=states, owner=owner, limit=1, with_commands=False))
        if views:
            _say_which(context, views[0])
            return views[0].id
    raise NotFound(f"no task {purpose}; give an id (errands ls --all lists every task)")


def resolved(context: Context, beginning: str) -> str:
    """Complete the beginning of an id for a verb that only reads: of several, a live one, else the newest.

    Verbs that change something refuse instead: the wrong task would be cancelled or approved.
    """
    try:
        return context.engine.resolve(beginning)
    except Ambiguous as error:
        views = context.engine.summaries(error.ids[:MOST_COMPARED])
        live = [view for view in views if view.is_live]
        view = (live or views)[0]
        others = f"{len(error.ids) - 1} other" + ("s" if len(error.ids) > 2 else "")
        context.note(f"{beginning!r} means {view.id}, {state_word(view)}; it matches {others}")
        return view.id


def fleet_tasks(context: Context, error: UnknownTask) -> FleetTasks:
    """Return the verbs for a task of another home; if this home has no fleet, raise the error."""
    _check_joined(context, error)
    from errands.frontends.cli.fleet_tasks import FleetTasks

    return FleetTasks(context, error)


def fleet_control(context: Context, error: UnknownTask) -> FleetControl:
    """Return what controls a task of another home while it runs; else as `fleet_tasks`."""
    _check_joined(context, error)
    from errands.frontends.cli.fleet_control import FleetControl

    return FleetControl(context, error)


def _check_joined(context: Context, error: UnknownTask) -> None:
    import os

    if not os.path.exists(context.home.fleet):
        raise error


def with_far_tasks(context: Context, draft: Draft) -> Draft:
    """Return a draft that also waits for tasks of other homes, if it names tasks unknown here."""
    own: list[str] = []
    far: list[str] = []
    for each in draft.after:
        try:
            own.append(context.engine.resolve(each))
        except Ambiguous:
            raise
        except UnknownTask as error:
            far.append(fleet_tasks(context, error).awaited(each))
    return evolve(draft, after=tuple(own), awaits=tuple(far)) if far else draft


def fitting_task(context: Context, beginning: str, fits: Callable[[View], bool]) -> str:
    """Complete the beginning of an id for a verb that changes something: of several, the only one that fits.

    If several fit, the wrong one might be changed, so they are listed instead.
    """
    try:
        return context.engine.resolve(beginning)
    except Ambiguous as error:
        views = [view for view in context.engine.summaries(error.ids[:MOST_COMPARED]) if fits(view)]
        if len(views) != 1 or len(error.ids) > MOST_COMPARED:
            ids = [view.id for view in views] or error.ids
            raise Ambiguous(str(error), prefix=error.prefix, ids=ids) from None
        context.note(f"{beginning!r} means {views[0].id}, the only one that is {state_word(views[0])}")
        return views[0].id


def given_or_newest(
    context: Context,
    given: Sequence[str],
    states: tuple[str, ...],
    fits: Callable[[View], bool],
    wanted: str,
) -> list[str]:
    """Return the tasks that a verb is given, or the newest one of the caller that fits, and say which."""
    if given:
        return list(dict.fromkeys(fitting_task(context, each, fits) for each in given))
    query = Query(states=states, owner=context.session, with_commands=False)
    views = [view for view in context.engine.list(query) if fits(view)]
    if not views:
        raise NotFound(f"you have no {wanted}; give an id (errands ls --all lists every task)")
    _say_which(context, views[0])
    return [views[0].id]


def _say_which(context: Context, view: View) -> None:
    context.note(f"the newest task: {view.id}, {state_word(view)}, created {ago(view.created_at, at=now())}")


def each_of(context: Context, given: Sequence[str], act: Callable[[str], int]) -> int:
    """Do the same to every task; a refusal does not stop the others.

    Return the first exit code that is not 0; the only task's refusal is raised.
    """
    if len(given) == 1:
        return act(given[0])
    codes = []
    for each in dict.fromkeys(given):
        try:
            codes.append(act(each))
        except StoreError:
            raise
        except ErrandsError as error:
            context.note(f"errands: {line(str(error))}")
            codes.append(error.exit_code)
    return next((code for code in codes if code), 0)


def describe_matches(context: Context, error: Ambiguous) -> Ambiguous:
    """Return the error with the state and age of each task that the prefix matches."""
    if not error.ids:
        return error
    at, shown = now(), context.engine.summaries(error.ids[:MOST_NAMED])
    lines = [f"  {view.id}  {state_word(view)}, created {ago(view.created_at, at=at)}" for view in shown]
    if len(error.ids) > len(shown):
        lines.append("  ... (errands ls --all)")
    return Ambiguous(
        "\n".join([f"{error.prefix!r} matches several tasks, newest first:", *lines])
        + f"\nType more of the id; the full id of the newest is {shown[0].id}"
    )


def run_of(context: Context, view: View, number: str) -> RunView:
    """Return one run of a task; refuse a number that it does not have."""
    for run in view.history if view.standing is None else context.engine.history(view.id):
        if str(run.number) == number:
            return run
    raise NotFound(f"{view.id} has no run {number[:20]!r}; errands show {view.id} lists its runs")


def batch(context: Context, name: str) -> list[str]:
    """Return the ids of a batch, oldest first."""
    ids = [view.id for view in context.engine.list(Query(batch=name))]
    if not ids:
        raise NotFound(f"no task is in batch {name!r}; errands ls --all shows tasks and their batches")
    return ids[::-1]
