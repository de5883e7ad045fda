"""The keyboard: what each action of the table of keys does here.

What cannot be taken back asks first. Nothing is approved whose whole text was not on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from errands.frontends.tools.keys import action_of
from errands.frontends.top.line_view import LineView
from errands.frontends.top.screen import TopScreen
from errands.frontends.top.task.parts import may_be_answered
from errands.model.errors import ErrandsError
from errands.model.text.answers import answer_to
from errands.model.text.sanitise import line as safe
from errands.model.view import View
from errands.text import plural

_LETTERS = {"approve": "y", "approve_task": "t", "approve_always": "a", "reject": "n"}
_ASIDE = 8  # columns of a step to the side


class Keyboard:
    def __init__(self, app: TopScreen) -> None:
        self._app = app
        self._confirmed: Callable[[], str] | None = None
        self._entered: Callable[[str], str] | None = None
        self._typing: Callable[[str], None] | None = None

    # Keys.

    def press(self, character: str | None, key: str) -> bool:
        """Take a key; return whether it did something."""
        app = self._app
        if app.is_asking:
            if key == "escape":
                self._stop_asking()
                return True
            return False
        name = "space" if character == " " else character if character and character.isprintable() else key
        if self._confirmed is not None:
            act, self._confirmed = self._confirmed, None
            app.say("")
            if name == "y":
                self._act(act)
            else:
                app.say("nothing was done")
            return True
        action = action_of(name, app.places())
        if action:
            self.do(action)
        return bool(action)

    def do(self, action: str) -> None:
        """Do what a key stands for."""
        app = self._app
        if action.startswith("view_"):
            name = action.removeprefix("view_")
            app.show_view(name)
        elif action in _LETTERS:
            self._answer(_LETTERS[action])
        else:
            getattr(self, f"_{action}")()
        if not app.has_task or app.task_view.part == "output":
            app.draw_bars()
        if app.has_task:
            app.task_view.draw_parts()

    def offered(self) -> list[str]:
        """Return the actions that make sense now, the most important first, for the line of keys."""
        app = self._app
        if app.is_asking:
            return ["back"]
        if app.has_help:
            return ["back"]
        if app.has_task:
            task = app.task_view.subject
            found = [] if task is None else _of_task(task)
            if app.task_view.part == "output":
                found += ["follow", "find", "error", "wrap", "copy"]
            return [_ACTIONS.get(each, each) for each in (*found, "next_part", "back")]
        view = app.chosen_view()
        found = [] if view is None else ["open", *_of_task(view)]
        more = ["dismiss"] if app.view == "now" else ["select"]
        return [*found, *more, "find"]

    # Moving.

    @property
    def _target(self) -> LineView:
        app = self._app
        if app.has_help:
            return app.help
        return app.task_view.shown if app.has_task else app.rows

    def _down(self) -> None:
        self._target.move(1)

    def _up(self) -> None:
        self._target.move(-1)

    def _page_down(self) -> None:
        self._target.move(max(self._target.height - 1, 1))

    def _page_up(self) -> None:
        self._target.move(-max(self._target.height - 1, 1))

    def _first(self) -> None:
        self._move_all(-1)

    def _last(self) -> None:
        self._move_all(1)

    def _move_all(self, step: int) -> None:
        self._target.move(step * self._target.virtual_size.height)

    def _open(self) -> None:
        if self._app.has_task or not self._app.chosen_view():
            return
        self._app.open_task(self._app.rows.chosen)

    def _back(self) -> None:
        app = self._app
        app.say("")
        if app.has_help or app.has_task:
            app.show_view(app.view)
        elif app.rows.selected:
            app.rows.selected.clear()
            app.rows.refresh()
        elif app.view == "tasks" and app.tasks.filter:
            app.tasks.filter = ""
            app.show_matching()

    def _next_part(self) -> None:
        if self._app.has_task:
            if self._is_unwrapped():
                self._app.task_view.output.move_aside(_ASIDE)
            else:
                self._app.task_view.step_part(1)

    def _previous_part(self) -> None:
        if self._app.has_task:
            if self._is_unwrapped():
                self._app.task_view.output.move_aside(-_ASIDE)
            else:
                self._app.task_view.step_part(-1)

    def _is_unwrapped(self) -> bool:
        return self._app.task_view.part == "output" and not self._app.task_view.output.is_wrapped

    def _keys(self) -> None:
        self._app.show_help()

    def _leave(self) -> None:
        self._app.exit(0)

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

    def _next_match(self) -> None:
        self._step_match(1)

    def _previous_match(self) -> None:
        self._step_match(-1)

    def _step_match(self, step: int) -> None:
        log = self._app.task_view.output
        if not log.wanted:
            self._app.say("nothing was looked for yet: / finds a text")
        elif not log.find(log.wanted, step=step):
            self._app.say(f"no other {safe(log.wanted)!r} {'below' if step > 0 else 'above'}")

    def _next_error(self) -> None:
        if not self._app.task_view.output.find_error(step=1):
            self._app.say("no line below looks like an error")

    def _previous_error(self) -> None:
        if not self._app.task_view.output.find_error(step=-1):
            self._app.say("no line above looks like an error")

    def _gap(self) -> None:
        if not self._app.task_view.output.find_gap():
            self._app.say("all output was kept")

    def _follow(self) -> None:
        self._app.task_view.output.toggle_follow()

    def _wrap(self) -> None:
        self._app.task_view.output.toggle_wrap()

    def _earlier_run(self) -> None:
        if not self._app.task_view.step_run(-1):
            self._app.say("there is no run before this one")

    def _later_run(self) -> None:
        if not self._app.task_view.step_run(1):
            self._app.say("there is no run after this one")

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

    def _targets(self) -> list[str]:
        """Return the tasks that an action is for: the open one, the selected ones, or the chosen one."""
        app = self._app
        if app.has_task:
            return [app.task_view.subject.id] if app.task_view.subject is not None else []
        if app.rows.selected:
            return sorted(app.rows.selected)
        view = app.chosen_view()
        return [] if view is None else [view.id]

    # Acting.

    def _cancel(self) -> None:
        self._confirm("cancel", self._app.actions.cancel)

    def _restart(self) -> None:
        self._confirm("restart", self._app.actions.restart)

    def _clear(self) -> None:
        self._confirm("remove", self._app.actions.clear)

    def _fire(self) -> None:
        self._confirm("run", self._app.actions.fire, more=" now")

    def _pause(self) -> None:
        ids = self._targets()
        if len(ids) > 1:
            self._confirm("pause or unpause", self._app.actions.pause)
        elif ids:
            self._act(lambda: self._app.actions.pause(ids))

    def _resume(self) -> None:
        ids = self._targets()
        if len(ids) == 1:
            self._ask(f"prompt for {ids[0]}:", lambda text: self._app.actions.resume(ids[0], text), must=True)

    def _send(self) -> None:
        ids = self._targets()
        if len(ids) == 1:
            self._ask(f"input for {ids[0]}:", lambda text: self._app.actions.send(ids[0], text))

    def _confirm(self, verb: str, act: Callable[[Sequence[str]], str], *, more: str = "") -> None:
        """Ask before something is done; what is done is exactly what was asked about."""
        ids = self._targets()
        if not ids:
            return
        what = ids[0] if len(ids) == 1 else plural(len(ids), "task")
        self._confirmed = lambda: act(ids)
        self._app.say(f"{verb} {what}{more}? y does it, any other key does not", "bold yellow")

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

    # Questions.

    def _answer(self, letter: str) -> None:
        """Answer the question that is shown; one that is not, is shown first."""
        app = self._app
        if not app.has_task or app.task_view.part != "question":
            self._show_question(app.task_view.subject if app.has_task else app.chosen_view())
            return
        shown = app.task_view.question
        view, number = shown.view, shown.number
        if view is None:
            app.say("nothing waits for an answer here")
            return
        if not shown.offered:
            self._act(lambda: app.actions.ask_anew(view))
            return
        answer = answer_to(letter, shown.offered)
        if answer is None:
            app.say("that answer is not offered here")
        elif answer.scope is None:
            self._ask(
                f"reject {view.id}; a note for who asked (may be empty):", self._rejecting(view, number)
            )
        elif shown.show_unseen():
            app.say("read all of it first: here is more")
        elif not shown.was_seen:
            app.say("wait a moment: the question has just appeared")
        else:
            scope = answer.scope
            if self._act(lambda: app.actions.approve(view, scope, number)):
                app.show_view(app.view)

    def _show_question(self, view: View | None) -> None:
        app = self._app
        if view is None or not may_be_answered(view):
            app.say("nothing waits for an answer here")
            return
        app.open_task(view.id, "question")
        app.say("read all of it; then y approves and n rejects")
        if view.state == "rejected":
            self._act(lambda: app.actions.ask_anew(view))

    def _rejecting(self, view: View, number: int | None) -> Callable[[str], str]:
        def reject(note: str) -> str:
            said = self._app.actions.reject(view, note.strip(), number)
            self._app.show_view(self._app.view)
            return said

        return reject

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


_ACTIONS = {"error": "next_error"}


def _of_task(view: View) -> list[str]:
    """Return what can be done with a task, the most important first."""
    if view.state == "proposed" or view.question is not None:
        return ["approve", "reject", "cancel"]
    if view.standing is not None:
        return ["pause", "fire", "cancel"] if view.is_open else ["restart"]
    if view.is_live:
        return ["cancel", "pause", "send"] if view.agent is None else ["cancel"]
    return ["restart"] if view.agent is None else ["resume", "restart"]
