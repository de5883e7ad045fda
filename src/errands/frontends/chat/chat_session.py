"""A chat session: takes typed lines, runs commands, sends messages to the agent, and writes the replies.

It knows no terminal: lines come in through `enter`, text goes out through `Output`.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from errands.engine.actor import actor
from errands.engine.agents.discovery import note_presence
from errands.engine.engine import Engine
from errands.frontends.chat.agent_stream import AgentStream
from errands.frontends.chat.messages import Messages, frame
from errands.frontends.chat.output import Output
from errands.frontends.tools.turn import send, stream_answer
from errands.model.approval import SAID_YES
from errands.model.errors import BadValue, ErrandsError
from errands.model.options.draft import Draft
from errands.model.text.sanitise import line as one_line
from errands.model.view import View
from errands.ports.store import Query
from errands.text import Look, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.approval import Consent

# Runs a verb of the command line and returns what it printed.
Perform = Callable[[Sequence[str], Look], str]
# Describes everything that a task would do, for a person who decides about it.
Describe = Callable[[str, Look], list[str]]
# Returns what carries out the command in a line, or None for a message.
FindCommand = Callable[["ChatSession", str], Callable[[], None] | None]

YES = ("y", "yes")
FRONTEND = "chat"


class ChatSession:
    """`name` is the owner and parent of everything started in this chat."""

    def __init__(
        self,
        engine: Engine,
        *,
        name: str,
        output: Output,
        find_command: FindCommand,
        perform: Perform,
        describe: Describe,
        is_person: bool,
        agent: str | None = None,
        model: str | None = None,
    ) -> None:
        self.engine = engine
        self.name = name
        self.output = output
        self.who = actor()
        self.is_over = False
        self.has_failed = False  # a message got no answer
        self.asking: str | None = None  # the task that the next line approves or rejects
        self._find_command = find_command
        self._perform = perform
        self._describe = describe
        self._is_person = is_person
        self._agent, self._model = agent, model
        self._questions: dict[str, int] = {}
        self._shown: set[int] = set()
        self._queue: deque[str] = deque()
        self._more = asyncio.Event()
        self._current: View | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self.messages = Messages(engine, name, output, self.ask)
        self._catch_up()

    # Input.

    def enter(self, line: str) -> None:
        """Handle a line: an answer to a question, a command, or a message to the agent."""
        note_presence(self.engine.home)
        try:
            if self.asking is not None:
                self._answer_typed(line)
                return
            if not line.strip():
                return
            command = self._find_command(self, line)
            if command is not None:
                command()
                return
        except ErrandsError as error:
            self.complain(error)
            return
        if not self._idle.is_set():
            self.say(
                self.output.look.paint("this is sent after the current answer; Ctrl-C interrupts that", "dim")
            )
        self._queue.append(line)
        self._idle.clear()
        self._more.set()

    def say(self, *lines: str) -> None:
        self.output.lines(*lines)

    def complain(self, error: ErrandsError) -> None:
        self.say(*(f"errands: {one_line(each)}" for each in str(error).split("\n")))

    def perform(self, *words: str) -> None:
        """Run a verb of the command line and write what it prints."""
        self.say(*self._perform(words, self.output.look).rstrip("\n").split("\n"))

    # Tasks.

    def start(self, **fields: Any) -> None:
        """Start a task of this chat; ask first if it needs approval."""
        view = self.engine.submit(Draft(**self._context(), consent=self._consent, **fields))
        self._started(view, "started")

    def restart(self, task_id: str) -> None:
        view = self.engine.restart(task_id, consent=self._consent, door=self.door)
        self._started(view, "started again:")

    def _started(self, view: View, verb: str) -> None:
        if view.state != "proposed":
            if view.standing is not None:
                report = "changes are reported here" if view.notify == "on_change" else view.wake
                self.say(f"{verb} {view.id}, {view.standing.rule}: {report}  (/schedule {view.id})")
            else:
                self.say(f"{verb} {view.id}: its result is reported here  (/status {view.id})")
            return
        number = view.question.id if view.question else 0
        if self._is_person:
            self._note_question(view.id, number)
            self.say(*self._describe(view.id, self.output.look))
            self.asking = view.id
        else:
            self.ask(view.id, number)

    @property
    def _consent(self) -> Consent:
        return "typed" if self._is_person else "none"

    @property
    def door(self) -> str:
        """Where a task comes from: input that no person typed counts as the command line."""
        return FRONTEND if self._is_person else "cli"

    def _context(self) -> dict[str, Any]:
        """Return the fields of a draft that make it, and what it starts in turn, report to this chat."""
        return {
            "owner": self.name,
            "parent": self.name,
            "environ": {**os.environ, "ERRANDS_SESSION": self.name},
            "door": self.door,
        }

    # Approval.

    @property
    def questions(self) -> dict[str, int]:
        """The open questions that were asked here: ids of tasks and of their questions."""
        for task_id, number in list(self._questions.items()):
            question = self.engine.question(task_id)
            if question is None or question.id != number:
                del self._questions[task_id]
        return self._questions

    def ask(self, task_id: str, number: int) -> None:
        """Show the person what needs their approval, once."""
        if number in self._shown:
            return
        self._note_question(task_id, number)
        look = self.output.look
        how = look.paint(f"This needs your approval: approve {task_id}, or reject {task_id}", "bold")
        self.say(*frame(task_id, [*self._describe(task_id, look), how], look))

    def _note_question(self, task_id: str, number: int) -> None:
        self._shown.add(number)
        self._questions[task_id] = number

    def answer(self, prefix: str, *, yes: bool) -> None:
        """Approve or reject a task; without an id, the one that the only open question is about."""
        task_id = self._find_question(prefix)
        number = self.questions.get(task_id)
        if number is None:
            # Asked elsewhere: show it, so that the answer is to what is seen here.
            question = self.engine.get(task_id).question
            number = None if question is None else question.id
            self.say(*self._describe(task_id, self.output.look))
        before = self.engine.summaries([task_id])[0].state
        if yes:
            self.messages.rejected_here.discard(task_id)
            # Without a terminal a program may be typing: that counts as --yes, which approval.yes can forbid.
            by = self.who if self._is_person else f"{self.who}{SAID_YES}"
            self.engine.approve(task_id, by=by, door=FRONTEND, question=number)
            self.say(f"approved {task_id}" if before == "proposed" else f"allowed; {task_id} continues")
        else:
            self.messages.rejected_here.add(task_id)
            self.engine.reject(task_id, by=self.who, door=FRONTEND, question=number)
            effect = "it will not start" if before == "proposed" else "its agent continues without it"
            self.say(f"rejected {task_id}; {effect}")

    def _find_question(self, prefix: str) -> str:
        questions = self.questions
        if not prefix:
            if len(questions) != 1:
                raise BadValue(f"open questions: {', '.join(questions) or 'none'}; name one: approve ID")
            return next(iter(questions))
        known = {*questions, *(view.id for view in self.engine.list(Query(states=("proposed",))))}
        matches = [each for each in known if each.startswith(prefix)]
        return matches[0] if len(matches) == 1 else self.engine.resolve(prefix)

    def _answer_typed(self, line: str) -> None:
        """Take a line as the answer about the command just typed; anything but yes rejects it."""
        task_id, self.asking = self.asking, None
        assert task_id is not None
        self.answer(task_id, yes=line.strip().lower() in YES)

    # The conversation.

    async def talk(self) -> None:
        """Let the agent answer the messages, one after the other, until cancelled."""
        while True:
            if self._current is not None:
                await self._receive(self._current)
            elif self._queue:
                await self._turn(self._queue.popleft())
            else:
                self._idle.set()
                self._more.clear()
                await self._more.wait()

    def _catch_up(self) -> None:
        """Continue an answer that was unfinished when the chat was left, or arrived since."""
        task_id = self.engine.id_by_key(self.name)
        if task_id is not None:
            view = self.engine.summaries([task_id])[0]
            if view.is_live or view.latest.retrieved_at is None:
                self._current = view
                self._idle.clear()

    async def _turn(self, text: str) -> None:
        try:
            self.messages.show_new()
            draft = Draft(
                prompt=text,
                key=self.name,
                name="chat",
                description=f"the conversation of {self.name}",
                agent=self._agent,
                model=self._model,
                **self._context(),
            )
            self._current = send(self.engine, draft)
        except ErrandsError as error:
            self.has_failed = True
            self.complain(error)

    async def _receive(self, view: View) -> None:
        try:
            answer = AgentStream(self.output, self.engine.mask(view.id))
            ended = await stream_answer(self.engine, view, answer)
            self.engine.mark_retrieved(ended)
            if ended.state == "cancelled":
                self.say(self.output.look.paint("(interrupted)", "dim"))
            elif ended.state != "completed":
                self.has_failed = True
                self.say(f"errands: no answer: {one_line(ended.latest.error or ended.state)}")
        except ErrandsError as error:
            self.has_failed = True
            self.complain(error)
        finally:
            self._current = None

    def interrupt(self) -> bool:
        """Interrupt the answer or decline the question; return whether there was one."""
        if self.asking is not None:
            self.enter("")
            return True
        if self._current is None:
            return False
        try:
            self.engine.cancel([self._current.id], by=self.who)
        except ErrandsError as error:
            self.complain(error)
        return True

    @property
    def is_answering(self) -> bool:
        return not self._idle.is_set()

    async def answered(self) -> None:
        """Wait until every message is answered, or the agent waits for approval."""
        while self.is_answering and not (self._waits_for_approval() and self.questions):
            try:
                await asyncio.wait_for(self._idle.wait(), 0.05)
            except TimeoutError:
                continue

    def _waits_for_approval(self) -> bool:
        if self._current is None:
            return False
        exchange = self.engine.sessions.exchange(self._current.latest.id)
        return exchange is not None and exchange.waiting == "approval"

    # Leaving.

    def leave(self) -> None:
        """List what continues, and say how to come back; an open question about a typed command is a no."""
        if self.asking is not None:
            self.enter("")
        engine = self.engine
        conversation = engine.id_by_key(self.name)
        live = [view.id for view in engine.list(Query(parent=self.name, states=("pending", "running")))]
        tasks = [each for each in live if each != conversation]
        waiting = engine.list(Query(parent=self.name, states=("active", "paused", "proposed")))
        if conversation in live:
            self.say("the answer continues in the background")
        if tasks:
            verb = "continues" if len(tasks) == 1 else "continue"
            self.say(f"{plural(len(tasks), 'task')} {verb}: {', '.join(tasks)}")
        for view in waiting:
            if view.id != conversation:
                self.say(f"{view.id} stays {view.state}")
        if conversation is not None or tasks or waiting:
            self.say(f"come back: errands chat --continue, or errands chat {self.name}")
