"""The screen: a list with a preview, or one task, kept up to date by the changes that the engine reports."""

from __future__ import annotations

import asyncio
import time

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Container
from textual.timer import Timer
from textual.widgets import Input

from errands.engine.engine import Engine
from errands.engine.fleet.host_watch import HostWatch
from errands.engine.live.hub import Change, Changes
from errands.frontends.tools.keys import Place
from errands.frontends.top.actions import Actions
from errands.frontends.top.bar import Bar
from errands.frontends.top.bar_lines import (
    count_line,
    filter_line,
    help_lines,
    home_name,
    key_line,
    view_line,
)
from errands.frontends.top.feed import Feed, NowFacts
from errands.frontends.top.line_view import Line, TextView, plain
from errands.frontends.top.lists.lanes import LaneList
from errands.frontends.top.lists.now import now_entries
from errands.frontends.top.lists.preview import Preview
from errands.frontends.top.lists.rows import Rows, task_line
from errands.frontends.top.lists.schedules import ScheduleList
from errands.frontends.top.lists.tasks import TaskList
from errands.frontends.top.lists.timeline import Timeline
from errands.frontends.top.task.task_view import TaskView
from errands.frontends.top.words import Words
from errands.model.errors import ErrandsError
from errands.model.text.sanitise import line as safe
from errands.model.view import View
from errands.text import Look, width, wrap

REFRESH = 0.05  # seconds in which changes are gathered before they are drawn
REREAD = 2.0  # seconds between two readings of the whole list
WIDE = 120  # columns; in a wider terminal the preview is beside the list
MOST_SAID = 4  # lines
ROOM_FOR_SCHEDULE = 50  # columns beside its latest slots
TALL = 14  # with this many rows there is a preview
_AGAIN = 1.0  # seconds until changes are listened to again after an error
_SETTLE = 0.08  # seconds until the preview follows the chosen row


