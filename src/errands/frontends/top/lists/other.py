"""The other lists: a timeline of what ran, the recurring tasks with their latest slots, and the lanes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from errands.engine.engine import Engine
from errands.frontends.top.line_view import Line
from errands.frontends.top.lists.rows import Entry
from errands.model.limits import Lane
from errands.model.schedule.slot_record import Slot
from errands.model.states import STANDING
from errands.model.text.duration import spoken
from errands.model.text.sanitise import line as safe
from errands.ports.store import Query
from errands.text import STATES, Look, clip, pad, plural, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store.reports import Bar, Group

_GROUPS: tuple[Group, ...] = ("lane", "name", "batch")
WINDOWS = (
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
    timedelta(days=7),
)
_NAMES = 18  # columns of the names beside a timeline, at most
_STREAK = 20  # slots that are shown of each schedule
_OUTCOMES = {
    "ran": ("✓", "+", "green"),
    "late": ("✓", "+", "yellow"),
    "waiting": ("○", "o", "yellow"),
    "coalesced": ("»", ">", "grey"),
    "skipped": ("»", ">", "grey"),
    "missed": ("✗", "x", "red"),
}


class Timeline:
    """What ran in a window up to now, in one row for each lane, name or batch."""

    def __init__(self, engine: Engine, look: Look) -> None:
        self._engine = engine
        self._look = look
        self._bars: dict[str, list[Bar]] = {}
        self._window = 1
        self._group = 0
        self._steps = 1

    @property
    def group(self) -> Group:
        return _GROUPS[self._group]

    def zoom(self, step: int) -> None:
        """Take a longer or a shorter window."""
        self._window = min(max(self._window + step, 0), len(WINDOWS) - 1)

    def next_group(self) -> None:
        self._group = (self._group + 1) % len(_GROUPS)

    def entries(self, columns: int, at: datetime) -> list[Entry]:
        names = min(_NAMES, columns // 3)
        self._steps = max(columns - names - 3, 1)
        since = at - WINDOWS[self._window]
        group = self.group
        found = self._engine.reports.timeline(since=since, until=at, steps=self._steps, group=group)
        self._bars = {}
        for bar in found:
            self._bars.setdefault(bar.group or "", []).append(bar)
        window = spoken(WINDOWS[self._window])
        left = f"the last {window}, by {group}"
        if not self._bars:
            return [[(f"Nothing ran in {left}; - shows more.", "dim")]]
        scale = f"{since.astimezone():%d %b %H:%M}"
        gap = max(columns - width(left) - width(scale) - 8, 1)
        heading: Line = [(left, "bold"), (f"  from {scale}".rjust(gap + width(scale)), "dim")]
        return [heading, *(f"group {each}" for each in self._bars)]

    def task_of(self, entry: str) -> str:
        """Return the task of the latest bar of a row."""
        bars = self._bars.get(entry.removeprefix("group "))
        return max(bars, key=lambda bar: bar.ended_at).task_id if bars else ""

    def draw(self, entry: str, columns: int) -> Line:
        name = entry.removeprefix("group ")
        names = min(_NAMES, (columns + 1) // 3)
        line: Line = [(pad(clip(safe(name) or "(none)", names), names) + " ", "bold")]
        at = 0
        for bar in self._bars.get(name, ()):
            first, last = max(bar.first, at), max(bar.last, bar.first)
            if last < first:
                continue
            line.append((self._look.sign("·", ".") * (first - at), "dim"))
            cells = last - first + 1
            sign, colour = STATES.get(bar.state, (".", ""))
            text = self._look.sign("█", "#") * cells
            count = str(bar.runs)
            if bar.runs > 1 and cells >= len(count) + 2:
                text = text[0] + count + text[len(count) + 1 :]
            elif bar.state == "failed":
                text = text[:-1] + self._look.sign("✗", sign)
            line.append((text, colour))
            at = last + 1
        line.append((self._look.sign("·", ".") * max(self._steps - at, 0), "dim"))
        return line


class ScheduleList:
    """The recurring tasks, with what became of their latest slots."""

    def __init__(self, engine: Engine, look: Look) -> None:
        self._engine = engine
        self._look = look
        self._slots: dict[str, list[Slot]] = {}

    def entries(self) -> list[Entry]:
        self._slots = self._engine.reports.recent_slots(limit=_STREAK)
        views = self._engine.list(Query(states=STANDING))
        far = datetime.max.replace(tzinfo=UTC)
        views.sort(key=lambda view: (view.standing and view.standing.next_at) or far)
        nothing: Line = [
            ("No recurring tasks. Start one in a shell: errands run --every 1h 'make test'", "dim")
        ]
        return [view.id for view in views] or [nothing]

    def streak(self, task_id: str) -> Line:
        """Draw what became of the latest slots, the newest at the right."""
        line: Line = []
        for slot in reversed(self._slots.get(task_id, ())):
            fancy, plain, colour = _OUTCOMES[slot.outcome]
            line.append((self._look.sign(fancy, plain), colour))
        return line


class LaneList:
    """The lanes: how many of their slots are used, and how many runs wait for one."""

    def __init__(self, engine: Engine, look: Look) -> None:
        self._engine = engine
        self._look = look
        self._lanes: dict[str, Lane] = {}

    def entries(self) -> list[Entry]:
        self._lanes = {f"lane {each.name}": each for each in self._engine.queue.lanes()}
        return list(self._lanes)

    def draw(self, entry: str, columns: int) -> Line:
        lane = self._lanes.get(entry)
        if lane is None:
            return []
        cells = min(lane.width, 20)
        used = min(lane.running, cells)
        line: Line = [
            (pad(clip(safe(lane.name), 16), 16) + "  ", "bold"),
            (self._look.sign("█", "#") * used + self._look.sign("░", ".") * (cells - used), "cyan"),
            (f"  {lane.running} of {lane.width}", ""),
        ]
        if lane.pending:
            line.append((f" · {plural(lane.pending, 'run')} waiting", "yellow"))
        if lane.set_by:
            line.append((f" · set by {safe(lane.set_by)}", "dim"))
        return line
