"""How a task is described, by everything that shows tasks: its state, result, progress, what it waits for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from errands.model.notices.notice import REPORTS
from errands.model.text.duration import spoken, upcoming
from errands.model.text.ids import SHORTENED, short_id
from errands.model.text.progress import bar, eta
from errands.model.text.sanitise import line
from errands.model.view import RunView, View
from errands.text import Cell, Look, plural, titled, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from errands.model.limits import Lane

_EXIT = "exit code "


def now() -> datetime:
    return datetime.now(UTC)


def ago(moment: datetime, *, at: datetime) -> str:
    """Return how long ago a moment was, or how long until it comes."""
    gap = at - moment
    if gap.total_seconds() < -1:
        return upcoming(-gap)
    return f"{spoken(gap)} ago" if gap.total_seconds() >= 1 else "just now"


def until(moment: datetime, *, at: datetime) -> str:
    """Return how long until something is due, or how long ago it was."""
    if moment > at:
        return upcoming(moment - at)
    return "now" if at - moment < timedelta(seconds=1) else ago(moment, at=at)


def age(moment: datetime, *, at: datetime) -> str:
    """Return how long ago a moment was in one unit, for a list: `52m ago`."""
    gap = at - moment
    if gap.total_seconds() < 10:
        return ago(moment, at=at) if gap.total_seconds() < 1 else f"{int(gap.total_seconds())}s ago"
    return f"{spoken(gap).partition(' ')[0]} ago"


def local(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def took(run: RunView, *, at: datetime) -> timedelta | None:
    if run.started_at is None or run.state == "pending":  # no host has it yet
        return None
    return (run.completed_at or at) - run.started_at


def took_text(run: RunView, *, at: datetime) -> str:
    length = took(run, at=at)
    return "" if length is None else spoken(length)


def state_word(view: View) -> str:
    if view.standing is not None:
        return view.state
    if view.is_held and view.state == "pending":
        return "held"
    return "cancelling" if view.is_cancelling else "paused" if view.is_paused else view.state


def ending_line(view: View, look: Look, *, at: datetime) -> str:
    """Return a task and its outcome on one line."""
    length = took_text(view.latest, at=at)
    words = [titled(view.id, state_word(view), look)]
    if length and view.standing is None:  # a recurring task has no time of its own
        words.append(f"{'for' if view.is_live else 'in'} {length}")
    more = outcome(view, look, at=at)
    return " ".join(words) + (f" · {more}" if more else "")


def outcome(view: View, look: Look, *, at: datetime, zone: str = "", is_kept: bool = False) -> str:
    """Return what to say about a task besides its state: progress, result, reason, or what it waits for.

    A kept text has no bar and no relative times: its view draws them itself. `zone` is the usual time zone of
    schedules, which need not be named.
    """
    run = view.latest
    if view.standing is not None:
        return repetition(view, at=at, zone=zone, is_kept=is_kept)
    if run.state == "running":
        where = f"on {line(view.runs_on)}" if view.runs_on else ""
        columns = 0 if is_kept else BAR
        does = progress_text(view, look, at=at, columns=columns) if view.agent is None else activity(view)
        return " · ".join(filter(None, [where, does]))
    if run.state == "pending":
        return waits_for(view, at=at, is_kept=is_kept)
    return result(run)


def repetition(view: View, *, at: datetime, zone: str = "", is_kept: bool = False) -> str:
    """Return when a recurring task runs next, its rule, what it does now, and how its last run ended.

    What matters most is first, because a narrow list shows only the beginning.
    """
    standing, run = view.standing, view.latest
    assert standing is not None
    words = ["running now"] if run.state == "running" else []
    if view.state == "proposed":
        words.append(waits_for(view, at=at))
    if standing.health in ("failing", "broken"):
        words.append(f"its watch is {standing.health}")
    if is_kept:
        pass
    elif standing.next_at is not None:
        words.append(f"next {until(standing.next_at, at=at)}")
    elif standing.signal_at is not None:
        words.append(f"event {ago(standing.signal_at, at=at)}")
    words.append(line(standing.rule).replace(f" ({zone})", "", 1))
    if not (is_kept or standing.next_at or standing.signal_at) and standing.checked_at is not None:
        words.append(f"checked {ago(standing.checked_at, at=at)}")
    if run.state == "pending" and view.is_live:
        waiting = f"run {run.number} is {line(view.no_host) or 'waiting'}"
        words.append(waiting if view.retry is None else waits_for(view, at=at, is_kept=is_kept))
    elif run.number and run.completed_at is not None:
        last = " ".join(filter(None, ["last run" if is_kept else "last", run.state, result(run)]))
        when = "" if is_kept else f" {ago(run.completed_at, at=at)}"
        again = f", {standing.failures} failures in a row" if standing.failures > 1 else ""
        words.append(f"{last}{when}{again}")
    return " · ".join(words)


WAITING = {
    "approval": "waiting for approval",
    "task": "waiting for a task it started",
    "turn": "waiting for its turn on the model",
    "slot": "waiting for room in its lane",
}


def activity(view: View) -> str:
    """Return what a running agent does: what it waits for, and which tools it used how often."""
    agent = view.agent
    if agent is None:
        return ""
    words = [WAITING[agent.waiting]] if agent.waiting in WAITING else []
    if agent.tool_calls:
        words.append(f"{plural(agent.tool_calls, 'tool call')}: {line(', '.join(agent.tools))}")
    return " · ".join(words)


def tokens_text(view: View) -> str:
    """Return what an agent has used: tokens, requests and cost."""
    usage = {} if view.agent is None else view.agent.usage
    words = [
        f"{plural(usage[name], noun)}{way}"
        for name, noun, way in (
            ("input_tokens", "token", " in"),
            ("output_tokens", "token", " out"),
            ("requests", "request", ""),
        )
        if usage.get(name)
    ]
    if usage.get("cost_microdollars"):
        words.append(f"${usage['cost_microdollars'] / 1e6:.4f}")
    return ", ".join(words)


def short_error(error: str) -> str:
    """Return why a run failed as lists say it: `exit 3` instead of `exit code 3`."""
    return f"exit {error.removeprefix(_EXIT)}" if error.startswith(_EXIT) else error


def result(run: RunView) -> str:
    """Return how a run ended, in a few words."""
    words = []
    if run.state == "failed" and run.failure == "exit":
        from errands.model.ending import AT_WALL  # only what failed pays for it

        _, sign, wall = line(run.error or "").partition(AT_WALL)
        words.append(f"exit {run.exit_code}{sign}{wall}")
    elif run.error and run.state in ("failed", "skipped"):
        words.append(line(run.error))
    elif run.failure == "signal" or (run.signal is not None and run.state == "failed"):
        words.append(f"killed by {signal_name(run.signal)}")
    if run.summary and run.state != "cancelled":  # what it printed last is not why it was cancelled
        words.append(line(run.summary))
    return " · ".join(words)


def purpose(view: View) -> str:
    """Return what a task is for: its description, or its command if it only has a name."""
    return view.command if view.description == view.name else view.description


def signal_name(number: int | None) -> str:
    import signal

    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def waits_for(
    view: View, *, at: datetime, is_kept: bool = False, has_room: Callable[[str], bool] | None = None
) -> str:
    """Return why a pending run has not started; empty for a kept text if only its time has not come.

    The reply to a command asks whether its lane `has_room`, and names the date of its start.
    """
    if view.state == "proposed":
        reasons = view.question.reasons if view.question else ()
        return "waiting for approval" + "".join(f": {line(reason.text)}" for reason in reasons[:1])
    if view.is_held:
        return f"held until you run errands release {view.id}"
    if view.retry is not None:
        which = f"({view.retry.number} of {view.retry.of})"
        if view.retry.at is not None and view.retry.at > at:
            if is_kept:
                return f"failed, trying again {which}"
            return f"failed, trying again {upcoming(view.retry.at - at)} {which}"
        if view.no_host:
            return f"failed, trying again {which}: {line(view.no_host)}"
        return f"failed, waiting for room in lane {view.lane} to try again {which}"
    if view.no_host:
        return line(view.no_host)
    if view.standing is not None:
        next_at = view.standing.next_at
        if view.standing.health is not None and next_at is None:
            return "waiting for an event"
        return "no next run" if next_at is None else f"starts {until(next_at, at=at)}"
    if view.due_at is not None and view.due_at > at:
        when = "" if has_room is None else f" ({local(view.due_at)})"
        return "" if is_kept else f"starts {upcoming(view.due_at - at)}{when}"
    others = (view.details or {}).get("waiting_for")
    if others:
        return f"waiting for {', '.join(others)}"
    if view.waits:
        return f"waiting for {plural(view.waits, 'task')}"
    if has_room is not None and has_room(view.lane):
        return "it is about to start"
    return f"waiting for room in lane {view.lane}"


def start_rank(view: View, place: int, *, at: datetime) -> tuple[int, Any, datetime]:
    """Rank what has not started, by when it will.

    First what starts at once, by its place in the queue; then what starts at a time; then what waits for
    tasks or is held; last what waits for events.
    """
    if view.standing is not None:
        due = view.standing.next_at
        if due is None:
            return (3, 0, view.created_at)
        place = 0
    elif view.waits or view.is_held:
        return (2, place, view.created_at)
    else:
        due = view.due_at or (view.retry.at if view.retry else None)
    return (0, place, view.created_at) if due is None or due <= at else (1, due, view.created_at)


def lane_line(lane: Lane) -> str:
    return f"{lane.name}: {lane.running} of {lane.width} running, {lane.pending} pending"


def reported(view: View) -> str:
    """Return how the end of a task is reported, in a sentence."""
    if view.notify == "never":
        return f"not reported; errands wait {view.id} waits for it"
    # The part after @ only distinguishes a terminal from a later one of the same name.
    channels = [str(each).partition("@")[0] for each in view.channels if each.channel != "inbox"]
    ways = ", ".join(line(each) for each in channels)
    also = f"; also sent to {ways}" if ways else ""
    return f"{reporter(view.owner)} reports {REPORTS[view.notify]}{also}"


def reporter(owner: str, *, reader: str = "user") -> str:
    """Return what reports the ends of an owner's tasks.

    A client's session, such as `claude:ID`, reports them itself; `errands notices` would take them from it.
    """
    if owner in ("user", reader):
        return "errands notices"
    client, is_session, _ = owner.partition(":")
    return line(client) if is_session else f"errands notices --owner {line(owner)}"


def how_to_answer(ids: list[str], look: Look) -> str:
    """Return how to answer tasks that wait for approval."""
    approve = look.command("approve")
    if len(ids) == 1:
        return f"{ids[0]} needs approval: {approve} {ids[0]} (or reject)"
    return f"{len(ids)} tasks need approval: {look.command('show ID')}, then {approve} ID (or reject)"


BAR = 10  # columns of a bar, unless there is less room


def progress_text(
    view: View, look: Look, *, at: datetime, columns: int = BAR, room: int | None = None
) -> str:
    """Return the percentage, the time left and a bar, if the task reports them.

    In little `room` the least important parts are left out; the bar is drawn whole, shorter, or not at all.
    """
    progress = view.progress
    if progress is None:
        return ""
    percent = f"{int(progress.percent)}%"
    left = eta(progress, took(view.latest, at=at) or timedelta())
    rest = ""
    if left is not None and progress.percent < 100:
        rest = f"{spoken(left) if left.seconds or left.days else '<1s'} left"
    count = "" if progress.total is None else f"{progress.done}/{progress.total}"

    def drawn(cells: int) -> str:
        return bar(progress, cells, plain=not look.unicode)

    dots = " · "
    whole = dots.join(filter(None, (percent, rest, drawn(columns), count, line(progress.text))))
    if room is None or width(whole) <= room:
        return whole
    for parts in ((percent, rest, drawn(columns), count), (percent, rest, drawn(columns)), (percent, rest)):
        if width(dots.join(filter(None, parts))) <= room and (parts[1] or len(parts) > 2):
            return dots.join(filter(None, parts))
    cells = min(room - width(percent) - 1, columns)
    return percent if cells < SHORTEST_BAR else f"{percent} {drawn(cells)}"


SHORTEST_BAR = 3


def id_cell(
    task_id: str, look: Look, *, means: Callable[[str, str], bool], before: str = "", after: str = ""
) -> Cell:
    """Return the cell of an id; in a narrow table it shrinks to what still names the task when typed.

    That is a beginning or, where `means` says that this is ambiguous, the id without its middle.
    """

    def fit(room: int) -> str:
        room -= width(before)
        beginning = task_id[:room].rstrip("-.")
        if beginning == task_id or means(beginning, task_id):
            return before + beginning
        return before + short_id(task_id, room, mark=look.sign(*SHORTENED))

    text = f"{before}{task_id} {after}".rstrip()
    return Cell(text=text, colour="" if before else "bold", fit=fit)


def no_daemon_note(has_daemon: Callable[[], bool], views: Sequence[View]) -> str | None:
    """Return a warning if one of the tasks needs a daemon and none runs."""
    runs = any(view.latest.state == "running" for view in views)
    if not (runs or any(_is_stuck(view) for view in views)) or has_daemon():
        return None
    what = "it is not known yet which tasks have ended" if runs else "waiting tasks do not start"
    return f"no daemon is running, so {what}: errands daemon start"


def _is_stuck(view: View) -> bool:
    """Return whether a task could start, or waits for its next time."""
    if view.standing is not None:
        return view.state == "active"
    waits = view.is_held or view.waits or (view.due_at is not None and view.due_at > now())
    return view.latest.state == "pending" and view.state != "proposed" and not waits