class TopScreen(App[int]):
    CSS_PATH = "top.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # keys are for the application, unless a person is asked to type

    def __init__(self, engine: Engine, *, look: Look, hosts: HostWatch) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self.engine = engine
        self.words = Words(engine)
        self.look = look
        self.feed = Feed(engine)
        self.actions = Actions(engine)
        self.tasks = TaskList(self.feed)
        self.timeline = Timeline(engine, look)
        self.schedules = ScheduleList(engine, look)
        self.lanes = LaneList(engine, look, hosts)
        self.view = "now"
        self.trail: list[str] = []  # the tasks from which the open one was opened
        self._facts: NowFacts | None = None
        self._changes: Changes | None = None
        self._has_heard = False
        self._changed: set[str] = set()
        self._grown: set[str] = set()
        self._is_everything = True
        self._refreshing: Timer | None = None
        self._previewing: Timer | None = None
        self._read_at = -REREAD
        self._title = Bar(look, id="title")
        self._tabs = Bar(look, id="tabs")
        self._keys = Bar(look, id="keys")
        self._said = TextView(look, id="said")
        self.help = TextView(look, id="help")
        self._lists = Container(id="lists")
        self._preview = Preview(self.feed, look, id="preview")
        self._entry = Container(id="entry")
        self._typed = Input(id="typed", compact=True)
        self.task_view = TaskView(self.feed, self.actions, self.words, look, id="task")
        self.all_rows = {
            "now": Rows(look, id="now", draw=self._draw_task, fetch=self.feed.views),
            "tasks": Rows(look, id="tasks", draw=self._draw_listed, fetch=self.feed.views),
            "timeline": Rows(look, id="timeline", draw=self.timeline.draw),
            "schedules": Rows(look, id="schedules", draw=self._draw_schedule, fetch=self.feed.views),
            "lanes": Rows(look, id="lanes", draw=self.lanes.draw),
        }

    # The screen.

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._tabs
        with self._lists:
            yield from self.all_rows.values()
            yield self._preview
        yield self.task_view
        yield self.help
        yield self._said
        with self._entry:
            yield self._typed
        yield self._keys

    def on_mount(self) -> None:
        self._typed.can_focus = False
        self.show_view("now")
        self.set_interval(1.0, self._tick)
        self.run_worker(self._listen(), exclusive=False)

    def on_resize(self, event: events.Resize) -> None:
        self._lists.set_class(event.size.width >= WIDE, "wide")
        self._preview.display = event.size.height >= TALL
        self.refresh_soon()

    @property
    def rows(self) -> Rows:
        """The list that is shown, or that lies behind the open task."""
        return self.all_rows[self.view]

    @property
    def has_task(self) -> bool:
        return bool(self.task_view.display)

    @property
    def has_help(self) -> bool:
        return bool(self.help.display)

    def show_view(self, view: str) -> None:
        self.view = view
        self.trail.clear()
        self.is_whole = False
        self.task_view.display = self.help.display = False
        self._lists.display = True
        for name, each in self.all_rows.items():
            each.display = name == view
        self.refresh_now()

    @property
    def is_whole(self) -> bool:
        """Whether the output has the whole screen."""
        return self.screen.has_class("whole")

    @is_whole.setter
    def is_whole(self, wanted: bool) -> None:
        self.screen.set_class(wanted, "whole")

    def show_in_timeline(self, view: View) -> None:
        """Show a task among those of its name, in a window with its latest run."""
        latest = view.latest
        since = latest.started_at or latest.completed_at or view.created_at
        self.timeline.show_name(since, self.feed.now())
        self.show_view("timeline")
        self.rows.choose(f"group {view.name}")

    def open_task(self, task_id: str, part: str | None = None) -> None:
        if not self.task_view.open(task_id, part):
            self.say(f"{task_id} is gone", "yellow")
            return
        self._lists.display = self.help.display = False
        self.task_view.display = True
        self.call_after_refresh(self.task_view.show_part, self.task_view.part)
        self.draw_bars()

    def show_help(self) -> None:
        self._lists.display = self.task_view.display = False
        self.help.display = True
        self.help.set_lines(help_lines(self.size.width))
        self.draw_bars()

    # Changes.

    async def _listen(self) -> None:
        """Listen for changes until the application ends."""
        while True:
            try:
                async with self.engine.changes() as changes:
                    self._changes = changes
                    async for change in changes:
                        self._take(change)
            except ErrandsError as error:
                self.say(safe(str(error)), "red")
                await asyncio.sleep(_AGAIN)

    def _take(self, change: Change) -> None:
        self._has_heard = True
        self._is_everything = self._is_everything or change.is_everything
        self._changed |= change.tasks
        self._grown |= change.grown
        self.feed.forget(None if change.is_everything else change.tasks | change.grown)
        self.refresh_soon()

    @property
    def is_settled(self) -> bool:
        """Whether everything that is known is drawn."""
        return self._refreshing is None and self._previewing is None

    def refresh_soon(self) -> None:
        """Redraw everything in a moment, so that many changes cost one redraw."""
        if self._refreshing is None:
            self._refreshing = self.set_timer(REFRESH, self.refresh_now)

    def refresh_now(self) -> None:
        if self._refreshing is not None:
            self._refreshing.stop()
            self._refreshing = None
        changed, grown, everything = self._changed, self._grown, self._is_everything
        self._changed, self._grown, self._is_everything = set(), set(), False
        try:
            self._facts = self.feed.now_facts()
            is_first_time = self.tasks.is_whole and not self.tasks.total
            self.all_rows["now"].set_entries(now_entries(self._facts, is_first_time=is_first_time))
            self._refresh_list(changed, everything)
            task = self.task_view.subject
            if self.has_task and task is not None:
                if everything or task.id in changed or task.state == "proposed":
                    self.task_view.refresh_task()
                elif task.id in grown:
                    self.task_view.grow()
            elif everything or self.rows.chosen in changed | grown or self.view == "timeline":
                self._show_preview()
        except ErrandsError as error:
            self.say(safe(str(error)), "red")
        self.draw_bars()

    def _refresh_list(self, changed: set[str], everything: bool) -> None:
        if everything and not self.tasks.is_reading:
            self.run_worker(self._read_list(), exclusive=False)
        elif changed:
            self.tasks.update(changed)
        self.fill_rows()

    def fill_rows(self) -> None:
        """Read the rows of the list that is shown; those of Now are always read."""
        if self.view == "tasks":
            self.show_matching()
        elif self.view == "timeline":
            columns = self.rows.columns
            self.rows.set_entries(self.timeline.entries(columns, self.feed.now()))
        elif self.view == "schedules":
            self.rows.set_entries(self.schedules.entries())
        elif self.view == "lanes":
            self.lanes.ask_hosts(self.run_worker)
            self.rows.set_entries(self.lanes.entries())

    def show_matching(self) -> None:
        self.all_rows["tasks"].set_entries(self.tasks.entries())

    async def _read_list(self) -> None:
        """Read all tasks, a page at a time, so that keys are answered meanwhile."""
        if self.tasks.is_reading:
            return
        self.tasks.begin()
        await asyncio.sleep(max(self._read_at + REREAD - time.monotonic(), 0))
        while self.tasks.read_page():
            if self.view == "tasks" and not self.tasks.is_whole:
                self.show_matching()
            await asyncio.sleep(0.005)
        self._read_at = time.monotonic()
        self.refresh_soon()

    def _tick(self) -> None:
        if self.view in ("timeline", "lanes") and not self.has_task:
            self.fill_rows()
        self.rows.refresh()
        if self.has_task:
            self.task_view.tick()
        self.draw_bars()

    # Drawing.

    def _draw_task(self, task_id: str, columns: int) -> Line:
        return self._task_line(task_id, columns, has_state=False)

    def _draw_listed(self, task_id: str, columns: int) -> Line:
        return self._task_line(task_id, columns, has_state=True)

    def _draw_schedule(self, task_id: str, columns: int) -> Line:
        streak = self.schedules.streak(task_id)
        room = columns - len(streak) - 2
        if not streak or room < ROOM_FOR_SCHEDULE:
            return self._task_line(task_id, columns, has_state=False)
        return [*self._task_line(task_id, room, has_state=False), ("  ", ""), *streak]

    def _task_line(self, task_id: str, columns: int, *, has_state: bool) -> Line:
        return task_line(
            self.feed.view(task_id),
            columns,
            self.look,
            self.words,
            at=self.feed.now(),
            has_state=has_state,
            room_for_id=self.rows.widest_id,
        )

    def draw_bars(self) -> None:
        """Draw the title, the names of the views, and the keys that do something now."""
        columns = self.size.width
        title: Line = [("errands", "bold"), (f" {home_name(self.engine.home.path)}", "dim")]
        counts: Line = [] if self._facts is None else count_line(self._facts, columns)
        self._title.set_line(title, [*counts, *self._liveness()])
        tabs, names = view_line("" if self.has_help else self.view, columns)
        self._tabs.set_line(tabs, self._filter(), names)
        last = key_line(("keys", "leave"))
        self._keys.set_line(key_line(self.offered(), columns - width(plain(last))), last)

    def _liveness(self) -> Line:
        if self._changes is None or not self._has_heard:
            return [("...", "dim")]
        since = self._changes.not_live_since
        if since is None:
            return [(f"{self.look.sign('●', '*')} live", "green")]
        return [(f"not live since {since.astimezone():%H:%M:%S}", "yellow bold")]

    def _filter(self) -> Line:
        if self.view != "tasks" or self.has_task:
            return []
        tasks, selected = self.tasks, len(self.rows.selected)
        return filter_line(tasks.filter, tasks.count, tasks.total, selected, self.size.width)

    def offered(self) -> list[str]:
        """Return the actions for the line of keys; the application says which."""
        raise NotImplementedError

    def say(self, text: str, style: str = "") -> None:
        """Say something above the keys; a long sentence takes more lines."""
        lines = wrap(text, max(self.size.width, 20))[:MOST_SAID]
        self._said.styles.height = len(lines)
        self._said.set_lines([[(each, style)] for each in lines])

    # The preview.

    def on_rows_chosen(self) -> None:
        if self._previewing is not None:
            self._previewing.stop()
        self._previewing = self.set_timer(_SETTLE, self._show_preview)
        self.draw_bars()

    def _show_preview(self) -> None:
        """Show the end of what the chosen task has printed."""
        self._previewing = None
        self._preview.show(self.chosen_view())

    # Input.

    def on_bar_clicked(self, event: Bar.Clicked) -> None:
        kind, _, name = event.name.partition(" ")
        if kind == "view":
            self.show_view(name)
        else:
            self.task_view.show_part(name)
            self.draw_bars()

    def ask_for(self, label: str) -> None:
        """Let the person type a line."""
        self.say(label, "bold")
        self._entry.display = True
        self._typed.can_focus = True
        self._typed.value = ""
        self._typed.focus()

    def stop_asking(self) -> None:
        self._entry.display = False
        self._typed.can_focus = False
        self.set_focus(None)
        self.say("")

    @property
    def is_asking(self) -> bool:
        return bool(self._entry.display)

    def chosen_view(self) -> View | None:
        """Return the chosen task; None if no task is chosen."""
        task_id = self.rows.chosen
        if self.view == "timeline":
            task_id = self.timeline.task_of(task_id)
        return self.feed.view(task_id) if task_id and self.view != "lanes" else None

    def places(self) -> tuple[Place, ...]:
        """Return where a key is looked up: what is shown, from the inside out."""
        if self.has_help:
            return ()
        if self.has_task:
            inner: tuple[Place, ...] = ("log",) if self.task_view.part == "output" else ()
            return (*inner, "question", "task")
        view = self.chosen_view()
        return ("question", "list", "task") if view and view.needs_approval else ("list", "task")
