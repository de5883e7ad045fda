"""Commands: what the keys do that change nothing: moving, finding, selecting, and asking for a line."""

from __future__ import annotations

from collections.abc import Callable

from errands.frontends.top.line_view import LineView
from errands.frontends.top.screen import TopScreen
from errands.model.errors import BadValue, ErrandsError
from errands.model.text.sanitise import line as safe

_ASIDE = 8  # columns of a step to the side
# The actions that go one way or the other: what they step through, and which way.
STEPS = {
    "down": ("row", 1),
    "up": ("row", -1),
    "page_down": ("page", 1),
    "page_up": ("page", -1),
    "last": ("end", 1),
    "first": ("end", -1),
    "next_part": ("part", 1),
    "previous_part": ("part", -1),
    "zoom_out": ("zoom", 1),
    "zoom_in": ("zoom", -1),
    "earlier": ("window", 1),
    "later": ("window", -1),
    "earlier_month": ("month", -1),
    "later_month": ("month", 1),
    "next_match": ("match", 1),
    "previous_match": ("match", -1),
    "next_error": ("error", 1),
    "previous_error": ("error", -1),
    "earlier_run": ("run", -1),
    "later_run": ("run", 1),
}


class Commands:
    """Each other action of the table of keys is a method, with an underscore before its name."""

    def __init__(self, app: TopScreen) -> None:
        self._app = app
        self._entered: Callable[[str], str] | None = None
        self._typing: Callable[[str], None] | None = None
        self._must = False  # whether an empty line counts as none

    # Moving.

    @property
    def _target(self) -> LineView:
        app = self._app
        if app.has_help:
            return app.help
        return app.task_view.shown if app.has_task else app.rows

    def step(self, action: str) -> None:
        """Do an action that goes forward or back."""
        name, way = STEPS[action]
        getattr(self, f"_step_{name}")(way)

    def _step_row(self, way: int) -> None:
        self._target.move(way)

    def _step_page(self, way: int) -> None:
        self._target.move(way * max(self._target.height - 1, 1))

    def _step_end(self, way: int) -> None:
        self._target.move(way * self._target.virtual_size.height)

    def _open(self) -> None:
        if self._app.has_task:
            return
        view = self._app.chosen_view()
        if view is not None:
            self._app.open_task(view.id)

    def _unfold(self) -> None:
        view = self._app.task_view
        if self._app.has_task and view.part == "conversation":
            view.conversation.unfold()

    def _step_month(self, way: int) -> None:
        self._app.task_view.step_month(way)

    def _whole_screen(self) -> None:
        self._app.is_whole = not self._app.is_whole

    def _timeline_here(self) -> None:
        app = self._app
        view = app.task_view.subject if app.has_task else app.chosen_view()
        if view is not None:
            app.show_in_timeline(view)

    def _back(self) -> None:
        app = self._app
        app.say("")
        if app.is_whole:
            app.is_whole = False
        elif app.has_task and app.trail:
            app.open_task(app.trail.pop())
        elif app.has_help or app.has_task:
            app.show_view(app.view)
        elif app.rows.selected:
            app.rows.selected.clear()
            app.rows.refresh()
        elif app.view == "tasks" and app.tasks.filter:
            app.tasks.filter = ""
            app.show_matching()

    def _step_part(self, way: int) -> None:
        if self._app.has_task:
            if self._is_unwrapped():
                self._app.task_view.output.move_aside(way * _ASIDE)
            else:
                self._app.task_view.step_part(way)

    def _is_unwrapped(self) -> bool:
        return self._app.task_view.part == "output" and not self._app.task_view.output.is_wrapped

    def _keys(self) -> None:
        self._app.show_help()

    def _leave(self) -> None:
        self._app.exit(0)

    # The other lists.

    def _step_zoom(self, way: int) -> None:
        if self._app.view == "timeline":
            self._app.timeline.zoom(way)
            self._app.fill_rows()

    def _step_window(self, way: int) -> None:
        if self._app.view == "timeline":
            self._app.timeline.shift(way)
            self._app.fill_rows()

    def _group(self) -> None:
        if self._app.view == "timeline":
            self._app.timeline.next_group()
            self._app.fill_rows()

    def _width(self) -> None:
        kind, _, name = self._app.rows.chosen.partition(" ")
        if self._app.view == "lanes" and kind == "lane":
            self._ask(f"width of lane {safe(name)} (empty: as configured):", self._widening(name))

    def _widening(self, name: str) -> Callable[[str], str]:
        def widen(text: str) -> str:
            if text.strip() and not text.strip().isdecimal():
                raise BadValue(f"a width is a number, not {text.strip()!r}")
            return self._app.actions.set_lane(name, int(text) if text.strip() else None)

        return widen

    # Finding.

    def _find(self) -> None:
        app = self._app
        if app.has_task:
            if app.task_view.part == "output":
                self._ask("find in the output:", self._find_text)
            return
        if app.view != "tasks":
            app.show_view("tasks")
        self._ask("filter: words, state:failed, kind:agent, lane:NAME, batch:NAME", self._set_filter)
        self._typing = self._filter_while_typing

    def _find_text(self, text: str) -> str:
        log = self._app.task_view.output
        is_found = log.find(text, step=1, from_here=True) or log.find(text, step=-1)
        return "" if is_found or not text else f"{text!r} is not in the output"

    def _set_filter(self, text: str) -> str:
        self._filter_while_typing(text)
        return ""

    def _filter_while_typing(self, text: str) -> None:
        self._app.tasks.filter = text.strip()
        self._app.show_matching()

    def _step_match(self, way: int) -> None:
        log = self._app.task_view.output
        if not log.wanted:
            self._app.say("nothing to find yet: / searches for a text")
        elif not log.find(log.wanted, step=way):
            self._app.say(f"no other {safe(log.wanted)!r} {'below' if way > 0 else 'above'}")

    def _step_error(self, way: int) -> None:
        if not self._app.task_view.output.find_error(step=way):
            self._app.say(f"no line {'below' if way > 0 else 'above'} looks like an error")

    def _gap(self) -> None:
        if not self._app.task_view.output.find_gap():
            self._app.say("all output was kept")

    def _follow(self) -> None:
        self._app.task_view.output.toggle_follow()

    def _wrap(self) -> None:
        self._app.task_view.output.toggle_wrap()

    def _step_run(self, way: int) -> None:
        if not self._app.task_view.step_run(way):
            self._app.say(f"this is the {'last' if way > 0 else 'first'} run")

    def _copy(self) -> None:
        self._app.copy_to_clipboard(self._target.screen_text())
        self._app.say("copied what is on the screen; v prints it, if the terminal has no clipboard")

    def _plain(self) -> None:
        text = self._target.screen_text()
        with self._app.suspend():
            print(text)
            try:
                input("\n[Enter returns] ")
            except (EOFError, KeyboardInterrupt):
                pass

    # Selecting.

    def _select(self) -> None:
        if self._app.view == "tasks":
            self._app.rows.toggle_selected()
            self._app.rows.move(1)

    def _select_all(self) -> None:
        app = self._app
        if app.view == "tasks":
            matching = set(app.tasks.matching())
            app.rows.selected = set() if app.rows.selected == matching else matching
            app.rows.refresh()

    def _dismiss(self) -> None:
        self._app.feed.dismiss()
        self._app.refresh_now()

    # Typing.

    def _ask(self, label: str, entered: Callable[[str], str], *, must: bool = False) -> None:
        self._entered, self._must = entered, must
        self._app.ask_for(label)

    def typing(self, text: str) -> None:
        if self._typing is not None and self._app.is_asking:
            self._typing(text)

    def entered(self, text: str) -> None:
        entered = self._entered
        self._stop_asking()
        if entered is not None and (text.strip() or not self._must):
            self._act(lambda: entered(text))

    def _stop_asking(self) -> None:
        self._entered = self._typing = None
        self._app.stop_asking()

    def _act(self, act: Callable[[], str]) -> bool:
        """Do something to tasks and say what came of it; return whether it worked."""
        try:
            self._app.say(safe(act()), "green")
        except ErrandsError as error:
            self._app.say(safe(str(error)), "red")
            return False
        finally:
            self._app.feed.forget(None)
            self._app.refresh_soon()
        self._app.rows.selected.clear()
        return True
