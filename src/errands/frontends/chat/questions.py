"""The questions of a chat: what waits for approval, as it was shown to the person, and their answers."""

from __future__ import annotations

from errands.engine.approval.answers import answers_to
from errands.engine.engine import Engine
from errands.frontends.chat.command_line import CommandLine
from errands.frontends.chat.messages import frame
from errands.frontends.chat.output import Output
from errands.frontends.tools.reopened_question import for_approval
from errands.model.approval import SAID_YES
from errands.model.errors import BadValue
from errands.model.text.answers import NO, ONCE, Answer, answer_to, approved, keys, prompt, rejected, spoken
from errands.ports.store import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.approval import Scope

FRONTEND = "chat"


class Questions:
    """`who` answers; what a program types instead of a person counts as `--yes`."""

    def __init__(
        self, engine: Engine, output: Output, line: CommandLine, *, who: str, is_person: bool
    ) -> None:
        self._engine = engine
        self._output = output
        self._line = line
        self._who = who
        self._is_person = is_person
        self._open: dict[str, int] = {}
        self._shown: set[int] = set()
        self._offered: dict[int, tuple[Answer, ...]] = {}
        self.rejected: set[str] = set()  # tasks that were rejected here, which need not be reported

    @property
    def open(self) -> dict[str, int]:
        """The open questions that were asked here, oldest first: ids of tasks and of their questions."""
        for task_id, number in list(self._open.items()):
            question = self._engine.question(task_id)
            if question is None or question.id != number:
                del self._open[task_id]
        return self._open

    @property
    def oldest(self) -> tuple[str, int] | None:
        """The question that `y` and `n` answer."""
        return next(iter(self.open.items()), None)

    def ask(self, task_id: str, number: int) -> None:
        """Show the person what needs their approval, once."""
        if number in self._shown:
            return
        self.note(task_id, number)
        look = self._output.look
        letters = spoken(self._answers(task_id)) or "y or n"
        how = f"This needs your approval: {letters}, or later /approve {task_id} or /reject {task_id}"
        shown = [*self._line.describe(task_id, look), look.paint(how, "bold")]
        self._output.lines(*frame(task_id, shown, look))

    def note(self, task_id: str, number: int) -> None:
        """Note a question that the person sees."""
        self._shown.add(number)
        self._open[task_id] = number

    def typed(self, line: str, task_id: str) -> Answer | None:
        """Return the answer to the question about a task that a line is; None for any other line."""
        return answer_to(line, self._answers(task_id))

    def prompt(self, task_id: str) -> str:
        """Return the input line that asks about a command just typed."""
        return prompt(self._answers(task_id))

    def letters(self, task_id: str) -> str:
        """Return the letters that answer the question about a task; none of them is the default."""
        return keys(self._answers(task_id)).lower()

    def _answers(self, task_id: str) -> tuple[Answer, ...]:
        """Return the answers that are offered here; the input line is drawn often, so they are kept."""
        number = self._open.get(task_id, 0)
        if number not in self._offered:
            question = self._engine.question(task_id)
            if question is None or question.id != number:
                return (ONCE, NO)
            self._offered[number] = answers_to(self._engine, question)
        return self._offered[number]

    def answer(self, prefix: str, *, yes: bool, scope: Scope = "once", note: str = "") -> None:
        """Approve or reject a task; without an id, the one that the only open question is about."""
        task_id = self._find(prefix)
        number = self.open.get(task_id)
        if number is None:
            # Asked elsewhere, or answered before: show it, so that the answer is to what is seen here.
            is_approval = yes and self._is_person
            question = (
                for_approval(self._engine, task_id, by=self._who, door=FRONTEND)
                if is_approval
                else self._engine.get(task_id)
            ).question
            number = None if question is None else question.id
            self._output.lines(*self._line.describe(task_id, self._output.look))
        self.decide(task_id, number, yes=yes, scope=scope, note=note)

    def decide(
        self, task_id: str, number: int | None, *, yes: bool, scope: Scope = "once", note: str = ""
    ) -> None:
        """Record the answer to exactly the question that the person saw."""
        before = self._engine.summaries([task_id])[0].state
        if yes:
            self.rejected.discard(task_id)
            by = self._who if self._is_person else f"{self._who}{SAID_YES}"  # which approval.yes can forbid
            self._engine.approve(task_id, by=by, door=FRONTEND, question=number, scope=scope)
            said = approved(task_id, before, scope)
        else:
            self.rejected.add(task_id)
            self._engine.reject(task_id, by=self._who, door=FRONTEND, question=number, note=note)
            said = rejected(task_id, before)
        self._output.lines(said)

    def _find(self, prefix: str) -> str:
        questions = self.open
        if not prefix:
            if len(questions) != 1:
                raise BadValue(f"open questions: {', '.join(questions) or 'none'}; name one: /approve ID")
            return next(iter(questions))
        known = {*questions, *(view.id for view in self._engine.list(Query(states=("proposed",))))}
        matches = [each for each in known if each.startswith(prefix)]
        return matches[0] if len(matches) == 1 else self._engine.resolve(prefix)
