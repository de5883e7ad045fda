"""The timeline: what ran and what comes, in rows."""

from __future__ import annotations

from datetime import datetime, timedelta

from errands.engine.engine import Engine
from errands.frontends.top.line_view import Line
from errands.frontends.top.lists.rows import Entry
from errands.model.text.duration import spoken
from errands.model.text.sanitise import line as safe
from errands.ports.store import Query
from errands.ports.store.reports import GROUPS, Bar
from errands.text import STATES, Look, clip, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.ports.store.reports import Group

WINDOWS = (
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
    timedelta(days=7),
)
_FUTURE = 7  # one column in seven shows what is coming
_MOST_COMING = 200  # slots of each schedule
_NAMES = 18  # columns of the names beside a timeline, at most


class Timeline:
    """What ran in a window up to now and what comes soon, in one row for each lane, name or batch."""

    def __init__(self, engine: Engine, look: Look) -> None:
        self._engine = engine
        self._look = look
        self._bars: dict[str, list[Bar]] = {}
        self._window = 1
        self._group = 0
        self._back = 0  # halves of a window before now
        self._steps = self._later = 1  # columns before and after now
        self._coming: dict[str, dict[int, str]] = {}  # the tasks of each row by the column of their slot
        self._preview: dict[tuple[str, datetime], list[datetime]] = {}

    @property
    def group(self) -> Group:
        return GROUPS[self._group]

    def zoom(self, step: int) -> None:
        before = WINDOWS[self._window]
        self._window = min(max(self._window + step, 0), len(WINDOWS) - 1)
        self._back = round(self._back * (before / WINDOWS[self._window]))

    def shift(self, step: int) -> None:
        """Move the window back or forward by half its length."""
        self._back = max(self._back + step, 0)

    def next_group(self) -> None:
        self._group = (self._group + 1) % len(GROUPS)

    def show_name(self, since: datetime, at: datetime) -> None:
        """Show a row for each name, in the shortest window that reaches back to a time."""
        self._group, self._back = GROUPS.index("name"), 0
        self._window = next((n for n, each in enumerate(WINDOWS) if at - since < each), len(WINDOWS) - 1)

    def entries(self, columns: int, at: datetime) -> list[Entry]:
        names = min(_NAMES, columns // 3)
        self._later = max((columns - names) // _FUTURE, 1)
        self._steps = max(columns - names - 4 - self._later, 1)
        at -= WINDOWS[self._window] * self._back / 2
        since = at - WINDOWS[self._window]
        group = self.group
        found = self._engine.reports.timeline(since=since, until=at, steps=self._steps, group=group)
        self._bars = {}
        for bar in found:
            self._bars.setdefault(bar.group or "", []).append(bar)
        self._coming = {}
        if not self._back:
            self._look_ahead(at)
        window = spoken(WINDOWS[self._window])
        left = f"the last {window}, by {group}" if not self._back else f"{window}, by {group}"
        rows = list(dict.fromkeys((*self._bars, *self._coming)))
        if not rows:
            when = left if not self._back else f"the {window} before {at.astimezone():%d %b %H:%M}"
            return [[(f"Nothing ran in {when}; - shows more.", "dim")]]
        return [self._heading(left, since, at, names), *(f"group {each}" for each in rows)]

    def _heading(self, left: str, since: datetime, until: datetime, names: int) -> Line:
        """Say what is shown, from when, and where now is."""
        scale = f"from {since.astimezone():%d %b %H:%M}"
        room = names + 2 + self._steps - width(left) - 2
        text = (
            pad(clip(scale, max(room, 0)), max(room, 0), right=True) if width(scale) <= room else " " * room
        )
        end = " now" if not self._back else f" {until.astimezone():%H:%M}"
        return [(f"{left}  ", "bold"), (text, "dim"), (self._look.sign("│", "|"), "cyan"), (end, "dim")]

    def _look_ahead(self, at: datetime) -> None:
        """Find the slots that are due within the time that the columns have room for."""
        span = WINDOWS[self._window] / self._steps  # of a column
        until = at + span * self._later
        known, self._preview = self._preview, {}
        for view in self._engine.list(Query(states=("active",))):
            first = None if view.standing is None else view.standing.next_at
            if first is None or first >= until:
                continue
            key = (view.id, first)
            self._preview[key] = known.get(key) or self._engine.schedules.coming(view.id, _MOST_COMING)
            row = {"lane": view.lane, "name": view.name, "batch": view.batch or ""}[self.group]
            for each in self._preview[key]:
                if at <= each < until:
                    self._coming.setdefault(row, {}).setdefault(int((each - at) / span), view.id)

    def task_of(self, entry: str) -> str:
        """Return the task of the latest bar of a row, or the one that comes first."""
        name = entry.removeprefix("group ")
        if bars := self._bars.get(name):
            return max(bars, key=lambda bar: bar.ended_at).task_id
        coming = self._coming.get(name)
        return coming[min(coming)] if coming else ""

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
        line.append((self._look.sign("│", "|"), "cyan"))
        coming = self._coming.get(name, {})
        signs = (self._look.sign("◇", "o") if each in coming else " " for each in range(self._later))
        line.append(("".join(signs), "yellow"))
        return line
