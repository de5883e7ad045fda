"""Messages: what the background tells, each in a frame with the name of its task, above the line being typed.

They are only looked at here, and leave the inbox when the agent is told of them. Which was shown last is
noted, so whoever comes back is shown what they have not seen, and asked what nobody has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from errands.engine.bell_line import BellLine
from errands.engine.engine import Engine
from errands.engine.notices.chat_notices import masked
from errands.frontends.chat.output import Output
from errands.frontends.chat.read_markers import ReadMarkers
from errands.model.notices.delivery import Delivery, delivery_of, question_of, share, text, title
from errands.model.notices.notice import Notice
from errands.text import Look, framed

BUDGET = 4000  # bytes of a message
LOOK = 0.3  # seconds between two looks: nobody rings for a question, and a person waits for it
WIDEST = 120


class Messages:
    """`ask` shows a question to the person, unless they have seen it."""

    def __init__(self, engine: Engine, name: str, paper: Output, ask: Callable[[str, int], None]) -> None:
        self._engine = engine
        self._name = name
        self._paper = paper
        self._ask = ask
        self.settled: set[str] = set()  # what the person said no to, here: they need not be told
        self._marks = ReadMarkers(f"{engine.home.path}/chat/shown")
        self._shown = self._marks.of(name)  # up to here ends were shown before
        waiting = engine.notices.unread(name)
        self._seen = waiting[0].id - 1 if waiting else engine.notices.last_id()

    async def watch(self) -> None:
        """Show what comes in, until this is cancelled."""
        async with BellLine(self._engine, ("*",)) as line:
            while True:
                self.look()
                await line.news(LOOK)

    def look(self) -> None:
        """Show what came in since the last look."""
        notices = self._engine.notices
        found = notices.after(self._name, self._seen)
        conversation = self._engine.id_by_key(self._name)
        told: list[Notice] = []
        for notice in found:
            self._seen = notice.id
            question = question_of(notice)
            if question is not None:
                self._tell(told)
                told = []
                if not notices.is_answered(notice):
                    self._ask(*question)
            elif (
                notice.id > self._shown
                and notice.task_id not in self.settled
                and not (conversation and notices.is_own(conversation, notice))
            ):
                told.append(notice)
        self._tell(told)

    def _tell(self, notices: Sequence[Notice]) -> None:
        while notices:
            count = share(notices, BUDGET)
            delivery = masked(self._engine, delivery_of(notices[:count]))
            self._paper.lines(*drawn(delivery.name, [title(delivery), *_body(delivery)], self._paper.look))
            self._marks.set(self._name, notices[count - 1].id)
            notices = notices[count:]


def drawn(name: str, lines: Sequence[str], look: Look) -> list[str]:
    """Draw the frame of a task around lines, in colour."""
    head, *within, foot = framed(name, lines, min(look.columns, WIDEST) - 1, rule=look.sign("─", "-"))
    return [look.paint(head, "cyan"), *within, look.paint(foot, "cyan")]


def _body(delivery: Delivery) -> list[str]:
    return text(delivery, BUDGET).replace("errands show ", "/status ").split("\n")
