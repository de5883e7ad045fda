"""Messages: reports from the background, each in a frame with the name of its task, above the input line.

The chat only reads them; they leave the inbox when the agent gets them. The last one shown is stored, so a
person who comes back sees what is new, and every question that is still open.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from errands.engine.bell_line import BellLine
from errands.engine.engine import Engine
from errands.engine.notices.run_result import shown
from errands.frontends.chat.output import Output
from errands.model.errors import NotFound
from errands.model.notices.delivery import delivery_of, question_of, share, text, title
from errands.model.notices.notice import Notice
from errands.model.notices.result import Hints
from errands.ports.own_file import replace_file
from errands.text import Look, framed

MAX_MESSAGE = 4000  # bytes
MAX_LINES = 40  # of a result, so that the conversation stays in sight
HINTS = Hints(show="/show ID", logs="/logs ID", answer="y or n", lines=MAX_LINES)
POLL = 0.3  # seconds: the bell does not ring for a question, and a person waits for it
MAX_WIDTH = 120  # columns of a frame
MAX_MARKERS = 100  # chats; an older one shows again what its agent did not get


class QuestionBoard(Protocol):
    rejected: set[str]

    def ask(self, task_id: str, number: int) -> None: ...


class Messages:
    """`questions` shows the person each question about a task that they have not seen."""

    def __init__(self, engine: Engine, name: str, output: Output, questions: QuestionBoard) -> None:
        self._engine = engine
        self._name = name
        self._output = output
        self._questions = questions
        self._markers = ReadMarkers(f"{engine.home.chat}/shown")
        self._shown = self._markers.of(name)  # the last notice shown by an earlier visit
        waiting = engine.notices.unread(name)
        self._seen = waiting[0].id - 1 if waiting else engine.notices.last_id()
        self._opened_at = engine.notices.last_id()
        self._for_agent: dict[int, str] = {}  # ends of what the agent started: notices and their tasks

    async def watch(self) -> None:
        async with BellLine(self._engine, ("*",)) as line:
            while True:
                self._engine.sessions.see_session(self._name)
                self.show_new()
                await line.news(POLL)

    def show_new(self) -> None:
        """Show what is new since the last call."""
        notices = self._engine.notices
        found = notices.after(self._name, self._seen)
        conversation = self._engine.id_by_key(self._name)
        pending: list[Notice] = []
        for notice in found:
            self._seen = notice.id
            question = question_of(notice)
            if question is not None:
                self._show(pending)
                pending = []
                if not notices.is_answered(notice):
                    self._questions.ask(*question)
            elif (
                notice.id > self._shown
                and notice.task_id not in self._questions.rejected
                and not (conversation and notices.is_own(conversation, notice))
            ):
                pending.append(notice)
                if notice.id > self._opened_at and conversation and self._is_agents(conversation, notice):
                    self._for_agent[notice.id] = notice.task_id
        self._show(pending)

    def unreported(self) -> list[str]:
        """List the tasks of the agent that have ended in this chat and were not reported to it yet."""
        if self._for_agent:
            unread = {each.id for each in self._engine.notices.unread(self._name)}
            self._for_agent = {each: task for each, task in self._for_agent.items() if each in unread}
        return list(dict.fromkeys(self._for_agent.values()))

    def forget_unreported(self) -> None:
        """Count them as reported: the turn that begins now reports them, or fails to."""
        self._for_agent.clear()

    def _is_agents(self, conversation: str, notice: Notice) -> bool:
        """Return whether the agent itself started the task, in a turn of its conversation."""
        try:
            created_by = self._engine.summaries([notice.task_id])[0].created_by
        except NotFound:  # cleared since
            return False
        return created_by.startswith(f"run {conversation}.")

    def _show(self, notices: Sequence[Notice]) -> None:
        while notices:
            count = share(notices, MAX_MESSAGE)
            delivery = shown(self._engine, delivery_of(notices[:count]))
            body = text(delivery, MAX_MESSAGE, HINTS).split("\n")
            self._output.lines(*frame(delivery.name, [title(delivery), *body], self._output.look))
            self._markers.set(self._name, notices[count - 1].id)
            notices = notices[count:]


class ReadMarkers:
    """The last notice that each of the latest chats has shown; a lost marker only shows a message twice."""

    def __init__(self, path: str) -> None:
        self._path = path

    def of(self, name: str) -> int:
        return self._read().get(name, 0)

    def set(self, name: str, notice: int) -> None:
        marks = self._read()
        marks.pop(name, None)
        latest = [*marks.items(), (name, notice)][-MAX_MARKERS:]
        with suppress(OSError):
            replace_file(self._path, "".join(f"{each} {number}\n" for each, number in latest).encode())

    def _read(self) -> dict[str, int]:
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                lines = [line.split() for line in file]
        except OSError:
            return {}
        return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}


def frame(name: str, lines: Sequence[str], look: Look) -> list[str]:
    """Return lines in the frame of a task, in colour."""
    head, *within, foot = framed(name, lines, min(look.columns, MAX_WIDTH) - 1, rule=look.sign("─", "-"))
    return [look.paint(head, "cyan"), *within, look.paint(foot, "cyan")]
