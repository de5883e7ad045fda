"""One task: facts above, and below them its output, question, conversation, runs or trace."""

from __future__ import annotations

from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Container

from errands.engine.agents.call_log import calls_of, started_by
from errands.engine.engine import Engine
from errands.frontends.top.actions import Actions
from errands.frontends.top.bar import Bar
from errands.frontends.top.feed import Feed
from errands.frontends.top.line_view import Line, LineView, TextView, painted
from errands.frontends.top.task.conversation_view import Conversation, ConversationView
from errands.frontends.top.task.log_view import LogView
from errands.frontends.top.task.parts import facts, first_part, parts_of, run_lines
from errands.frontends.top.task.question_view import QuestionView
from errands.frontends.top.task.slots import slot_lines
from errands.frontends.top.words import Words
from errands.model.errors import ErrandsError
from errands.model.record import evolve
from errands.model.text.answers import QUESTION
from errands.model.view import View
from errands.text import Look


class TaskView(Container):
    def __init__(self, feed: Feed, actions: Actions, words: Words, look: Look, *, id: str) -> None:
        super().__init__(id=id)
        self._feed = feed
        self._engine: Engine = feed.engine
        self._actions = actions
        self._words = words
        self._look = look
        self.subject: View | None = None
        self.part = "output"
        self.run = ""  # the run whose output is shown
        self._month = 0  # of the calendar, counted from this one
        self._facts = TextView(look, id="facts")
        self._parts = Bar(look, id="parts")
        self._text = TextView(look, id="part")
        self.output = LogView(look, id="log")
        self.question = QuestionView(look, id="question")
        self.conversation = ConversationView(look, id="conversation")

    def compose(self) -> ComposeResult:
        yield self._facts
        yield self._parts
        yield self.output
        yield self.question
        yield self.conversation
        yield self._text

    @property
    def shown(self) -> LineView:
        parts: dict[str, LineView] = {
            "output": self.output,
            "question": self.question,
            "conversation": self.conversation,
        }
        return parts.get(self.part, self._text)

    # Opening.

    def open(self, task_id: str, part: str | None = None) -> bool:
        """Show a task; return whether it is still there."""
        view = self._feed.details(task_id)
        if view is None:
            return False
        self.subject, self.run, self._month = view, "", 0
        self.question.forget()
        self.conversation.forget()
        self.show_part(part or first_part(view))
        return True

    def show_part(self, part: str) -> None:
        assert self.subject is not None
        parts = parts_of(self.subject)
        self.part = part if part in parts else parts[0]
        for each in (self.output, self.question, self.conversation, self._text):
            each.display = each is self.shown
        if self.shown is self._text:
            self._text.go_to(0)
        self._draw()
        if self.part == "output":
            self.open_run(self.run or self.subject.latest.id)

    def step_month(self, step: int) -> None:
        if self.part == "slots":
            self._month = min(self._month + step, 0)
            self._draw()

    def step_part(self, step: int) -> None:
        """Show the next part, or the one before."""
        if self.subject is not None:
            parts = parts_of(self.subject)
            at = parts.index(self.part) if self.part in parts else 0
            self.show_part(parts[(at + step) % len(parts)])

    def open_run(self, run_id: str) -> None:
        assert self.subject is not None
        self.run = run_id
        log = None
        if not run_id.endswith(".0"):
            log = self._feed.log(run_id, colour=self._look.colour, columns=self.output.columns)
        waits = self._words.detail(self.subject, self._look, at=self._feed.now())
        is_pending = self.subject.latest.state == "pending"
        self.output.open(
            log, empty=f"It has not started: {waits}" if is_pending else "It has printed nothing."
        )
        self.draw_parts()

    def step_run(self, step: int) -> bool:
        """Show the output of the run before or after; return whether there is one."""
        numbers = [] if self.subject is None else [run.id for run in self.subject.history]
        at = numbers.index(self.run) + step if self.run in numbers else -1
        if self.part != "output" or not 0 <= at < len(numbers):
            return False
        self.open_run(numbers[at])
        return True

    # Keeping up.

    def refresh_task(self) -> None:
        """Read the task again; a new run of it is shown if the latest one was."""
        if self.subject is None:
            return
        was_latest = self.run in ("", self.subject.latest.id)
        former = self.subject.latest.id
        view = self._feed.details(self.subject.id)
        if view is None:
            self.subject = evolve(self.subject, state="gone")
            self._draw()
            return
        self.subject = view
        if self.part not in parts_of(view):
            self.show_part(first_part(view))
        elif self.part == "output" and was_latest and view.latest.id != former:
            self.open_run(view.latest.id)
        else:
            self._draw()
            self.grow()

    def grow(self) -> None:
        if self.part == "output" and self.subject is not None:
            if self.output.text is None and self.subject.latest.number:
                self.open_run(self.subject.latest.id)
            self.output.grow()
            self.draw_parts()

    def tick(self) -> None:
        """Bring the ages up to date."""
        if self.subject is not None:
            self._draw_facts()
            if self.part == "slots":
                self._draw()

    def on_question_view_seen(self) -> None:
        self.draw_parts()

    def on_log_view_moved(self) -> None:
        self.draw_parts()

    # Drawing.

    def _draw(self) -> None:
        self._draw_facts()
        self.draw_parts()
        view = self.subject
        if view is None:
            return
        part = self._text
        columns = self.size.width or self.app.size.width
        at = self._feed.now()
        look = evolve(self._look, columns=columns)
        if self.part == "question":
            self._draw_question(look)
        elif self.part == "runs":
            part.set_lines(run_lines(view, look, self._words, at=at))
        elif self.part == "slots":
            self._draw_slots(view, look, at=at)
        elif self.part == "conversation":
            self._draw_conversation(view)
        elif self.part == "trace":
            part.set_lines([painted(each) for each in self._words.trace(view.id, look, at=at)])

    def _draw_slots(self, view: View, look: Look, *, at: datetime) -> None:
        try:
            self._text.set_lines(slot_lines(self._engine, view, look, month=self._month, at=at))
        except ErrandsError:
            return

    def _draw_conversation(self, view: View) -> None:
        engine = self._engine
        try:
            talk = Conversation(
                exchanges=engine.sessions.conversation(view.id),
                calls=calls_of(engine, view.id),
                started=lambda run, call: started_by(engine, view.id, run, call),
                mask=engine.mask(view.id),
                at=self._feed.now(),
            )
        except ErrandsError:
            return
        self.conversation.show(talk)

    def _draw_question(self, look: Look) -> None:
        assert self.subject is not None
        try:
            view, offered = self._actions.question(self.subject.id)
        except ErrandsError:
            return
        self.question.show(view, self._words.question(view, look), offered)

    def _draw_facts(self) -> None:
        if self.subject is not None:
            lines = facts(self.subject, self._look, self._words, at=self._feed.now())
            self._facts.set_lines(lines)

    def draw_parts(self) -> None:
        """Draw the names of the parts, and at the right what there is to say about the one that is shown."""
        if self.subject is None:
            return
        left: Line = []
        names: list[tuple[int, int, str]] = []
        at = 0
        for each in parts_of(self.subject):
            text = f" {each} "
            names.append((at, at + len(text), f"part {each}"))
            at += len(text) + 1
            left += [(text, "reverse" if each == self.part else ""), (" ", "")]
        said = ""
        if self.part == "output":
            said = self.output.status
            if self.run not in ("", self.subject.latest.id):
                said = f"run {self.run.rpartition('.')[2]} of {self.subject.latest.number} · {said}"
        elif self.part == "question":
            said = self.question.status
            if at + len(said) > self.size.width:
                left, names = [(" question ", "reverse"), (" ", "")], []
                said = said.removeprefix(f"{QUESTION} ")
        self._parts.set_line(left, [(said, "dim")], names)
