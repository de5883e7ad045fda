"""Showing: a task in the words of a person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from errands.model.text.duration import spoken
from errands.model.text.progress import bar, eta
from errands.model.text.sanitise import line
from errands.text import plural, state_cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.view import RunView, View
    from errands.text import Look


def now() -> datetime:
    return datetime.now(UTC)


def ago(moment: datetime, *, at: datetime) -> str:
    """How long ago, or how long until."""
    gap = at - moment
    if gap.total_seconds() < -1:
        return f"in {spoken(-gap)}"
    return f"{spoken(gap)} ago" if gap.total_seconds() >= 1 else "just now"


def local(moment: datetime) -> str:
    """A time on the clock of whoever reads it."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def took(run: RunView, *, at: datetime) -> timedelta | None:
    """How long a run took, or takes so far."""
    if run.started_at is None:
        return None
    return (run.completed_at or at) - run.started_at


def took_text(run: RunView, *, at: datetime) -> str:
    length = took(run, at=at)
    return "" if length is None else spoken(length)


def state_word(view: View) -> str:
    if view.standing is not None:
        return view.state
    return "cancelling" if view.is_cancelling else view.state


def ending_line(view: View, look: Look, *, at: datetime) -> str:
    """A task and what became of it, on one line."""
    state = state_cell(state_word(view), look)
    length = took_text(view.latest, at=at)
    words = [f"{look.paint(view.id, 'bold')}  {look.paint(state.text, state.colour)}"]
    if length:
        words.append(f"{'for' if view.is_live else 'in'} {length}")
    more = outcome(view, look, at=at)
    return " ".join(words) + (f" · {more}" if more else "")


def outcome(view: View, look: Look, *, at: datetime) -> str:
    """What there is to say about a task beside its state: progress, result, reason, or what it waits for."""
    run = view.latest
    if view.standing is not None:
        return repetition(view, at=at)
    if run.state == "running" and view.agent is not None:
        return activity(view)
    if run.state == "running":
        return progress_text(view, look, at=at)
    if run.state == "pending":
        return waits_for(view, at=at)
    return result(run)


def repetition(view: View, *, at: datetime) -> str:
    """When a standing task runs, what it does now, and how its last run went."""
    standing, run = view.standing, view.latest
    assert standing is not None
    words = [line(standing.rule)]
    if standing.health in ("failing", "broken"):
        words.append(f"its watch is {standing.health}")
    if view.state == "proposed":
        words.append(waits_for(view, at=at))
    if standing.next_at is not None:
        words.append(f"next {ago(standing.next_at, at=at)}")
    elif standing.checked_at is not None and standing.signal_at is None:
        words.append(f"looked {ago(standing.checked_at, at=at)}")
    if standing.signal_at is not None:
        words.append(f"event {ago(standing.signal_at, at=at)}")
    if view.is_live:
        words.append("runs now" if run.state == "running" else f"run {run.number} waits")
    elif run.number and run.completed_at is not None:
        words.append(
            f"last {' '.join(filter(None, [run.state, result(run)]))} {ago(run.completed_at, at=at)}"
        )
    return " · ".join(words)


WAITING = {
    "approval": "waiting for approval",
    "task": "waits for a task of its own",
    "turn": "waits for its turn on the model",
    "slot": "waits for room in its lane",
}


def activity(view: View) -> str:
    """What a running agent does: what it waits for, and how often it used which tools."""
    agent = view.agent
    if agent is None:
        return ""
    words = [WAITING[agent.waiting]] if agent.waiting in WAITING else []
    if agent.tool_calls:
        words.append(f"{plural(agent.tool_calls, 'tool call')}: {line(', '.join(agent.tools))}")
    return " · ".join(words)


def tokens_text(view: View) -> str:
    """What an agent has used, in a few words."""
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


def result(run: RunView) -> str:
    """How a run ended, in a few words."""
    words = []
    if run.state == "failed" and run.failure == "exit":
        words.append(f"exit {run.exit_code}")
    elif run.error and run.state in ("failed", "skipped"):
        words.append(line(run.error))
    elif run.failure == "signal" or (run.signal is not None and run.state == "failed"):
        words.append(f"killed by {signal_name(run.signal)}")
    if run.summary:
        words.append(line(run.summary))
    return " · ".join(words)


def purpose(view: View) -> str:
    """What a task is for: its description, or its command where it was only given a name."""
    return view.command if view.description == view.name else view.description


def signal_name(number: int | None) -> str:
    import signal

    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def waits_for(view: View, *, at: datetime) -> str:
    """Why a pending run has not started."""
    if view.state == "proposed":
        reasons = view.question.reasons if view.question else ()
        return "needs a yes" + "".join(f": {line(reason.text)}" for reason in reasons[:1])
    if view.retry is not None:
        which = f"({view.retry.number} of {view.retry.of})"
        if view.retry.at is not None and view.retry.at > at:
            return f"failed, trying again in {spoken(view.retry.at - at)} {which}"
        return f"failed, waits for room in lane {view.lane} to try again {which}"
    if view.standing is not None:
        next_at = view.standing.next_at
        if view.standing.health is not None and next_at is None:
            return "waits for an event"
        return "waits for no time" if next_at is None else f"starts {ago(next_at, at=at)}"
    if view.due_at is not None and view.due_at > at:
        return f"starts in {spoken(view.due_at - at)}"
    others = (view.details or {}).get("waiting_for")
    if others:
        return f"waits for {', '.join(others)}"
    if view.waits:
        return f"waits for {plural(view.waits, 'task')}"
    return f"waits for room in lane {view.lane}"


def needs_yes(view: View) -> bool:
    """Tell whether a person has to answer about a task: before it starts, or before its agent goes on."""
    return view.state == "proposed" or view.question is not None


def how_to_answer(ids: list[str]) -> str:
    """What a person can do about tasks that wait for a yes."""
    if len(ids) == 1:
        return f"{ids[0]} waits for a yes: errands approve {ids[0]}, or errands reject {ids[0]}"
    return f"{len(ids)} tasks wait for a yes: errands show ID, then errands approve ID or errands reject ID"


def progress_text(view: View, look: Look, *, at: datetime, columns: int = 10) -> str:
    """The percentage, the time left and a bar, as far as the task tells; what matters most comes first."""
    progress = view.progress
    if progress is None:
        return ""
    words = [f"{int(progress.percent):3d}%"]
    left = eta(progress, took(view.latest, at=at) or timedelta())
    if left is not None and progress.percent < 100:
        words.append(f"{spoken(left) if left.seconds or left.days else '<1s'} left")
    words.append(bar(progress, columns, plain=not look.unicode))
    if progress.total is not None:
        words.append(f"{progress.done}/{progress.total}")
    if progress.text:
        words.append(line(progress.text))
    return " · ".join(words)
