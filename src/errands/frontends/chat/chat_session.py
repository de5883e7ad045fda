"""The room: everything of a chat but its walls. Lines come in, and what comes of them is put on paper."""

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
from errands.frontends.chat.commands import found
from errands.frontends.chat.messages import Messages, drawn
from errands.frontends.chat.output import Output
from errands.frontends.chat.turn import attend, send
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

# What a verb of the command line says, for a page that looks so.
Perform = Callable[[Sequence[str], Look], str]
# All that a task would do, for a person who is to say yes.
Describe = Callable[[str, Look], list[str]]

YES = ("y", "yes")
DOOR = "chat"


class ChatSession:
    """`name` is the chat's: the owner and parent of all that is started here."""

    def __init__(
        self,
        engine: Engine,
        *,
        name: str,
        paper: Output,
        perform: Perform,
        describe: Describe,
        is_person: bool,
        agent: str | None = None,
        model: str | None = None,
    ) -> None:
        self.engine = engine
        self.name = name
        self.paper = paper
        self.who = actor()
        self.is_over = False
        self.has_failed = False  # whether a message got no answer
        self.asking: str | None = None  # the task that the next line says yes or no to
        self._perform = perform
        self._describe = describe
        self._is_person = is_person
        self._agent, self._model = agent, model
        self._asked: dict[str, int] = {}
        self._shown: set[int] = set()
        self._queue: deque[str] = deque()
        self._more = asyncio.Event()
        self._current: View | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self.messages = Messages(engine, name, paper, self.ask)
        self._catch_up()

    # What is typed.

    def enter(self, line: str) -> None:
        """Take a line: an answer to a question, a command, or a message to the agent."""
        note_presence(self.engine.home)
        try:
            if self.asking is not None:
                self._settle(line)
                return
            if not line.strip():
                return
            command = found(self, line)
            if command is not None:
                command[0].run(self, command[1])
                return
        except ErrandsError as error:
            self.complain(error)
            return
        if not self._idle.is_set():
            self.say(self.paper.look.paint("it is sent when this answer is there; Ctrl-C ends that", "dim"))
        self._queue.append(line)
        self._idle.clear()
        self._more.set()

    def say(self, *lines: str) -> None:
        self.paper.lines(*lines)

    def complain(self, error: ErrandsError) -> None:
        self.say(*(f"errands: {one_line(each)}" for each in str(error).split("\n")))

    def perform(self, *words: str) -> None:
        """Have the command line carry something out, and write what it says."""
        self.say(*self._perform(words, self.paper.look).rstrip("\n").split("\n"))

    # What is started.

    def start(self, **fields: Any) -> None:
        """Start a task that belongs to this chat; ask first, if it needs a yes."""
        view = self.engine.submit(Draft(**self._place(), consent=self._consent, **fields))
        self._started(view, "started")

    def restart(self, task_id: str) -> None:
        view = self.engine.restart(task_id, consent=self._consent, door=self.door)
        self._started(view, "started again:")

    def _started(self, view: View, verb: str) -> None:
        if view.state != "proposed":
            if view.standing is not None:
                told = "what is new is told here" if view.notify == "on_change" else view.wake
                self.say(f"{verb} {view.id}, {view.standing.rule}: {told}  (/schedule {view.id})")
            else:
                self.say(f"{verb} {view.id}: its end is told here  (/status {view.id})")
            return
        number = view.question.id if view.question else 0
        if self._is_person:
            self._note_question(view.id, number)
            self.say(*self._describe(view.id, self.paper.look))
            self.asking = view.id
        else:
            self.ask(view.id, number)

    @property
    def _consent(self) -> Consent:
        return "typed" if self._is_person else "none"

    @property
    def door(self) -> str:
        """Where a task comes from: what no person has typed comes from the command line."""
        return DOOR if self._is_person else "cli"

    def _place(self) -> dict[str, Any]:
        """Say whose a draft is: what an agent starts from inside of it reports to this chat as well."""
        return {
            "owner": self.name,
            "parent": self.name,
            "environ": {**os.environ, "ERRANDS_SESSION": self.name},
            "door": self.door,
        }

    # What needs a yes.

    @property
    def questions(self) -> dict[str, int]:
        """The questions that were asked here and that nobody has answered yet."""
        for task_id, number in list(self._asked.items()):
            open_ = self.engine.question(task_id)
            if open_ is None or open_.id != number:
                del self._asked[task_id]
        return self._asked

    def ask(self, task_id: str, number: int) -> None:
        """Show the person what needs their yes, once."""
        if number in self._shown:
            return
        self._note_question(task_id, number)
        look = self.paper.look
        how = look.paint(f"This needs your yes: approve {task_id}, or reject {task_id}", "bold")
        self.say(*drawn(task_id, [*self._describe(task_id, look), how], look))

    def _note_question(self, task_id: str, number: int) -> None:
        self._shown.add(number)
        self._asked[task_id] = number

    def answer(self, beginning: str, *, yes: bool) -> None:
        """Say yes or no to a task; without one to the only question that is open here."""
        task_id = self._waiting(beginning)
        number = self.questions.get(task_id)
        if number is None:
            # Somebody else's: what is answered is what is seen here.
            asked = self.engine.get(task_id).question
            number = None if asked is None else asked.id
            self.say(*self._describe(task_id, self.paper.look))
        before = self.engine.summaries([task_id])[0].state
        if yes:
            self.messages.settled.discard(task_id)
            # Without a terminal a program may be typing, which answers for itself: approval.yes is for that.
            by = self.who if self._is_person else f"{self.who}{SAID_YES}"
            self.engine.approve(task_id, by=by, door=DOOR, question=number)
            self.say(f"approved {task_id}" if before == "proposed" else f"allowed; {task_id} goes on")
        else:
            self.messages.settled.add(task_id)
            self.engine.reject(task_id, by=self.who, door=DOOR, question=number)
            told = "it will not start" if before == "proposed" else "its agent is told, and goes on"
            self.say(f"rejected {task_id}; {told}")

    def _waiting(self, beginning: str) -> str:
        questions = self.questions
        if not beginning:
            if len(questions) != 1:
                raise BadValue(f"open questions: {', '.join(questions) or 'none'}; say which: approve ID")
            return next(iter(questions))
        known = {*questions, *(view.id for view in self.engine.list(Query(states=("proposed",))))}
        fitting = [each for each in known if each.startswith(beginning)]
        return fitting[0] if len(fitting) == 1 else self.engine.resolve(beginning)

    def _settle(self, line: str) -> None:
        """Take a line for the answer to what was just typed: only a yes is one."""
        task_id, self.asking = self.asking, None
        assert task_id is not None
        self.answer(task_id, yes=line.strip().lower() in YES)

    # What is said.

    async def talk(self) -> None:
        """Have the agent answer what was typed, one message after the other, until this is cancelled."""
        while True:
            if self._current is not None:
                await self._listen(self._current)
            elif self._queue:
                await self._turn(self._queue.popleft())
            else:
                self._idle.set()
                self._more.clear()
                await self._more.wait()

    def _catch_up(self) -> None:
        """Go on with an answer that was on its way when the chat was left, or came since."""
        task_id = self.engine.id_by_key(self.name)
        if task_id is not None:
            view = self.engine.summaries([task_id])[0]
            if view.is_live or view.latest.retrieved_at is None:
                self._current = view
                self._idle.clear()

    async def _turn(self, text: str) -> None:
        try:
            self.messages.look()
            draft = Draft(
                prompt=text,
                key=self.name,
                name="chat",
                description=f"the conversation of {self.name}",
                agent=self._agent,
                model=self._model,
                **self._place(),
            )
            self._current = send(self.engine, draft)
        except ErrandsError as error:
            self.has_failed = True
            self.complain(error)

    async def _listen(self, view: View) -> None:
        try:
            speaking = AgentStream(self.paper, self.engine.mask(view.id))
            ended = await attend(self.engine, view, speaking)
            self.engine.mark_retrieved(ended)
            if ended.state == "cancelled":
                self.say(self.paper.look.paint("(interrupted)", "dim"))
            elif ended.state != "completed":
                self.has_failed = True
                self.say(f"errands: no answer: {one_line(ended.latest.error or ended.state)}")
        except ErrandsError as error:
            self.has_failed = True
            self.complain(error)
        finally:
            self._current = None

    def interrupt(self) -> bool:
        """Stop the answer that is being given; tell whether there was one."""
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
        """Wait until everything that was said is answered, or a person must say something first."""
        while self.is_answering and not (self._needs_person() and self.questions):
            try:
                await asyncio.wait_for(self._idle.wait(), 0.05)
            except TimeoutError:
                continue

    def _needs_person(self) -> bool:
        if self._current is None:
            return False
        exchange = self.engine.sessions.exchange(self._current.latest.id)
        return exchange is not None and exchange.waiting == "approval"

    # Leaving.

    def leave(self) -> None:
        """Say what goes on, and how to come back. A question that was about to be answered is a no."""
        if self.asking is not None:
            self.enter("")
        engine = self.engine
        conversation = engine.id_by_key(self.name)
        live = [view.id for view in engine.list(Query(parent=self.name, states=("pending", "running")))]
        going = [each for each in live if each != conversation]
        standing = engine.list(Query(parent=self.name, states=("active", "paused", "proposed")))
        engine.sessions.end_session(self.name)
        if conversation in live:
            self.say("the answer goes on in the background")
        if going:
            verb = "goes" if len(going) == 1 else "go"
            self.say(f"{plural(len(going), 'task')} {verb} on: {', '.join(going)}")
        for view in standing:
            if view.id != conversation:
                self.say(f"{view.id} stays {view.state}")
        if conversation is not None or going or standing:
            self.say(f"come back: errands chat --continue, or errands chat {self.name}")
