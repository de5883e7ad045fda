"""The list of tasks: which are shown, in which order, and what is said below them.

Running ones come first, then what waits for approval, then what starts next, then what ended, newest first.
What does not fit is counted, never hidden silently.
"""

from __future__ import annotations

from datetime import datetime

from errands.engine.text_mask import TextMask
from errands.frontends.cli.context import Context
from errands.model.agent.session import is_message_batch
from errands.model.limits import UNKNOWN_LANE
from errands.model.record import evolve, record
from errands.model.states import ENDED, EVERY_STATE, LIVE, STANDING
from errands.model.text.sanitise import line
from errands.model.view import View
from errands.ports.store import Query
from errands.text import Cell, Column, clip, fitting, plural, state_cell, table, width
from errands.text.describe import (
    age,
    how_to_answer,
    id_cell,
    no_daemon_note,
    now,
    outcome,
    progress_text,
    purpose,
    start_rank,
    state_word,
    took_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

USUAL = 20  # rows
TIGHT = 20  # columns; a detail in less room is said in two or three words
LEAST_SPACE = 1 << 16  # bytes, with which the store can still write a little
FEWEST = 5  # rows for pending tasks, and at least for those that ended
# What the STATE column says instead of the state of a run, and which states those are.
INSTEAD_OF = {"held": ("pending",), "paused": ("running", "resumed"), "cancelling": ("running", "resumed")}
STATES = (*EVERY_STATE, *(each for each in INSTEAD_OF if each not in EVERY_STATE))
COLUMNS = {
    "id": Column(title="ID", flex=3, least=16),
    "state": Column(title="STATE"),
    "created": Column(title="CREATED", right=True, drop=3),
    "took": Column(title="TOOK", right=True, drop=1),
    "detail": Column(title="DETAIL", flex=2, least=24),
    "batch": Column(title="BATCH", flex=1, drop=4),
    "description": Column(title="DESCRIPTION", flex=2, least=12, drop=2),
}


@record
class Wanted:
    """What a list is asked for."""

    states: tuple[str, ...] = ()
    batch: str | None = None
    lane: str | None = None
    since: datetime | None = None
    everything: bool = False
    number: int | None = None
    columns: tuple[str, ...] = tuple(COLUMNS)
    rows: int = USUAL

    def query(self, **more: Any) -> Query:
        """Return the query for those of the wanted tasks that `more` describes."""
        return Query(batch=self.batch, lane=self.lane, since=self.since, **more)


@record
class Selection:
    """The tasks of a list in their order, how many pending ones are left out, and whether older ones are."""

    views: tuple[View, ...]
    more_pending: int = 0
    is_cut: bool = False


def select(context: Context, wanted: Wanted) -> Selection:
    """Return the tasks to show."""
    engine = context.engine
    if wanted.states == ("pending",) and not (wanted.everything or wanted.number):
        return _next_pending(context, wanted)
    if wanted.everything or wanted.number or wanted.states:
        states = wanted.states or (EVERY_STATE if wanted.everything else ())
        limit = wanted.number or (None if wanted.everything else wanted.rows + 1)
        # A command of an agent that waits for approval is listed: a person has to see what they approve.
        commands = wanted.everything or "proposed" in states
        views = in_states(context, wanted.query(states=states, limit=limit, with_commands=commands))
        if "proposed" in wanted.states:
            # An agent whose call waits for approval is running and also proposed.
            asked = engine.list(wanted.query(states=("running",)))
            found = {view.id: view for view in (*views, *(each for each in asked if each.needs_approval))}
            views = sorted(found.values(), key=lambda view: view.created_at, reverse=True)[:limit]
        is_cut = not wanted.number and limit is not None and len(views) == limit
        views = views[:-1] if is_cut else views
        queue = engine.start_order([view.id for view in views if _is_queued(view)])
        return Selection(views=tuple(_ordered(views, queue)), is_cut=is_cut)
    # Running ones are as few as the lanes are wide; those that wait may be thousands. The commands of agents
    # are shown under them while they run or wait for approval: a person has to see what they approve.
    live = engine.list(wanted.query(states=("running", "resumed", "proposed")))
    live += engine.list(wanted.query(states=STANDING))
    room = max((wanted.rows - len(live)) // 2, FEWEST)
    ids, pending = engine.next_pending(limit=room + 1, batch=wanted.batch, lane=wanted.lane)
    shown = ids if pending == room + 1 else ids[:room]  # a row that says "1 more" saves none
    seen = {view.id for view in live}
    live += engine.summaries([each for each in shown if each not in seen])
    room = max(wanted.rows - len(live), FEWEST)
    ended = engine.list(wanted.query(states=(*ENDED, "done"), limit=room + 1, with_commands=False))
    return Selection(
        views=tuple(_ordered([*live, *ended[:room]], ids)),
        more_pending=pending - len(shown),
        is_cut=len(ended) > room,
    )


def in_states(context: Context, query: Query) -> list[View]:
    """List tasks by states as the STATE column shows them; a recurring task runs while its run does."""
    engine = context.engine
    stored = {each for state in query.states for each in INSTEAD_OF.get(state, ())}
    if stored:
        known = (each for each in query.states if each in EVERY_STATE)
        found = engine.list(evolve(query, states=tuple({*known, *stored}), limit=None))
        found = [view for view in found if view.state in query.states or state_word(view) in query.states]
    else:
        found = engine.list(query)
    if "running" in query.states:
        listed = {view.id for view in found}
        standing = engine.list(evolve(query, states=STANDING, limit=None))  # few, and read from an index
        found += [each for each in standing if each.latest.state == "running" and each.id not in listed]
        found.sort(key=lambda view: view.created_at, reverse=True)
    return found[: query.limit]


def _next_pending(context: Context, wanted: Wanted) -> Selection:
    """Return the pending tasks that start next."""
    ids, count = context.engine.next_pending(limit=wanted.rows + 1, batch=wanted.batch, lane=wanted.lane)
    shown = ids if count == wanted.rows + 1 else ids[: wanted.rows]
    views = [view for view in context.engine.summaries(shown) if view.state == "pending"]
    return Selection(views=tuple(_ordered(views, ids)), more_pending=count - len(shown))


def _ordered(views: Sequence[View], queue: Sequence[str] = ()) -> list[View]:
    """Sort tasks for people; the commands of agents stand under them, in the order in which they were run."""
    places = {each: place for place, each in enumerate(queue)}
    at = now()
    newest = max((view.created_at for view in views), default=at)

    def rank(view: View) -> tuple[Any, ...]:
        run = view.latest
        if run.state == "running":
            return (0, newest - (run.started_at or run.created_at))
        if view.needs_approval:
            return (1, newest - view.created_at)
        is_queued = run.state in LIVE and view.standing is None and view.state != "rejected"
        if is_queued or view.state == "active":
            return (2, *start_rank(view, places.get(view.id, len(places)), at=at))
        if view.state == "paused":
            return (3, newest - view.created_at)
        return (4, newest - (run.completed_at or view.updated_at))

    shown = {view.id for view in views}
    commands: dict[str, list[View]] = {}
    for view in sorted(views, key=lambda view: view.created_at):
        if view.agent_task in shown:
            commands.setdefault(view.agent_task or "", []).append(view)
    top = sorted((view for view in views if view.agent_task not in shown), key=rank)
    return [each for view in top for each in (view, *commands.get(view.id, ()))]


def list_lines(context: Context, wanted: Wanted, *, height: int | None = None) -> list[str]:
    """Return the lines of the list, at most `height`: the titles, the first tasks, and what is left out."""
    found = select(context, wanted)
    if not found.views:
        return [_nothing(wanted, context)]
    look = context.look
    title, *rows = table(_columns(wanted), _rows(context, wanted, found.views), look)
    below = _below(context, wanted, found)
    if found.more_pending:
        place = max((n for n, view in enumerate(found.views, 1) if _is_queued(view)), default=0)
        rows.insert(place, look.paint(f"+ {found.more_pending:,} more pending", "dim"))
    if height is not None and len(rows) + len(below) + 1 > height:
        below = below[: max(height - 3, 0)]
        cut = max(height - len(below) - 2, 0)
        mark = look.sign("…", "...")
        rows = [*rows[:cut], look.paint(f"{mark} {plural(len(rows) - cut, 'more row')}", "dim")]
    return [title, *rows, *below]


def _is_queued(view: View) -> bool:
    return view.latest.state == "pending" and view.standing is None and not view.needs_approval


def _columns(wanted: Wanted) -> list[Column]:
    return [COLUMNS.get(name) or Column(title=name.upper(), flex=1) for name in wanted.columns]


def _rows(context: Context, wanted: Wanted, views: Sequence[View]) -> list[list[str | Cell]]:
    at, cover = now(), TextMask(context.engine, context.environ)
    zone = _own_zone(context) if any(view.standing is not None for view in views) else ""
    return [[_cell(context, name, view, cover, at, zone) for name in wanted.columns] for view in views]


def _own_zone(context: Context) -> str:
    from errands.engine.submit.draft_trigger import own_zone

    return own_zone(context.config, context.environ)


def _cell(context: Context, name: str, view: View, cover: TextMask, at: datetime, zone: str) -> str | Cell:
    look = context.look
    match name:
        case "id":
            under = look.sign("└ ", "  ") if view.agent_task else ""
            return id_cell(view.id, look, means=context.engine.means, before=under, after=view.marks)
        case "state":
            return state_cell(state_word(view), look)
        case "created":
            return age(view.created_at, at=at)
        case "took":
            return took_text(view.latest, at=at)
        case "detail":
            text = cover.text(view.id, outcome(view, look, at=at, zone=zone))
            if view.progress is None or view.latest.state != "running":
                return Cell(text=text, fit=lambda room: _in_short(text, room))
            return Cell(text=text, fit=lambda room: progress_text(view, look, at=at, room=room))
        case "batch":
            batch = view.batch or ""
            return "" if is_message_batch(batch, view.parent or view.owner) else line(batch)
        case "description":
            return line(cover.text(view.id, purpose(view)))
    from errands.frontends.cli.display.json_fields import field_text

    return line(cover.text(view.id, field_text(view, name)))


def _in_short(text: str, room: int) -> str:
    """Say in few words what a task waits for; `show` says it in full."""
    text = text.replace("waiting for room in lane", "waiting for lane")
    text = text.removeprefix("next ")  # the state `active` implies it
    if text.startswith("held until you run"):
        text = "until you release it"
    if text.startswith("waiting for approval"):
        text = "waiting for approval"
    if width(text) <= room or room >= TIGHT:
        return text
    # The state stands before it: "pending", "for lane gpu". The first part is worth more than half of two.
    return text.removeprefix("waiting ").partition(" · ")[0]


def _below(context: Context, wanted: Wanted, found: Selection) -> list[str]:
    """Return the lines below the rows: lanes and batches in use, questions, warnings, what is left out."""
    look = context.look
    below = []
    if any(view.is_live for view in found.views) and not (wanted.states or wanted.number):
        below.append(_in_use(context))
    proposed = [view.id for view in found.views if view.needs_approval]
    if proposed:
        below.append(look.paint(how_to_answer(proposed, look), "magenta"))
    if warning := no_daemon_note(context.engine.bell.is_answered, found.views):
        below.append(look.paint(warning, "yellow"))
    if any(view.is_live for view in found.views) and _is_disk_full(context.home.path):
        full = f"the disk of {context.home.path} is full"
        below.append(
            look.paint(f"{full}: nothing starts, and no end is recorded, until it has room", "yellow")
        )
    if found.is_cut:
        below.append(look.paint(f"older tasks are not shown: {look.command('ls --all')}", "dim"))
    return fitting(filter(None, below), look.columns)


def _is_disk_full(place: str) -> bool:
    import os

    facts = os.statvfs(place)
    return facts.f_bfree * facts.f_frsize < LEAST_SPACE


def _in_use(context: Context) -> str:
    """Return the lanes with their used and total slots, and the batches with their ended and total tasks."""
    widths = context.engine.lane_widths()
    lanes = [
        f"{line(lane)} {used}/{widths.get(lane, UNKNOWN_LANE)}"
        + (f" ({waiting:,} pending{', nothing starts' if widths.get(lane) == 0 else ''})" if waiting else "")
        for lane, (used, waiting) in context.engine.lane_load().items()
    ]
    batches = [
        f"{clip(line(name), 24)} {ended}/{total} ended"
        for name, (ended, total) in context.engine.live_batches().items()
    ]
    texts = []
    if lanes:
        texts.append(f"{'lane' if len(lanes) == 1 else 'lanes'} {', '.join(lanes)}")
    if batches:
        texts.append(f"{'batch' if len(batches) == 1 else 'batches'} {', '.join(batches)}")
    return context.look.paint(" · ".join(texts), "dim")


def _nothing(wanted: Wanted, context: Context) -> str:
    if wanted.states or wanted.batch or wanted.lane or wanted.since:
        return f"no matching tasks; {context.look.command('ls --all')} lists every task"
    return f"no tasks yet; start one: {context.look.command('run')} 'make test'"
