"""A chat session: takes typed lines, runs commands, sends messages to the agent, and writes the replies.

It knows no terminal: lines come in through `enter`, text goes out through `Output`.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from errands.engine.actor import actor
from errands.engine.agents.discovery import note_presence
from errands.engine.engine import Engine
from errands.frontends.chat.agent_stream import AgentStream
from errands.frontends.chat.command_line import CommandLine, Typed, slashed
from errands.frontends.chat.messages import Messages
from errands.frontends.chat.output import Output
from errands.frontends.chat.questions import FRONTEND, Questions
from errands.frontends.tools.turn import send, stream_answer
from errands.model.approval import chosen_scope
from errands.model.errors import ErrandsError
from errands.model.notices.notice import REPORTS
from errands.model.options.draft import HERE, Draft
from errands.model.record import evolve
from errands.model.text.answers import NO
from errands.model.text.sanitise import line as one_line
from errands.model.view import View
from errands.ports.store import Query
from errands.text import Look, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from errands.model.approval import Consent


# Returns what carries out the command in a line, or None for a message.
FindCommand = Callable[["ChatSession", str], Callable[[], None] | None]

MOST_ALONE = 5  # turns that the agent takes by itself before it waits for the person
LOOK_AGAIN = 0.2  # seconds between two checks whether it may
CONTINUE = (
    "[No person typed this. Background work that you started has ended while they were idle; it is reported "
    "above. Continue if you said what you would do next, or if they wait for the result; otherwise just tell "
    "them the result in a sentence or two. This approves nothing.]"
)


class ChatSession:
    """`name` is the owner and parent of everything started in this chat."""

    def __init__(
        self,
        engine: Engine,
        *,
        name: str,
        output: Output,
        find_command: FindCommand,
        line: CommandLine,
        is_person: bool,
        agent: str | None = None,
        model: str | None = None,
    ) -> None:
        self.engine = engine
        self.name = name
        self.output = output
        self.line = line
        self.who = actor()
        self.is_over = False
        self.has_failed = False  # a message got no answer
        self.asking: str | None = None  # the task that the next line approves or rejects
        self._find_command = find_command
        self._is_person = is_person
        self._agent, self._model = agent, model
        self._queue: deque[str] = deque()
        self.is_typing: Callable[[], bool] = lambda: False
        self._alone = 0  # turns since the person's last message
        self._more = asyncio.Event()
        self._current: View | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self.questions = Questions(engine, output, line, who=self.who, is_person=is_person)
        self.messages = Messages(engine, name, output, self.questions)
        self._catch_up()

    # Input.

    @property
    def prompt(self) -> str:
        """The beginning of the input line: it names the question that a letter would answer."""
        if self.asking is not None:
            return self.questions.prompt(self.asking)
        question = self.questions.oldest
        return "> " if question is None else f"{question[0]} [{self.questions.letters(question[0])}] > "

    def enter(self, line: str, about: tuple[str, int] | None = None) -> None:
        """Handle a line: an answer to a question, a command, or a message to the agent.

        `about` is the question that the input line named when the person began to type.
        """
        note_presence(self.engine.home)
        try:
            if self.asking is not None:
                self._answer_typed(line)
                return
            if not line.strip():
                return
            if about is not None and (answer := self.questions.typed(line, about[0])) is not None:
                self.questions.decide(*about, yes=answer is not NO, scope=answer.scope or "once")
                return
            command = self._find_command(self, line)
            if command is not None:
                command()
                return
        except ErrandsError as error:
            self.complain(error)
            return
        asked = self.questions.oldest
        if asked is not None and self.questions.typed(line, asked[0]) is not None:
            self._remark(f"sent to the agent, because {asked[0]} began to ask while you were typing")
        if not self._idle.is_set():
            self._remark("this is sent after the current answer; Ctrl-C interrupts that")
        self._alone = 0
        self._queue.append(line)
        self._idle.clear()
        self._more.set()

    def say(self, *lines: str) -> None:
        self.output.lines(*lines)

    def _remark(self, text: str) -> None:
        self.say(self.output.look.paint(text, "dim"))

    def complain(self, error: ErrandsError) -> None:
        said = slashed(str(error), self.line.verbs())
        self.say(*(f"errands: {one_line(each)}" for each in said.split("\n")))

    @property
    def _look(self) -> Look:
        """How hints look here: they name commands with a slash."""
        return evolve(self.output.look, prefix="/")

    # Commands and tasks.

    def perform(self, line: str) -> None:
        """Carry out a verb of the command line, with its options, as part of this chat."""
        typed = self.line.parse(line)
        if typed.launches:
            before = self.engine.clock.now()
            self._started(typed, self.line.launch(typed, self._context()), before)
        elif typed.name in ("approve", "reject") and not typed.arguments.help and not typed.arguments.json:
            self._answer_verb(typed)
        else:
            self.say(*self.line.printed(typed, self._look).rstrip("\n").split("\n"))

    def _answer_verb(self, typed: Typed) -> None:
        arguments = typed.arguments
        if typed.name == "approve":
            scope = chosen_scope(task=arguments.task, always=arguments.always)
            for each in arguments.id:
                self.questions.answer(each, yes=True, scope=scope)
        elif arguments.always or arguments.task:
            self.say(*self.line.printed(typed, self._look).rstrip("\n").split("\n"))
        else:
            for each in arguments.id:
                self.questions.answer(each, yes=False, note=arguments.note or "")

    def _started(self, typed: Typed, view: View, before: datetime) -> None:
        """Say that a task has started, or ask the person who typed it."""
        if view.state == "proposed":
            number = view.question.id if view.question else 0
            if self._is_person and typed.name != "propose":
                self.questions.note(view.id, number)
                self.say(*self.line.describe(view.id, self.output.look))
                self.asking = view.id
            else:
                self.questions.ask(view.id, number)
            return
        report = f"this chat reports {REPORTS[view.notify]}"
        if typed.name == "resume" or getattr(typed.arguments, "resume", None):
            self.say(f"{view.id} continues in the background: {report}  (/show {view.id})")
        elif typed.name == "restart":
            self.say(f"started again: {view.id}: {report}  (/show {view.id})")
        elif view.created_at < before:
            self.say(f"{view.id} already exists, {view.state}  (/show {view.id})")
        elif view.standing is not None:
            self.say(f"started {view.id}, {view.standing.rule}: {report}  (/schedule {view.id})")
        else:
            self.say(f"started {view.id}: {report}  (/show {view.id})")

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
            "consent": self._consent,
        }

    # Approval.

    def _answer_typed(self, line: str) -> None:
        """Read a line as the answer about the command just typed; anything but yes rejects it."""
        task_id, self.asking = self.asking, None
        assert task_id is not None
        scope = None if (answer := self.questions.typed(line, task_id)) is None else answer.scope
        self.questions.answer(task_id, yes=scope is not None, scope=scope or "once")

    # The conversation.

    async def talk(self) -> None:
        """Let the agent answer the messages, one after the other, until cancelled."""
        while True:
            if self._current is not None:
                await self._receive(self._current)
            elif self._queue:
                await self._turn(self._queue.popleft())
            elif self._may_continue():
                await self._continue()
            else:
                self._idle.set()
                self._more.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._more.wait(), LOOK_AGAIN)

    def _may_continue(self) -> bool:
        """Return whether the agent takes a turn by itself: its work has ended, and the person is not typing.

        It does not if no person is reading; what a person is typing will bring the results with it.
        """
        return (
            self._is_person
            and self.engine.config.agents.continues
            and self._alone < MOST_ALONE
            and self.asking is None
            and not self.is_typing()
            and bool(self.messages.unreported())
        )

    async def _continue(self) -> None:
        self._alone += 1
        ended = self.messages.unreported()
        last = f"; after this it waits for you ({MOST_ALONE} turns)" if self._alone == MOST_ALONE else ""
        verb = "has" if len(ended) == 1 else "have"
        said = f"({', '.join(ended)} {verb} ended; the agent continues{last})"
        self.say(self.output.look.paint(said, "dim"))
        self._idle.clear()
        await self._turn(CONTINUE)

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
            self.messages.forget_unreported()
            draft = Draft(
                prompt=text,
                key=self.name,
                name="chat",
                description=f"the conversation of {self.name}",
                agent=self._agent,
                model=self._model,
                host=HERE,  # what it says is shown word by word
                **{**self._context(), "consent": "none"},
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
        self._alone = MOST_ALONE  # until the next message: the person wants silence
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
        while self.is_answering and not (self._waits_for_approval() and self.questions.open):
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
