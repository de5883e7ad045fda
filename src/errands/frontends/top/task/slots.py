"""The slots of a schedule: when it runs next, a calendar of what became of them, and the latest ones."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from errands.engine.engine import Engine
from errands.frontends.top.line_view import Line
from errands.frontends.top.words import FATES
from errands.model.schedule.slot_record import Slot
from errands.model.text.sanitise import line
from errands.model.view import View
from errands.text import Look, pad
from errands.text.describe import age

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.schedule.slot_record import SlotOutcome
    from errands.model.states import RunState

    Counts = Sequence[tuple[SlotOutcome, RunState | None, int]]

_LATEST = 100
_NEXT = 5
_NARROW, _WIDE = 8, 14  # columns of a day
_DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


def slot_lines(engine: Engine, view: View, look: Look, *, month: int, at: datetime) -> list[Line]:
    """Write down the slots of a recurring task; `month` is counted from the current one."""
    lines: list[Line] = []
    coming = engine.schedules.coming(view.id, _NEXT)
    for number, each in enumerate(coming):
        when = f"{_clock(each)}  {age(each, at=at)}"
        lines.append([("Next  " if not number else "      ", "bold"), (when, "")])
    if not coming:
        nothing = "an event starts it" if view.standing and view.standing.health else "no run is scheduled"
        lines.append([("Next  ", "bold"), (nothing, "dim")])
    if view.standing is not None and view.standing.health is not None:
        looked = view.standing.checked_at
        text = f"{view.standing.health}, looked {age(looked, at=at)}" if looked else "not looked yet"
        lines.append([("Watch ", "bold"), (text, "")])
    lines += [[], *_calendar(engine, view, look, month=month, at=at), []]
    lines.append([("Latest", "bold")])
    states = {run.number: run.state for run in engine.history(view.id, limit=2 * _LATEST)}
    slots = engine.schedules.ledger(view.id, _LATEST)
    lines += [_slot(each, look, states.get(each.run or 0)) for each in slots]
    return lines if slots else [*lines, [("      no slot was due yet", "dim")]]


def _calendar(engine: Engine, view: View, look: Look, *, month: int, at: datetime) -> list[Line]:
    """Draw a month: for each day its worst outcome, and how many slots it had."""
    today = at.astimezone()
    days = _month(today, month)
    found = engine.reports.slot_days(view.id, days)
    cell = min(max(look.columns // 7, _NARROW), _WIDE)
    more = f"  [ month before{'  ] after' if month else ''}"
    head: Line = [(f"{days[0]:%B %Y}", "bold"), (more, "dim")]
    lines: list[Line] = [head, [(pad(each, cell), "dim") for each in _DAYS]]
    week: Line = [(" " * cell * days[0].weekday(), "")]
    for day, counts in zip(days, found, strict=False):
        text, colour = _day(counts, look)
        style = "bold" if day.date() == today.date() else "dim" if not counts else ""
        week += [(f"{day.day:>2}", style), (pad(text, cell - 2), colour)]
        if day.weekday() == 6:
            lines.append(week)
            week = []
    return [*lines, week] if week else lines


def _month(today: datetime, month: int) -> list[datetime]:
    """Return the beginnings of the days of a month in local time, and of the day after it."""
    year, number = divmod(today.year * 12 + today.month - 1 + month, 12)
    first = date(year, number + 1, 1)
    days = [first + timedelta(days=each) for each in range(monthrange(year, number + 1)[1] + 1)]
    return [datetime.combine(each, time()).astimezone() for each in days]


def _day(counts: Counts, look: Look) -> tuple[str, str]:
    if not counts:
        return "", ""
    fates = [_fate(outcome, state) for outcome, state, _ in counts]
    fancy, plain, colour = FATES[min(fates, key=list(FATES).index)]
    return f" {look.sign(fancy, plain)} {sum(count for _, _, count in counts)}", colour


def _fate(outcome: SlotOutcome, state: RunState | None) -> str:
    """Return what became of a slot: how its run ended, if it did not complete."""
    return state if state in ("failed", "cancelled", "running") else outcome


def _slot(slot: Slot, look: Look, state: RunState | None) -> Line:
    fancy, plain, colour = FATES[_fate(slot.outcome, state)]
    more = f" and {slot.count - 1} more" if slot.count > 1 else ""
    run = f"  run {slot.run}, {state}" if slot.run and state else ""
    return [
        (f"      {_clock(slot.slot)}  ", "dim"),
        (f"{look.sign(fancy, plain)} {pad(slot.outcome, 9)}", colour),
        (f"{run}{more}", ""),
        (f"  {line(slot.reason)}" if slot.reason else "", "dim"),
    ]


def _clock(at: datetime) -> str:
    return f"{at.astimezone():%d %b %H:%M:%S}"
