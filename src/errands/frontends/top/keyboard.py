"""The keyboard: what each action of the table of keys does here.

What cannot be taken back asks first. Nothing is approved whose whole text was not on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from errands.frontends.tools.keys import action_of
from errands.frontends.top.commands import STEPS, Commands
from errands.frontends.top.screen import TopScreen
from errands.frontends.top.task.parts import may_be_answered
from errands.model.text.answers import answer_to
from errands.model.view import View
from errands.text import plural

_LETTERS = {"approve": "y", "approve_task": "t", "approve_always": "a", "reject": "n"}


class Keyboard(Commands):
    def __init__(self, app: TopScreen) -> None:
        super().__init__(app)
        self._confirmed: Callable[[], str] | None = None

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
            app.draw_bars()
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
        elif action in STEPS:
            self.step(action)
        else:
            getattr(self, f"_{action}")()
        app.draw_bars()
        if app.has_task:
            app.task_view.draw_parts()

    def offered(self) -> list[str]:
        """Return the actions that make sense now, the most important first, for the line of keys."""
        app = self._app
        if app.is_asking or app.has_help or self._confirmed is not None:
            return ["back"]
        if app.has_task:
            task = app.task_view.subject
            found = [] if task is None else _of_task(task)
            if app.task_view.part == "output":
                found += ["follow", "find", "error", "wrap", "copy", "whole_screen"]
            return [_ACTIONS.get(each, each) for each in (*found, "next_part", "back")]
        view = app.chosen_view()
        found = [] if view is None else ["open", *_of_task(view)]
        return [*found, *_MORE[app.view], "find", "new"]

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
        views = [self._app.feed.view(each) for each in self._targets()]
        if views and not any(view is not None and (view.is_open or view.is_live) for view in views):
            self._app.say("there is nothing to cancel: it has ended", "yellow")
            return
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

    def _new(self) -> None:
        self._ask("new task: a command or, after >, a prompt for an agent:", self._start, must=True)

    def _start(self, text: str) -> str:
        view, said = self._app.actions.start(text)
        self._app.open_task(view.id)
        return said

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

    # Questions.

    def _answer(self, letter: str) -> None:
        """Answer the question on the screen; if it is not there yet, show it instead."""
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


_ACTIONS = {"error": "next_error"}
# What each list can do besides acting on its tasks.
_MORE: dict[str, tuple[str, ...]] = {
    "now": ("dismiss",),
    "tasks": ("select",),
    "timeline": ("zoom_out", "group"),
    "schedules": (),
    "lanes": ("width",),
}


def _of_task(view: View) -> list[str]:
    """Return what can be done with a task, the most important first."""
    if view.needs_approval:
        return ["approve", "reject", "cancel"]
    if view.standing is not None:
        return ["pause", "fire", "cancel"] if view.is_open else ["restart"]
    if view.is_live:
        return ["cancel", "pause", "send"] if view.agent is None else ["cancel"]
    return ["restart"] if view.agent is None else ["resume", "restart"]
